//! File descriptors: pipes, poll, and who holds what.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use super::check;

/// `CLOSE_RANGE_UNSHARE` of linux/close_range.h.
const CLOSE_RANGE_UNSHARE: libc::c_uint = 2;

/// A close-on-exec pipe: (read end, write end).
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: pipe2 writes two ints, and `ends` has room for them.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }.into())?;
    // SAFETY: on success both numbers are open and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Takes over an open fd that another process of ours, or our caller, gave us by number, and makes
/// it close-on-exec.
pub(crate) fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_SETFD takes an int and touches no memory; a closed number is EBADF.
    check(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) }.into())?;
    // SAFETY: the number is open (checked above), and by this function's contract it is handed to
    // us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// What to wait for on one fd.
pub(crate) fn interest(fd: BorrowedFd<'_>, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }
}

/// As [`interest`]; the kernel skips what is not there.
pub(crate) fn optional(fd: Option<BorrowedFd<'_>>, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd: fd.map_or(-1, |fd| fd.as_raw_fd()), events, revents: 0 }
}

/// Waits until one of `fds` is ready or the time is over; an interruption counts as neither, so callers
/// look at their deadlines again.
pub(crate) fn poll(fds: &mut [libc::pollfd], timeout: Duration) -> io::Result<bool> {
    let millis = timeout.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
    // SAFETY: the pointer and the length describe one live, exclusively borrowed slice.
    match check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as _, millis) }.into()) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            fds.iter_mut().for_each(|fd| fd.revents = 0);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Opens `/dev/null` on every closed standard fd, close-on-exec: ours never become 0 to 2, and the
/// workload still finds them closed.
pub(crate) fn fill_standard() -> io::Result<()> {
    for number in 0..=2 {
        // SAFETY: F_GETFD touches no memory.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
            let flags = libc::O_RDWR | libc::O_CLOEXEC;
            // SAFETY: the path is a NUL-terminated constant. The lowest free number is `number`.
            check(unsafe { libc::open(c"/dev/null".as_ptr(), flags) }.into())?;
        }
    }
    Ok(())
}

/// Gives this process its own fd table again. Container profiles often refuse unshare(2), so
/// close_range(2), which can do the same, is the second try.
pub(crate) fn unshare_table() -> io::Result<()> {
    // SAFETY: CLONE_FILES changes only which table this process uses; every fd stays open.
    if unsafe { libc::unshare(libc::CLONE_FILES) } == 0 {
        return Ok(());
    }
    close_range(libc::c_uint::MAX, libc::c_uint::MAX, CLOSE_RANGE_UNSHARE)
}

/// Closes every fd that is not in `keep`, so that a pipe the workload closes is closed.
///
/// The caller holds no other `OwnedFd` than those in `keep`.
pub(crate) fn keep_only(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<libc::c_uint> =
        keep.iter().filter(|fd| **fd >= 0).map(|fd| *fd as libc::c_uint).collect();
    keep.sort_unstable();
    let mut first = 0;
    for kept in keep {
        if first < kept {
            close_range(first, kept - 1, 0)?;
        }
        first = kept + 1;
    }
    close_range(first, libc::c_uint::MAX, 0)
}

fn close_range(first: libc::c_uint, last: libc::c_uint, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: three integers, no memory. Callers of this private function answer for who owns the
    // fds in the range.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) }).map(drop)
}
