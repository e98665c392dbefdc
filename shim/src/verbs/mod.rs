//! What each verb does, once the daemon knows this process.

mod exec;
mod probe;
mod request;
mod run;
mod why;

use std::io::Write;

use crate::args::{self, Talk, Verb};
use crate::client::Client;
use crate::command::Command;
use crate::failure::Failure;
use crate::handoff::Released;
use crate::log;
use crate::monitor::{End, Monitor};
use crate::sys::signal::Inherited;
use crate::tree;

/// Registers, then does what was asked; the result is the exit code.
pub(crate) fn perform(talk: Talk) -> Result<i32, Failure> {
    let inherited = Inherited::capture().map_err(Failure::step("cannot read the signal state"))?;
    let timeout = args::timeout(std::env::var_os("OUTCALL_TIMEOUT_SECS"))?;
    let mut client = match talk.connected {
        Some(fd) => Client::adopt(fd, timeout)?,
        None => Client::connect(timeout)?,
    };
    client.check_in()?;
    match talk.verb {
        Verb::Run(words) => run::run(client, &words, &inherited),
        Verb::Exec(exec) => exec::exec(client, exec, &inherited),
        Verb::Probe(probe) => probe::probe(&mut client, probe),
        Verb::Why { json } => why::why(&mut client, json),
        Verb::Submit(file) => request::submit(&mut client, &file),
        Verb::Status(id) => request::status(&mut client, &id),
    }
}

/// Stays as the parent of a child that was let go, and ends what it leaves behind.
fn stay(client: Client, released: Released, command: &Command) -> Result<i32, Failure> {
    // The monitor holds the connection, so the daemon sees it close after the last process is gone.
    let mut monitor = Monitor::new(client, released);
    let end = monitor.run();
    tree::kill_descendants(monitor.workload());
    match end {
        End::Exited(code) => Ok(code),
        End::ExecFailed(errno) => Err(Failure::failed(command.explain(errno))),
        End::Lost(cause) => {
            log::warn(&cause);
            Err(Failure::lost())
        }
    }
}

/// After SIGTERM nothing new begins, and what did not begin did not succeed.
fn refuse_after_sigterm(inherited: &Inherited) -> Result<(), Failure> {
    if inherited.is_terminated() {
        return Err(Failure::failed("SIGTERM came before the command began; nothing was run"));
    }
    Ok(())
}

/// Writes to stdout what the caller asked for.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::step("cannot write to stdout"))
}
