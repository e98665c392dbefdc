//! The terminal's signals. The shim and its program share our process group, so what the terminal
//! sends reaches the program directly; what is sent to us alone is passed on.

use std::process::Command;

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, raise, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getsid};

use crate::sys::spawn::{Limits, as_without_us, raise_descriptor_limit};

/// Sent to the foreground group by the kernel itself.
const SI_KERNEL: i32 = 0x80;

/// Passed on to the shim when somebody sends them to us alone.
const PASSED_ON: &[Signal] = &[
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGCONT,
];

/// The signals of this process, blocked and read from a descriptor.
pub(super) struct Signals {
    descriptor: SignalFd,
    before: SigSet,
    limits: Limits,
}

impl Signals {
    pub(super) fn block() -> anyhow::Result<Self> {
        let mut set: SigSet = PASSED_ON.iter().copied().collect();
        set.add(Signal::SIGCHLD);
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), Some(&mut before))
            .context("cannot block signals")?;
        let descriptor = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)
            .context("cannot read signals from a descriptor")?;
        let limits = raise_descriptor_limit().context("cannot raise the number of descriptors")?;
        Ok(Self { descriptor, before, limits })
    }

    /// The shim begins with the mask and the limits that we began with.
    pub(super) fn restore_in(&self, command: &mut Command) {
        as_without_us(command, self.before, self.limits);
    }

    /// Waits for the shim, passing signals on and stopping when it stops.
    pub(super) fn wait_for(&self, pid: i32) -> anyhow::Result<u8> {
        let shim = Pid::from_raw(pid);
        loop {
            if let Some(code) = reap(shim)? {
                return Ok(code);
            }
            let info = match self.descriptor.read_signal() {
                Ok(Some(info)) => info,
                Ok(None) | Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno).context("cannot read signals"),
            };
            let Ok(signal) = Signal::try_from(info.ssi_signo.cast_signed()) else { continue };
            if signal != Signal::SIGCHLD && !reaches_all(signal, info.ssi_code) {
                let _ = kill(shim, signal);
            }
        }
    }
}

/// Whether the program has got this one as well. A terminal's hangup is for the session's leader
/// alone, which we may be.
fn reaches_all(signal: Signal, code: i32) -> bool {
    let leads = || getsid(None).is_ok_and(|session| session == getpid());
    code == SI_KERNEL && !(signal == Signal::SIGHUP && leads())
}

/// The shim's exit code, once it has one. A stopped shim stops us too, so that the shell sees it.
fn reap(shim: Pid) -> anyhow::Result<Option<u8>> {
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
    loop {
        match waitpid(shim, Some(flags)).context("cannot wait for the shim")? {
            WaitStatus::Exited(_, code) => return Ok(Some(u8::try_from(code).unwrap_or(1))),
            WaitStatus::Signaled(_, signal, _) => return Ok(Some(128 + signal as u8)),
            WaitStatus::Stopped(..) => {
                let _ = raise(Signal::SIGSTOP);
                let _ = kill(shim, Signal::SIGCONT);
            }
            WaitStatus::StillAlive => return Ok(None),
            _ => {}
        }
    }
}
