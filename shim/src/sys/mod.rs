//! The kernel interface: every unsafe block of the shim is below here, behind safe functions.
#![allow(unsafe_code)]

pub(crate) mod child;
pub(crate) mod entry;
pub(crate) mod fd;
pub(crate) mod inotify;
pub(crate) mod process;
pub(crate) mod signal;
pub(crate) mod socket;

use std::io;

/// The one errno gate: a negative result becomes the error that errno names.
fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
