//! The only place with unsafe code: thin, safe wrappers over kernel calls that no crate wraps.

pub(crate) mod address;
pub(crate) mod listener;
pub(crate) mod ptrace;
pub(crate) mod readiness;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod spawn;
pub(crate) mod thread;

use std::io;

use nix::errno::Errno;

/// The one gate from a C return value to a `Result`.
pub(crate) fn cerr<T: Copy + PartialEq + From<i8>>(value: T) -> Result<T, Errno> {
    if value == T::from(-1) { Err(Errno::last()) } else { Ok(value) }
}

/// The errno of an I/O error; EIO where there is none.
pub(crate) fn errno_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// Bridges rustix's errno to nix's, so that one type travels through the pipeline.
pub(crate) fn from_rustix(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}
