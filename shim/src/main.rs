//! `outcall`: the static shim that starts a workload under the supervision of `outcalld`.
//!
//! `outcall run -- CMD` reads as [`run`]: register, hold a child behind the filter, hand its
//! listener over, let it go, stay as its parent.
// The Rust runtime would ignore SIGPIPE and open closed standard fds before `main`, and the
// workload would inherit that; `sys::entry` is the C entry point instead.
#![cfg_attr(not(test), no_main)]

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
mod profile;
mod sys;
mod tree;

use std::ffi::OsString;

use args::{Request, Run};
use client::Client;
use command::Command;
use failure::Failure;
use monitor::{End, Monitor};
use profile::Profile;
use sys::signal::Inherited;

/// Runs the shim with the arguments after its own name; the result is the exit code.
pub(crate) fn start(arguments: Vec<OsString>) -> i32 {
    log::configure(std::env::var_os("RUST_LOG"));
    let outcome = match args::parse(arguments) {
        Ok(Request::Run(options)) => run(options),
        Ok(Request::Print(text)) => print(text),
        Err(sentence) => Err(Failure::failed(sentence)),
    };
    outcome.unwrap_or_else(|failure| {
        log::error(failure.message());
        failure.exit_code()
    })
}

fn run(options: Run) -> Result<i32, Failure> {
    let inherited = Inherited::capture().map_err(Failure::step("cannot read the signal state"))?;
    let command = Command::prepare(&options.command, std::env::var_os("PATH"))?;
    let timeout = args::timeout(std::env::var_os("OUTCALL_TIMEOUT_SECS"))?;

    let mut client = match options.connected {
        Some(fd) => Client::adopt(fd, timeout)?,
        None => Client::connect(timeout)?,
    };
    client.check_in()?;
    let profile = Profile::fetch(&mut client)?;

    let held = install::hold(&profile, &command, &inherited)?;
    let released = handoff::hand_over(held, &mut client)?;
    // The monitor holds the connection, so the daemon sees it close after the last process is gone.
    let mut monitor = Monitor::new(client, released);
    let end = monitor.run();
    tree::kill_descendants();
    conclude(end, &command)
}

fn conclude(end: End, command: &Command) -> Result<i32, Failure> {
    match end {
        End::Exited(code) => Ok(code),
        End::ExecFailed(errno) => Err(Failure::failed(command.explain(errno))),
        End::Lost(cause) => {
            log::warn(&cause);
            Err(Failure::lost())
        }
    }
}

fn print(text: &str) -> Result<i32, Failure> {
    use std::io::Write;
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::step("cannot write to stdout"))?;
    Ok(0)
}
