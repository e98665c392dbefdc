//! The agent API on `agent.sock`: check-in, profile, hand-over, heartbeat.

mod accept;
mod body;
mod check;
mod connection;
mod denials;
mod door;
mod places;
mod pulse;
mod rates;
mod requests;
mod routes;
mod schema;

pub(crate) use crate::identity::{Peer, container_of};
pub(crate) use accept::{listen, receive, serve_shim};
pub(crate) use door::{Door, NamedFilter};
pub(crate) use schema::openapi;
