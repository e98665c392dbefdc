//! Every tier that needs the real kernel: one binary, one module a topic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod abuse;
mod api;
mod attacks;
mod basics;
mod deaths;
mod documents;
mod exec;
mod files;
mod host;
mod input;
mod network;
mod reload;
mod rules;
mod shim;
mod terminal;
mod transparency;
mod user;
mod visits;
