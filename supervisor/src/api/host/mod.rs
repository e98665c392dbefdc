//! The host API on `host.sock`, for operators on the host: status, sessions, rules, decisions,
//! questions that wait. Nothing supervised and no container gets an answer here.

mod answers;
mod asks;
mod connection;
mod decisions;
mod evaluate;
mod metrics;
mod peers;
mod requests;
mod routes;
mod sessions;
mod stream;

pub(crate) use connection::listen;
pub(crate) use peers::Operators;
pub(crate) use routes::Office;
