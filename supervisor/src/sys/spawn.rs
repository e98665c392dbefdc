//! What a child starts with: the mask and limits it would have had without us.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};

/// The limits that this process began with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    soft: rlim_t,
    hard: rlim_t,
}

/// Raises the number of descriptors as far as it goes: every call in flight holds a few.
pub(crate) fn raise_descriptor_limit() -> Result<Limits, Errno> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(Limits { soft, hard })
}

/// Gives a child to be started the signal mask and the limits it would have had without us.
pub(crate) fn as_without_us(command: &mut Command, mask: SigSet, limits: Limits) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; sigprocmask and
    // setrlimit are plain system calls, and the closure touches nothing but its own copies.
    unsafe {
        command.pre_exec(move || {
            setrlimit(Resource::RLIMIT_NOFILE, limits.soft, limits.hard)?;
            sigprocmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?;
            Ok(())
        });
    }
}
