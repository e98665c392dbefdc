//! The exec stop. The tracer is a *thread*: whoever seizes must wait and let go itself.
#![allow(unsafe_code)]

use nix::errno::Errno;

use super::cerr;

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;

/// What a traced task reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The new program is in place and has not run an instruction.
    Exec { pid: i32 },
    /// Stopped because it was asked to, or with its group.
    Trap { pid: i32 },
    /// About to receive this signal.
    Signal { pid: i32, signal: i32 },
    /// Dead, or no longer ours.
    Gone,
}

/// Begins tracing for the exec stop. Should this thread die, the kernel kills the task.
pub(crate) fn seize(tid: i32) -> Result<(), Errno> {
    // SAFETY: PTRACE_SEIZE takes its options by value and no address.
    cerr(unsafe { libc::ptrace(libc::PTRACE_SEIZE, tid, 0_usize, OPTIONS as usize) }).map(drop)
}

/// Asks the task to stop at the next chance.
pub(crate) fn interrupt(tid: i32) -> Result<(), Errno> {
    // SAFETY: PTRACE_INTERRUPT ignores address and data.
    cerr(unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0_usize, 0_usize) }).map(drop)
}

/// Lets a stopped task go on untraced, with a signal or 0.
pub(crate) fn detach(pid: i32, signal: i32) -> Result<(), Errno> {
    // SAFETY: PTRACE_DETACH takes the signal by value and no address.
    cerr(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0_usize, signal as usize) }).map(drop)
}

/// Waits for the next report of a task traced by this very thread.
pub(crate) fn wait() -> Stop {
    let mut status: libc::c_int = 0;
    loop {
        // SAFETY: waitpid writes one int at the pointer, which outlives the call.
        let waited =
            unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        match cerr(waited) {
            Err(Errno::EINTR) => {}
            Err(_) => return Stop::Gone,
            Ok(pid) => return report(pid, status),
        }
    }
}

fn report(pid: i32, status: i32) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Gone;
    }
    match status >> 16 {
        libc::PTRACE_EVENT_EXEC => Stop::Exec { pid },
        0 => Stop::Signal { pid, signal: libc::WSTOPSIG(status) },
        _ => Stop::Trap { pid },
    }
}
