//! Stage 1, receive: one notification from a listener, and the obligation to answer it.

use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;

use crate::sys::listener::{Listener, RawNotification};
use std::os::fd::{AsFd, OwnedFd};

/// Notifications that were dropped unanswered and denied themselves, over all sessions.
static SELF_DENIED: AtomicU64 = AtomicU64::new(0);

/// Kernel-internal: the call is made again once what is pending has been dealt with.
const ERESTARTNOINTR: i32 = 513;

/// A trapped system call that waits for its answer. Dropped unanswered, it answers EPERM.
#[derive(Debug)]
#[must_use = "an unanswered notification denies itself"]
pub(crate) struct Notification<'l> {
    listener: &'l Listener,
    raw: RawNotification,
    answered: bool,
}

/// The task behind a notification is gone; whatever was learned about it may be about another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the calling task is gone")]
pub(crate) struct Gone;

/// What goes back to the kernel.
#[derive(Debug)]
#[must_use]
pub(crate) enum Reply {
    /// The call fails with this errno.
    Errno(i32),
    /// The call returns this value.
    Value(i64),
    /// The kernel carries on with the call.
    Continue,
    /// The call returns this descriptor, installed in the caller's table.
    Descriptor { fd: OwnedFd, close_on_exec: bool },
}

impl<'l> Notification<'l> {
    /// Blocks for the next notification.
    pub(crate) fn receive(listener: &'l Listener) -> Result<Self, Errno> {
        let raw = listener.receive()?;
        Ok(Self { listener, raw, answered: false })
    }

    pub(crate) fn id(&self) -> u64 {
        self.raw.id
    }

    /// The calling *thread*.
    pub(crate) fn tid(&self) -> i32 {
        self.raw.tid.cast_signed()
    }

    pub(crate) fn registers(&self) -> &RawNotification {
        &self.raw
    }

    /// Fails when the task died or was interrupted: everything read under `/proc/TID` so far may
    /// then belong to a stranger.
    pub(crate) fn check(&self) -> Result<(), Gone> {
        self.listener.id_valid(self.raw.id).map_err(|_| Gone)
    }

    /// Gives the one answer. A vanished task is no error.
    pub(crate) fn answer(mut self, reply: Reply) -> Result<(), Errno> {
        self.answered = true;
        let id = self.raw.id;
        let sent = match reply {
            Reply::Errno(errno) => self.listener.send_error(id, errno),
            Reply::Value(value) => self.listener.send_value(id, value),
            Reply::Continue => self.listener.send_continue(id),
            Reply::Descriptor { fd, close_on_exec } => self.hand_over(fd, close_on_exec),
        };
        match sent {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Sends the caller back to make the same call again. A stop or a signal must be pending for it:
    /// without one, the number itself would be the call's result.
    pub(crate) fn restart(mut self) {
        self.answered = true;
        let _ = self.listener.send_error(self.raw.id, ERESTARTNOINTR);
    }

    /// Installs the descriptor while the caller still waits, and lets go of our own copy before it
    /// returns: what the caller closes next is then closed at once (end of file on a FIFO, locks, a
    /// program that is about to be run). EMFILE and the like become the caller's own errno.
    fn hand_over(&self, fd: OwnedFd, close_on_exec: bool) -> Result<(), Errno> {
        let added = self.listener.add_descriptor(self.raw.id, fd.as_fd(), close_on_exec);
        drop(fd);
        match added {
            Ok(number) => self.listener.send_value(self.raw.id, number.into()),
            Err(Errno::ENOENT) => Err(Errno::ENOENT),
            Err(errno) => self.listener.send_error(self.raw.id, errno as i32),
        }
    }
}

impl Drop for Notification<'_> {
    fn drop(&mut self) {
        if !self.answered && self.listener.send_error(self.raw.id, libc::EPERM).is_ok() {
            SELF_DENIED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// How many notifications denied themselves since the start.
pub(crate) fn self_denied() -> u64 {
    SELF_DENIED.load(Ordering::Relaxed)
}
