//! The agent API on `agent.sock`: check-in, profile, hand-over, heartbeat.

mod accept;
mod body;
mod connection;
mod door;
mod places;
mod pulse;
mod rates;
mod routes;

pub(crate) use crate::identity::{Peer, container_of};
pub(crate) use accept::{listen, receive, serve_shim};
pub(crate) use door::{Door, NamedFilter};
