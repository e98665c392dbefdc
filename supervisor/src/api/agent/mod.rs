//! The agent API on `agent.sock`: check-in, profile, hand-over, heartbeat.

mod body;
mod connection;
mod door;
mod routes;

pub(crate) use connection::serve;
pub(crate) use door::{Door, NamedFilter, Peer, container_of};
