//! Stage 1, receive: one notification from a listener, and the obligation to answer it.

use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;

use crate::sys::listener::{Listener, RawNotification};
use std::os::fd::{AsFd, OwnedFd};

/// Notifications that were dropped unanswered and denied themselves, over all sessions.
static SELF_DENIED: AtomicU64 = AtomicU64::new(0);

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

    /// Gives the one answer. A vanished task is no error; EMFILE and the like while installing a
    /// descriptor become the caller's own errno, as the kernel would have it.
    pub(crate) fn answer(mut self, reply: &Reply) -> Result<(), Errno> {
        self.answered = true;
        let id = self.raw.id;
        let sent = match reply {
            Reply::Errno(errno) => self.listener.send_error(id, *errno),
            Reply::Value(value) => self.listener.send_value(id, *value),
            Reply::Continue => self.listener.send_continue(id),
            Reply::Descriptor { fd, close_on_exec } => self
                .listener
                .add_descriptor_and_send(id, fd.as_fd(), *close_on_exec)
                .or_else(|errno| match errno {
                    Errno::ENOENT => Err(errno),
                    _ => self.listener.send_error(id, errno as i32),
                }),
        };
        match sent {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(errno),
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
