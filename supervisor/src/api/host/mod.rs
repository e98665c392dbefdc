//! The host API on `host.sock`: status and rules, for operators on the host. Nothing supervised and no
//! container gets an answer here.

mod answers;
mod connection;
mod peers;
mod requests;
mod routes;

pub(crate) use connection::listen;
pub(crate) use routes::Office;
