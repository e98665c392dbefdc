//! The listener goes to the daemon, and only then the child goes on.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::client::{Client, Exchange};
use crate::failure::Failure;
use crate::install::{Gate, Held};
use crate::log;
use crate::sys::signal::Signals;
use crate::sys::{fd, process};

/// A supervised child on its way to exec, with all that its monitor needs.
pub(crate) struct Released {
    /// The child's pid.
    pub(crate) pid: i32,
    /// Ends when the program has started; says why if it did not.
    pub(crate) reports: File,
    /// Every signal of this process.
    pub(crate) signals: Signals,
    /// Pipe ends that could not be closed because the fd table is still shared.
    pub(crate) shared: Option<(OwnedFd, OwnedFd)>,
}

/// Hands the listener over, waits until it is served, and lets the child go.
pub(crate) fn hand_over(mut held: Held, client: &mut Client) -> Result<Released, Failure> {
    let listener = held.take_listener().ok_or_else(|| Failure::failed("there is no listener"))?;
    client
        .call(&Exchange::post("/v1/supervise", "{}").carrying(listener.as_fd()))
        .map_err(|error| Failure::from_call("supervision", &error))?;
    // With the table still shared this closes the child's copy as well: only the daemon has one now.
    drop(listener);
    process::become_undumpable().map_err(Failure::step("cannot protect the shim's memory"))?;
    let_go(held, client)
}

/// Becomes the parent that the child needs, and lets it go.
pub(crate) fn let_go(held: Held, client: &mut Client) -> Result<Released, Failure> {
    process::become_subreaper().map_err(Failure::step("cannot become the subreaper"))?;
    process::wake_when_parent_dies().map_err(Failure::step("cannot ask for the death signal"))?;
    let signals = Signals::take_all().map_err(Failure::step("cannot take the signals"))?;

    // What is not supervised any more does not begin.
    if client.receive().map_err(Failure::lost_because)?.is_some() {
        return Err(Failure::unreachable("outcalld answered without being asked"));
    }
    let (pid, shares_table) = (held.pid(), held.shares_table());
    let lost = || Failure::failed("the child was let go twice");
    let Gate { reports, mut go, child_ends } = held.release().ok_or_else(lost)?;
    let own_table = if shares_table { fd::unshare_table() } else { Ok(()) };
    let shared = match own_table {
        Ok(()) => {
            drop(child_ends);
            close_the_rest(&[&reports, &go], &signals, client);
            None
        }
        // Harmless: exec gives the child its own table. Only early closes of stdout stay unseen.
        Err(error) => {
            log::debug(&format!("the fd table stays shared until exec: {error}"));
            Some(child_ends)
        }
    };
    if let Err(error) = go.write_all(b"g") {
        let _ = process::kill(pid, libc::SIGKILL);
        process::wait_end(pid);
        return Err(Failure::failed(format!("cannot let the child go: {error}")));
    }
    if shared.is_some() {
        // Closing it now could close the child's copy of the same table.
        std::mem::forget(go);
    }
    Ok(Released { pid, reports, signals, shared })
}

/// What the workload inherited is its own: a pipe that it closes must read as closed. Stderr stays for
/// diagnostics.
fn close_the_rest(pipes: &[&File], signals: &Signals, client: &Client) {
    let mut keep = vec![2, signals.fd().as_raw_fd()];
    keep.extend(client.numbers());
    keep.extend(pipes.iter().map(|pipe| pipe.as_raw_fd()));
    if let Err(error) = fd::keep_only(&keep) {
        log::debug(&format!("inherited fds stay open in the shim: {error}"));
    }
}
