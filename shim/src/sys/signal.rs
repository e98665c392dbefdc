//! Signals: what was inherited, and what arrives while the workload runs.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::check;

/// The kernel's own signal set. libc's calls silently leave out the signals it reserves.
type Mask = u64;

const fn bit(signal: libc::c_int) -> Mask {
    1 << (signal - 1)
}

fn change_mask(how: libc::c_int, new: Mask) -> io::Result<Mask> {
    let mut old: Mask = 0;
    let size = mem::size_of::<Mask>();
    // SAFETY: both pointers are to live u64 values, and the size says so to the kernel.
    check(unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const new, &raw mut old, size)
    })?;
    Ok(old)
}

/// The signal state that the caller gave us and that the workload must get.
pub(crate) struct Inherited {
    mask: Mask,
    child: libc::sigaction,
    heeds_term: bool,
}

fn zeroed_action() -> libc::sigaction {
    // SAFETY: sigaction is integers and pointers; all zeroes is SIG_DFL with an empty mask.
    unsafe { mem::zeroed() }
}

impl Inherited {
    /// Saves the state; then blocks SIGPIPE (writes report EPIPE instead) and SIGTERM (what is asked is
    /// finished first), and makes SIGCHLD default, because children of a process that ignores it leave
    /// no exit status.
    pub(crate) fn capture() -> io::Result<Self> {
        let mask = change_mask(libc::SIG_BLOCK, bit(libc::SIGPIPE) | bit(libc::SIGTERM))?;
        let mut term = zeroed_action();
        // SAFETY: a null action only reads; the pointer is to a live structure.
        check(unsafe { libc::sigaction(libc::SIGTERM, ptr::null(), &raw mut term) }.into())?;
        let default = zeroed_action();
        let mut child = zeroed_action();
        // SAFETY: both pointers are to live structures; SIG_DFL names no code.
        let done = unsafe { libc::sigaction(libc::SIGCHLD, &raw const default, &raw mut child) };
        check(done.into())?;
        let heeds_term = mask & bit(libc::SIGTERM) == 0 && term.sa_sigaction != libc::SIG_IGN;
        Ok(Self { mask, child, heeds_term })
    }

    /// Whether SIGTERM has come, from a caller who did not have it blocked or ignored.
    pub(crate) fn is_terminated(&self) -> bool {
        self.heeds_term && is_pending(libc::SIGTERM)
    }

    /// Puts the state back. Async-signal-safe: for the child, right before exec.
    pub(crate) fn restore(&self) {
        // SAFETY: `self.child` is what sigaction returned, in this program or its copy.
        unsafe { libc::sigaction(libc::SIGCHLD, &raw const self.child, ptr::null_mut()) };
        let _ = change_mask(libc::SIG_SETMASK, self.mask);
    }
}

/// One signal that arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived {
    /// Its number.
    pub(crate) signal: i32,
    /// The kernel sent it (for terminal signals: to the whole foreground group).
    pub(crate) by_kernel: bool,
    /// The sender, 0 when it is outside our pid namespace.
    pub(crate) sender: u32,
}

/// Every signal of this process, blocked and readable.
pub(crate) struct Signals(OwnedFd);

impl Signals {
    /// Blocks everything that can be blocked and opens a signalfd for it.
    pub(crate) fn take_all() -> io::Result<Self> {
        change_mask(libc::SIG_SETMASK, Mask::MAX)?;
        let mask = Mask::MAX;
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        let size = mem::size_of::<Mask>();
        // SAFETY: the pointer is to a live u64, and the size says so to the kernel.
        let number =
            check(unsafe { libc::syscall(libc::SYS_signalfd4, -1, &raw const mask, size, flags) })?;
        // SAFETY: the call above returned this open fd, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number as i32) }))
    }

    /// The fd to wait on.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.0.as_fd()
    }

    /// The next signal, if one is there.
    pub(crate) fn next(&self) -> Option<Arrived> {
        // SAFETY: signalfd_siginfo is plain integers, for which all zeroes is a value.
        let mut info: libc::signalfd_siginfo = unsafe { mem::zeroed() };
        let size = mem::size_of_val(&info);
        // SAFETY: the pointer and the size describe `info`, and any bytes are a value of its type.
        let got = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut info).cast(), size) };
        (got == size as isize).then_some(Arrived {
            signal: info.ssi_signo as i32,
            by_kernel: info.ssi_code == libc::SI_KERNEL,
            sender: info.ssi_pid,
        })
    }
}

/// Whether `signal` is blocked and waiting.
pub(crate) fn is_pending(signal: i32) -> bool {
    let mut pending: Mask = 0;
    let size = mem::size_of::<Mask>();
    // SAFETY: the pointer is to a live u64, and the size says so to the kernel.
    unsafe { libc::syscall(libc::SYS_rt_sigpending, &raw mut pending, size) };
    pending & bit(signal) != 0
}
