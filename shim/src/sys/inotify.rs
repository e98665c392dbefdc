//! News of a directory: something in it, or it itself, is gone or renamed.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

const LOSSES: u32 = libc::IN_DELETE
    | libc::IN_MOVED_FROM
    | libc::IN_MOVED_TO
    | libc::IN_DELETE_SELF
    | libc::IN_MOVE_SELF
    | libc::IN_ONLYDIR;

/// A watch on one directory.
#[derive(Debug)]
pub(crate) struct Watch(OwnedFd);

impl Watch {
    /// Watches `directory`; a user may have only so many, and then there is none.
    pub(crate) fn on(directory: &CStr) -> io::Result<Self> {
        // SAFETY: inotify_init1 takes an integer.
        let number =
            check(unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) }.into())?;
        // SAFETY: the call above returned this open fd, and nothing else owns it.
        let events = unsafe { OwnedFd::from_raw_fd(number as i32) };
        // SAFETY: the path is a NUL-terminated string that outlives the call.
        let added =
            unsafe { libc::inotify_add_watch(events.as_raw_fd(), directory.as_ptr(), LOSSES) };
        check(added.into())?;
        Ok(Self(events))
    }

    /// The fd to wait on.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Takes all news; true when there was any. What it says does not matter: callers look themselves.
    pub(crate) fn drain(&self) -> bool {
        let mut room = [0u8; 4096];
        let mut any = false;
        loop {
            // SAFETY: the pointer and the length describe `room`, and the events are not looked at.
            let got = unsafe { libc::read(self.0.as_raw_fd(), room.as_mut_ptr().cast(), 4096) };
            if got <= 0 {
                return any;
            }
            any = true;
        }
    }
}
