//! Processes: waiting, signalling, and this process's own attributes.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;

use super::check;

/// What happened to a child.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Event {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
    /// This signal stopped it.
    Stopped(i32),
    /// It runs again.
    Continued,
}

/// The result of one look at the children.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wait {
    /// No child is left.
    NoChildren,
    /// There are children, and no news of them.
    Nothing,
    /// News of the child with this pid.
    News(i32, Event),
}

/// Takes one piece of news of any child, without blocking.
pub(crate) fn wait_any() -> Wait {
    let flags = libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED | libc::__WALL;
    wait(-1, flags)
}

/// Waits until the child `pid` has ended, and takes its status.
pub(crate) fn wait_end(pid: i32) -> Wait {
    wait(pid, libc::__WALL)
}

fn wait(pid: i32, flags: libc::c_int) -> Wait {
    let mut status = 0;
    let found = loop {
        // SAFETY: waitpid writes one int, and `status` is one.
        let found = unsafe { libc::waitpid(pid, &raw mut status, flags) };
        if found >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break found;
        }
    };
    match found {
        0 => Wait::Nothing,
        pid if pid > 0 => Wait::News(pid, event(status)),
        _ => Wait::NoChildren,
    }
}

fn event(status: i32) -> Event {
    if libc::WIFSTOPPED(status) {
        Event::Stopped(libc::WSTOPSIG(status))
    } else if libc::WIFCONTINUED(status) {
        Event::Continued
    } else if libc::WIFSIGNALED(status) {
        Event::Killed(libc::WTERMSIG(status))
    } else {
        Event::Exited(libc::WEXITSTATUS(status))
    }
}

/// This process's id in its own pid namespace.
pub(crate) fn own_pid() -> i32 {
    std::process::id() as i32
}

/// kill(2).
pub(crate) fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: two integers, no memory.
    check(unsafe { libc::kill(pid, signal) }.into()).map(drop)
}

/// Whether this process may execute the file at `path`, as far as its mode says.
pub(crate) fn may_execute(path: &CStr) -> bool {
    // SAFETY: the path is a NUL-terminated string that outlives the call.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::X_OK, libc::AT_EACCESS) == 0 }
}

/// Should the supervisor that started us die while we are stopped with our job, we must wake up to
/// end what we started.
pub(crate) fn wake_when_parent_dies() -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes an integer.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCONT, 0, 0, 0) }.into()).map(drop)
}

/// Orphans among our descendants become our children.
pub(crate) fn become_subreaper() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes an integer.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }.into()).map(drop)
}

/// A workload of the same uid can no longer read or write our memory.
pub(crate) fn become_undumpable() -> io::Result<()> {
    // SAFETY: PR_SET_DUMPABLE takes an integer.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) }.into()).map(drop)
}

/// Asks for all the CPU time there is, where that is allowed: a storm of processes must not starve
/// the one that ends it.
pub(crate) fn hurry() {
    // SAFETY: setpriority takes integers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}
