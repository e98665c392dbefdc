//! `outcall`: the static shim through which a workload acts under the supervision of `outcalld`.
//!
//! A command line becomes a [`Request`], and `verbs` does it: `verbs/run.rs` starts a workload behind the
//! filter, `verbs/exec.rs` asks about one program and runs it, the others only ask.
// The Rust runtime would ignore SIGPIPE and open closed standard fds before `main`, and the
// workload would inherit that; `sys::entry` is the C entry point instead.
#![cfg_attr(not(test), no_main)]

mod answer;
mod args;
mod base64;
mod client;
mod command;
mod failure;
mod handoff;
mod http;
mod install;
mod json;
mod log;
mod monitor;
mod presence;
mod profile;
mod pulse;
mod question;
mod sys;
mod text;
mod tree;
mod verbs;

use std::ffi::OsString;

use args::Request;
use failure::Failure;

/// Runs the shim with its arguments, its own name first; the result is the exit code.
pub(crate) fn start(arguments: Vec<OsString>) -> i32 {
    log::configure(std::env::var_os("RUST_LOG"));
    let outcome = match args::parse(arguments) {
        Ok(Request::Talk(talk)) => verbs::perform(talk),
        Ok(Request::Print(text)) => verbs::print(text).map(|()| 0),
        Err(sentence) => Err(Failure::failed(sentence)),
    };
    outcome.unwrap_or_else(|failure| {
        log::error(failure.message());
        failure.exit_code()
    })
}
