//! The workload's parent: signals, children, heartbeat, and the end of any of them.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::answer::CallError;
use crate::client::Client;
use crate::handoff::Released;
use crate::install::read_report;
use crate::pulse::{HEARTBEAT, Pulse};
use crate::sys::child::Report;
use crate::sys::fd;
use crate::sys::process::{self, Event, Wait, own_pid};
use crate::sys::signal::{self, Arrived, Signals};

/// How the workload ended.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    /// By itself or by a signal: the exit code.
    Exited(i32),
    /// Its program never started, for this errno.
    ExecFailed(i32),
    /// The daemon is gone, for this cause.
    Lost(String),
}

/// Watches one workload.
pub(crate) struct Monitor {
    client: Client,
    workload: i32,
    is_reaped: bool,
    signals: Signals,
    reports: Option<File>,
    exec_error: Option<i32>,
    pulse: Pulse,
    _shared: Option<(OwnedFd, OwnedFd)>,
}

impl Monitor {
    /// Takes over a child that was let go.
    pub(crate) fn new(client: Client, released: Released) -> Self {
        let Released { pid, reports, signals, shared } = released;
        Self {
            client,
            workload: pid,
            is_reaped: false,
            signals,
            reports: Some(reports),
            exec_error: None,
            pulse: Pulse::after(HEARTBEAT),
            _shared: shared,
        }
    }

    /// Stays until the workload has ended or must end. The caller kills what is left.
    pub(crate) fn run(&mut self) -> End {
        loop {
            // News of a child that came before the signals were taken has no signal.
            if let Some(code) = self.reap() {
                return self.ended(code);
            }
            if let Err(cause) = self.hear() {
                return End::Lost(cause.to_string());
            }
            if let Err(error) = self.wait() {
                return End::Lost(format!("cannot wait: {error}"));
            }
            self.read_reports();
            while let Some(arrived) = self.signals.next() {
                self.pass_on(arrived);
            }
        }
    }

    fn wait(&self) -> std::io::Result<bool> {
        let rest = self.pulse.next().saturating_duration_since(Instant::now());
        let [answer, file] = self.client.interests();
        let signals = fd::interest(self.signals.fd(), libc::POLLIN);
        let reports = fd::optional(self.reports.as_ref().map(File::as_fd), libc::POLLIN);
        fd::poll(&mut [signals, answer, file, reports], rest.min(self.client.patience()))
    }

    /// Takes the news of all children; the exit code once the workload itself has ended.
    fn reap(&mut self) -> Option<i32> {
        loop {
            match process::wait_any() {
                Wait::News(pid, event) if pid == self.workload => match event {
                    Event::Exited(code) => return Some(self.reaped(code)),
                    Event::Killed(signal) => return Some(self.reaped(128 + signal)),
                    Event::Stopped(_) => self.stop_too(),
                    Event::Continued => {}
                },
                Wait::News(..) => {}
                Wait::Nothing => return None,
                // Cannot happen while the workload is unreaped; ending is the safe answer.
                Wait::NoChildren => return Some(1),
            }
        }
    }

    fn reaped(&mut self, code: i32) -> i32 {
        self.is_reaped = true;
        code
    }

    /// The workload, unless it has ended: then its number may be somebody else's.
    pub(crate) fn workload(&self) -> Option<i32> {
        (!self.is_reaped).then_some(self.workload)
    }

    /// The shell that started us must see the stop, and its continue must reach the workload.
    fn stop_too(&mut self) {
        if !signal::is_pending(libc::SIGCONT) {
            let _ = process::kill(own_pid(), libc::SIGSTOP);
        }
        let _ = process::kill(self.workload, libc::SIGCONT);
        self.pulse.forgive(&self.client);
    }

    fn ended(&mut self, code: i32) -> End {
        self.read_reports();
        if let Some(errno) = self.exec_error {
            return End::ExecFailed(errno);
        }
        // A workload that ended because supervision was lost did not end well, whatever it says.
        match self.pulse.listen(&mut self.client) {
            Err(cause) => End::Lost(cause.to_string()),
            Ok(()) => End::Exited(code),
        }
    }

    fn hear(&mut self) -> Result<(), CallError> {
        self.pulse.listen(&mut self.client)?;
        self.pulse.beat(&mut self.client)
    }

    fn read_reports(&mut self) {
        while let Some(reports) = &self.reports {
            let mut fds = [fd::interest(reports.as_fd(), libc::POLLIN)];
            if !fd::poll(&mut fds, Duration::ZERO).unwrap_or(false) {
                return;
            }
            match read_report(reports) {
                Some(Report::Exec(errno)) => self.exec_error = Some(errno),
                Some(_) => {}
                None => self.reports = None,
            }
        }
    }

    fn pass_on(&self, arrived: Arrived) {
        if forwards(arrived, own_pid()) {
            let _ = process::kill(self.workload, arrived.signal);
        }
    }
}

/// Whether the workload must be told. The terminal tells its whole foreground group by itself.
fn forwards(arrived: Arrived, own: i32) -> bool {
    if arrived.sender == own as u32 && !arrived.by_kernel {
        return false;
    }
    match arrived.signal {
        libc::SIGCHLD => false,
        libc::SIGINT
        | libc::SIGQUIT
        | libc::SIGTSTP
        | libc::SIGTTIN
        | libc::SIGTTOU
        | libc::SIGWINCH => !arrived.by_kernel,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_signals_are_not_doubled() {
        let arrived = |signal, by_kernel| Arrived { signal, by_kernel, sender: 9 };
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGWINCH] {
            assert!(!forwards(arrived(signal, true), 1));
            assert!(forwards(arrived(signal, false), 1));
        }
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGCONT] {
            assert!(forwards(arrived(signal, true), 1));
            assert!(forwards(arrived(signal, false), 1));
        }
        assert!(!forwards(arrived(libc::SIGCHLD, false), 1));
        assert!(!forwards(arrived(libc::SIGPIPE, false), 9));
    }
}
