//! Outcall's supervisor: the daemon `outcalld` and the operator's command `outcallctl`.
//!
//! The life of a system call is [`pipeline`]; docs/ARCHITECTURE.md names every module.

mod api;
mod attach;
pub mod cli;
mod config;
pub mod daemon;
mod decode;
mod facts;
mod identity;
mod judge;
mod pipeline;
mod receive;
mod record;
mod requests;
mod resolve;
mod respond;
mod sys;
