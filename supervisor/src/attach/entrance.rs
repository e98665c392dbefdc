//! The way in for supervised programs. Whoever of them names the agent socket is connected to a
//! listener of our own that has no name: nobody else can reach it, so that the order of arrival says
//! who is who, although the kernel sees the supervisor at both ends.

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use nix::errno::Errno;
use rustix::fs::{AtFlags, Mode, OFlags};

use crate::identity::Peer;
use crate::resolve::network::Destination;
use crate::sys::socket;

/// The path that means the caller's own supervisor, whatever lies there.
pub(crate) const AGENT_SOCKET: &str = "/run/outcall/agent.sock";

/// A listener without a name, and those who were connected to it.
#[derive(Debug)]
pub(crate) struct Entrance {
    /// The listener's file, which has no name any more.
    file: OwnedFd,
    /// Device and inode of the daemon's socket: another name of it is still it.
    public: Option<(u64, u64)>,
    arrivals: Mutex<VecDeque<Peer>>,
}

impl Entrance {
    /// Makes one. The file has a name for a moment, in a directory that is ours alone.
    pub(crate) fn open(
        directory: &Path,
        public: Option<&Path>,
    ) -> anyhow::Result<(Self, UnixListener)> {
        let open = || -> std::io::Result<(OwnedFd, UnixListener)> {
            let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
            let directory = rustix::fs::open(directory, flags, Mode::empty())?;
            let name = format!(".entrance-{}", std::process::id());
            let _ = rustix::fs::unlinkat(&directory, &name, AtFlags::empty());
            // By descriptor, because an address has room for 107 bytes.
            let path = format!("/proc/self/fd/{}/{name}", directory.as_raw_fd());
            let listener = UnixListener::bind(path)?;
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&directory, &name, flags, Mode::empty());
            rustix::fs::unlinkat(&directory, &name, AtFlags::empty())?;
            listener.set_nonblocking(true)?;
            Ok((file?, listener))
        };
        let (file, listener) = open().with_context(|| {
            format!("cannot make a socket for supervised programs in {}", directory.display())
        })?;
        let public = public.and_then(|path| rustix::fs::stat(path).ok());
        let public = public.map(|found| (found.st_dev, found.st_ino));
        Ok((Self { file, public, arrivals: Mutex::default() }, listener))
    }

    /// Whether a destination means the agent socket.
    pub(crate) fn is_meant(&self, destination: &Destination) -> bool {
        let object = &destination.object;
        destination.agent || self.public == Some((object.device, object.inode))
    }

    /// Connects a caller's socket. The lock makes the order of arrivals that of the accept queue.
    pub(crate) fn connect(&self, socket: BorrowedFd<'_>, who: Peer) -> Result<(), Errno> {
        let mut arrivals = self.arrivals();
        socket::connect(socket, &socket::address_of(self.file.as_fd()))?;
        arrivals.push_back(who);
        Ok(())
    }

    /// Who the connection is that was accepted just now; `None`: nobody that we connected.
    pub(crate) fn arrived(&self) -> Option<Peer> {
        self.arrivals().pop_front()
    }

    fn arrivals(&self) -> MutexGuard<'_, VecDeque<Peer>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn who_connects_first_is_accepted_first_and_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let (entrance, listener) = Entrance::open(directory.path(), None).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let new = || {
            use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
            let fd = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None);
            std::os::unix::net::UnixStream::from(fd.unwrap())
        };
        let mut sockets: Vec<_> = (0..3).map(|_| new()).collect();
        for (number, socket) in (0..).zip(&mut sockets) {
            entrance.connect(socket.as_fd(), Peer::seen(number, 0)).unwrap();
            socket.write_all(&[number as u8]).unwrap();
        }
        // A socket that is connected already is no arrival.
        assert!(entrance.connect(sockets[0].as_fd(), Peer::seen(9, 0)).is_err());
        for number in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nonblocking(false).unwrap();
            let mut said = [9];
            stream.read_exact(&mut said).unwrap();
            assert_eq!((entrance.arrived().unwrap().pid, said[0]), (number, number as u8));
        }
        assert!(entrance.arrived().is_none());
    }
}
