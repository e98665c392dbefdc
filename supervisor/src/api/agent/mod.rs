//! The agent API on `agent.sock`: check-in, profile, hand-over, heartbeat.

mod body;
mod check;
mod connection;
mod denials;
mod door;
mod requests;
mod routes;
mod schema;

pub(crate) use connection::serve;
pub(crate) use door::{Door, NamedFilter, Peer, container_of};
pub(crate) use schema::openapi;
