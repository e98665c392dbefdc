//! Who is at the other end of a connection, as the kernel tells.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt};

use super::process::{Process, status_of};
use crate::attach::session::Identity;
use crate::resolve::Tasks;
use crate::resolve::task::{Task, read_link};

/// The process at the other end of a connection, held for the connection's life.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) pid: i32,
    pub(crate) uid: u32,
    process: Option<Arc<Process>>,
    session: Option<Arc<Membership>>,
    /// What it ran when it was last looked at.
    task: Arc<Mutex<Option<Arc<Task>>>>,
}

/// The session of a supervised program, which the supervisor itself connected.
#[derive(Debug)]
pub(crate) struct Membership {
    /// What its tokens belong to.
    pub(crate) container: String,
    pub(crate) identity: Arc<Identity>,
}

impl Peer {
    /// Somebody of whom a number is all that is known: no agent, and never taken for one.
    pub(crate) fn seen(pid: i32, uid: u32) -> Self {
        Self { pid, uid, process: None, session: None, task: Arc::default() }
    }

    /// The process that connected.
    pub(crate) fn of(stream: &tokio::net::UnixStream) -> Result<Self, Errno> {
        let credentials = stream.peer_cred().map_err(|error| crate::sys::errno_of(&error))?;
        let (pid, uid) = (credentials.pid().unwrap_or(0), credentials.uid());
        if pid <= 0 {
            return Err(Errno::ESRCH);
        }
        if pid == std::process::id().cast_signed() {
            return Ok(Self::seen(pid, uid));
        }
        let process = match getsockopt(&stream.as_fd(), sockopt::PeerPidfd) {
            Ok(handle) => Process::held(pid, handle),
            // Before Linux 6.5.
            Err(Errno::ENOPROTOOPT) => opened(pid, uid)?,
            Err(errno) => return Err(errno),
        };
        Ok(Self { process: Some(Arc::new(process)), ..Self::seen(pid, uid) })
    }

    /// A process that was started by us.
    pub(crate) fn started(process: Process, uid: u32) -> Self {
        let process_pid = process.pid;
        Self { process: Some(Arc::new(process)), ..Self::seen(process_pid, uid) }
    }

    /// A supervised program that was connected on its behalf.
    pub(crate) fn member(process: Process, uid: u32, session: Arc<Membership>) -> Self {
        Self { session: Some(session), ..Self::started(process, uid) }
    }

    /// The process, while it lives.
    pub(crate) fn process(&self) -> Option<&Arc<Process>> {
        self.process.as_ref().filter(|process| process.is_alive())
    }

    /// Its program and ancestry. They are looked up again when it runs another program.
    pub(crate) fn task(&self) -> Option<Arc<Task>> {
        let mut known = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |task: &&Arc<Task>| read_link(task.directory(), "exe").is_ok_and(|exe| exe == task.exe);
        if let Some(task) = known.as_ref().filter(same) {
            return Some(task.clone());
        }
        *known = Tasks::default().get(self.pid).ok();
        known.clone()
    }

    /// Its session, where it was connected on behalf.
    pub(crate) fn session(&self) -> Option<&Membership> {
        self.session.as_deref()
    }
}

/// Takes hold of a process by its number, and checks that it is still the one that connected as far
/// as that can be told: it has the connection's user and is alive after the look.
fn opened(pid: i32, uid: u32) -> Result<Process, Errno> {
    let process = Process::open(pid)?;
    let user = process.look(|pid| status_of(pid).map(|status| status.credentials.uid));
    if user == Some(uid) { Ok(process) } else { Err(Errno::ESRCH) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IF-001: without SO_PEERPIDFD the number is taken hold of and looked at again.
    #[test]
    fn a_number_is_checked_again_once_it_is_held() {
        let own = (std::process::id().cast_signed(), nix::unistd::geteuid().as_raw());
        assert!(opened(own.0, own.1).is_ok_and(|process| process.is_alive()));
        assert_eq!(opened(own.0, own.1 + 1).err(), Some(Errno::ESRCH));
    }
}
