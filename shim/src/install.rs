//! A child that waits to be let go: behind the filter, or as its caller would run it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::command::Command;
use crate::failure::Failure;
use crate::log;
use crate::profile::Profile;
use crate::sys::child::{self, Confinement, Plan, REPORT_SIZE, Report};
use crate::sys::signal::Inherited;
use crate::sys::{fd, process};

/// Installing takes microseconds; a child that needs longer than this is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// The child before its program. Dropped without release, it is killed and reaped.
pub(crate) struct Held {
    pid: i32,
    listener: Option<OwnedFd>,
    shares_table: bool,
    gate: Option<Gate>,
}

/// The pipes between parent and child. Until the fd table is unshared, closing an end here would close
/// the child's end too, so they stay together.
pub(crate) struct Gate {
    /// The child reports here.
    pub(crate) reports: File,
    /// Where the go byte is written.
    pub(crate) go: File,
    /// The ends that only the child uses.
    pub(crate) child_ends: (OwnedFd, OwnedFd),
}

impl Held {
    /// The child's pid.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// The listener of the child's filter; the receiver must close it before the child goes on.
    pub(crate) fn take_listener(&mut self) -> Option<OwnedFd> {
        self.listener.take()
    }

    /// Whether parent and child have one fd table.
    pub(crate) fn shares_table(&self) -> bool {
        self.shares_table
    }

    /// Gives up the right to kill: the caller lets the child go.
    pub(crate) fn release(mut self) -> Option<Gate> {
        self.gate.take()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.gate.is_some() {
            let _ = process::kill(self.pid, libc::SIGKILL);
            process::wait_end(self.pid);
        }
    }
}

/// Starts the child and waits until its filter is in place.
pub(crate) fn hold(
    profile: &Profile,
    command: &Command,
    inherited: &Inherited,
) -> Result<Held, Failure> {
    let Profile { filter, scope_signals } = profile;
    let confinement = Confinement { filter, scope_signals: *scope_signals };
    let (mut held, pidfd) = spawn(Some(confinement), command, inherited)?;
    let number = await_listener(&held, &pidfd)?;
    held.listener =
        Some(fd::adopt(number).map_err(Failure::step("the filter's listener is not there"))?);
    Ok(held)
}

/// Starts the child without a filter: what holds for its caller holds for it.
pub(crate) fn hold_unconfined(command: &Command, inherited: &Inherited) -> Result<Held, Failure> {
    spawn(None, command, inherited).map(|(held, _)| held)
}

fn spawn(
    confinement: Option<Confinement<'_>>,
    command: &Command,
    inherited: &Inherited,
) -> Result<(Held, OwnedFd), Failure> {
    let pipe = || fd::pipe().map_err(Failure::step("cannot make a pipe"));
    let (reports, report) = pipe()?;
    let (go_child, go) = pipe()?;
    let plan = Plan {
        confinement,
        candidates: &command.candidates,
        arguments: &command.arguments,
        inherited,
        report: report.as_fd(),
        go: go_child.as_fd(),
    };
    let (pid, pidfd) = child::spawn(&plan).map_err(Failure::step("cannot start a child"))?;
    let gate = Gate { reports: reports.into(), go: go.into(), child_ends: (report, go_child) };
    let shares_table = confinement.is_some();
    Ok((Held { pid, listener: None, shares_table, gate: Some(gate) }, pidfd))
}

fn await_listener(held: &Held, pidfd: &OwnedFd) -> Result<i32, Failure> {
    let died = || Failure::failed("the child died while it installed the filter");
    let reports = &held.gate.as_ref().ok_or_else(died)?.reports;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::failed("the child did not install the filter in time"));
        }
        let mut fds = [
            fd::interest(reports.as_fd(), libc::POLLIN),
            fd::interest(pidfd.as_fd(), libc::POLLIN),
        ];
        fd::poll(&mut fds, left).map_err(Failure::step("cannot wait for the child"))?;
        if fds[0].revents != 0 {
            match read_report(reports) {
                Some(Report::Listener(number)) => return Ok(number),
                Some(Report::Unscoped(errno)) => log::warn(&explain_scope(errno)),
                Some(report) => return Err(Failure::failed(explain(report))),
                None => return Err(died()),
            }
        } else if fds[1].revents != 0 {
            return Err(died());
        }
    }
}

/// The next report; `None` at the end of the pipe.
pub(crate) fn read_report(mut reports: &File) -> Option<Report> {
    let mut bytes = [0; REPORT_SIZE];
    reports.read_exact(&mut bytes).ok()?;
    Report::decode(bytes)
}

fn explain_scope(errno: i32) -> String {
    let error = io::Error::from_raw_os_error(errno);
    format!("signals of the workload are not confined: Landlock ABI 6 is not available ({error})")
}

fn explain(report: Report) -> String {
    let (what, errno) = match report {
        Report::Filter(libc::EBUSY) => {
            return "cannot install the filter: something else already supervises this process \
                    (another sandbox, a nested outcall, or WSL2 mirrored networking)"
                .into();
        }
        Report::Filter(libc::EINVAL) => {
            return "cannot install the filter (EINVAL): the kernel is older than 5.19 or the \
                    profile's program is not valid"
                .into();
        }
        Report::Filter(errno) => ("cannot install the filter", errno),
        Report::NoNewPrivs(errno) => ("cannot set no_new_privs", errno),
        other => return format!("the child said something unexpected: {other:?}"),
    };
    format!("{what}: {}", io::Error::from_raw_os_error(errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ebusy_names_the_suspects() {
        let sentence = explain(Report::Filter(libc::EBUSY));
        assert!(sentence.contains("already supervises"));
        assert!(sentence.contains("WSL2 mirrored networking"));
    }
}
