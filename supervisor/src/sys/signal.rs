//! The signal that interrupts a worker's blocking call, and nothing else.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use super::cerr;

/// Interrupts a blocked worker. Its handler does nothing; without SA_RESTART the call returns EINTR.
pub(crate) const NUDGE: Signal = Signal::SIGURG;

extern "C" fn nothing(_: libc::c_int) {}

/// Installs the empty handler for [`NUDGE`].
pub(crate) fn install_nudge() -> Result<(), Errno> {
    let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler is an empty function, which is async-signal-safe, and no code relies on
    // the previous disposition of this signal.
    unsafe { sigaction(NUDGE, &action) }.map(drop)
}

/// Nudges one thread of this process.
pub(crate) fn nudge_thread(tid: i32) -> Result<(), Errno> {
    signal_thread(std::process::id().cast_signed(), tid, NUDGE)
}

/// Sends a signal to one thread of a process.
pub(crate) fn signal_thread(tgid: i32, tid: i32, signal: Signal) -> Result<(), Errno> {
    // SAFETY: tgkill takes three integers and no memory.
    cerr(unsafe { libc::syscall(libc::SYS_tgkill, tgid, tid, signal as libc::c_int) }).map(drop)
}
