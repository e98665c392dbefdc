//! A process that is held, so that its number cannot come to mean another one.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::Status;
use crate::sys::from_rustix;
use crate::sys::readiness::until_readable;

/// Deepest ancestry that is followed.
const MAX_DEPTH: usize = 64;

/// A process by its pidfd. While it lives, its number is its own.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    handle: Arc<OwnedFd>,
}

impl Process {
    /// Takes hold of whatever has this number now.
    pub(crate) fn open(pid: i32) -> Result<Self, Errno> {
        let number = Pid::from_raw(pid).ok_or(Errno::ESRCH)?;
        let handle = pidfd_open(number, PidfdFlags::NONBLOCK).map_err(from_rustix)?;
        Ok(Self::held(pid, handle))
    }

    /// The process that the kernel gave a handle of.
    pub(crate) fn held(pid: i32, handle: OwnedFd) -> Self {
        Self { pid, handle: Arc::new(handle) }
    }

    pub(crate) fn is_alive(&self) -> bool {
        let mut ended = [PollFd::new(self.handle.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut ended, PollTimeout::ZERO), Ok(0))
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) -> std::io::Result<()> {
        until_readable(self.handle.clone()).await
    }

    /// What `look` finds by the number, unless the process was gone by then: only while it lives
    /// does the number mean it.
    pub(crate) fn look<T>(&self, look: impl FnOnce(i32) -> Option<T>) -> Option<T> {
        let found = look(self.pid)?;
        self.is_alive().then_some(found)
    }

    /// The numbers of its parents, nearest first.
    pub(crate) fn parents(&self) -> Vec<i32> {
        self.look(|pid| Some(parents_of(pid))).unwrap_or_default()
    }

    /// Whether it is this very process, or one below it.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        let related = self.pid == other.pid || self.parents().contains(&other.pid);
        related && self.is_alive() && other.is_alive()
    }
}

fn parents_of(mut pid: i32) -> Vec<i32> {
    let mut parents = Vec::new();
    while pid > 1 && parents.len() < MAX_DEPTH {
        let Some(status) = status_of(pid) else { break };
        parents.push(status.parent);
        pid = status.parent;
    }
    parents
}

pub(super) fn status_of(pid: i32) -> Option<Status> {
    let directory = std::fs::File::open(format!("/proc/{pid}")).ok()?;
    Status::read(directory.as_fd()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IF-001: a number that is used again does not stand for the process that had it.
    #[test]
    fn a_process_that_ended_tells_nothing() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::open(child.id().cast_signed()).unwrap();
        let own = Process::open(std::process::id().cast_signed()).unwrap();
        assert!(process.is_alive() && process.is_below(&own) && !own.is_below(&process));
        assert_eq!(process.look(Some), Some(process.pid));
        child.kill().unwrap();
        child.wait().unwrap();
        // The look-up itself would succeed for whoever has the number now.
        assert_eq!(process.look(Some), None);
        assert!(!process.is_alive() && !process.is_below(&own));
    }
}
