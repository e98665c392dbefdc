//! Resolving connect and the send family: the socket is taken once, the address copied once.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use rustix::fs::ResolveFlags;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::mutation::End;
use super::{Desk, Object, Place, Unresolved, Wish, identity};
use crate::attach::entrance::AGENT_SOCKET;
use crate::decode::{Outgoing, Pointer};
use crate::sys::address::Address;
use crate::sys::{from_rustix, socket};

/// The kernel's largest socket address.
const MAX_ADDRESS: u32 = 128;
/// The kernel's limit of messages in one sendmmsg.
const MAX_MESSAGES: u32 = 1024;
const MSGHDR_BYTES: u64 = 56;
const MMSGHDR_BYTES: u64 = 64;
/// PIDFD_THREAD (Linux 6.9): a descriptor of one thread.
const PIDFD_THREAD: u32 = libc::O_EXCL as u32;

/// A destination: what the caller wrote, and what it means.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) raw: Vec<u8>,
    pub(crate) address: Address,
    /// The pinned socket file of a Unix address with a path.
    pub(crate) place: Option<Place>,
    pub(crate) object: Object,
    /// The caller's own supervisor is meant: nothing is looked for at that path.
    pub(crate) agent: bool,
}

/// The caller's socket: our duplicate is the same open file, whatever the caller's table says later.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) fd: OwnedFd,
    pub(crate) kind: i32,
    pub(crate) blocking: bool,
}

#[derive(Debug)]
pub(crate) struct ConnectRequest {
    pub(crate) socket: Socket,
    pub(crate) destination: Destination,
}

/// A name for a socket. Of a Unix socket with a path it is a file to be made.
#[derive(Debug)]
pub(crate) struct BindRequest {
    pub(crate) socket: Socket,
    pub(crate) raw: Vec<u8>,
    pub(crate) file: Option<End>,
    pub(crate) umask: Option<u32>,
}

/// One message of a send; the data stays in the caller until it is sent.
#[derive(Debug)]
pub(crate) struct OutgoingMessage {
    pub(crate) destination: Option<Destination>,
    pub(crate) parts: Vec<(Pointer, u64)>,
    pub(crate) control: Vec<u8>,
    /// Where sendmmsg wants the number of bytes sent.
    pub(crate) length_at: Option<Pointer>,
}

#[derive(Debug)]
pub(crate) struct SendRequest {
    pub(crate) socket: Socket,
    pub(crate) messages: Vec<OutgoingMessage>,
    pub(crate) flags: i32,
}

impl Desk<'_, '_> {
    pub(super) fn connect(
        &mut self,
        fd: i32,
        address: Pointer,
        length: u32,
    ) -> Result<ConnectRequest, Unresolved> {
        let socket = self.socket(fd)?;
        let raw = self.address(address, length)?;
        let destination = self.destination(raw, false)?;
        Ok(ConnectRequest { socket, destination })
    }

    pub(super) fn bind(
        &mut self,
        fd: i32,
        address: Pointer,
        length: u32,
    ) -> Result<BindRequest, Unresolved> {
        let socket = self.socket(fd)?;
        let raw = self.address(address, length)?;
        let (mut file, mut umask) = (None, None);
        if let Some(Address::UnixPath(path)) = Address::parse(&raw) {
            file = Some(self.socket_file(path)?);
            umask = Some(self.caller.status()?.umask);
        }
        Ok(BindRequest { socket, raw, file, umask })
    }

    pub(super) fn send(
        &mut self,
        fd: i32,
        outgoing: Outgoing,
        flags: i32,
    ) -> Result<SendRequest, Unresolved> {
        let socket = self.socket(fd)?;
        let messages = match outgoing {
            Outgoing::Buffer { data, length, address, address_length } => {
                let raw = self.address(address, address_length)?;
                vec![OutgoingMessage {
                    destination: Some(self.destination(raw, true)?),
                    parts: vec![(data, length)],
                    control: Vec::new(),
                    length_at: None,
                }]
            }
            Outgoing::Header(header) => vec![self.message(header)?],
            Outgoing::Headers { first, count } => {
                let mut messages = Vec::new();
                for index in 0..u64::from(count.min(MAX_MESSAGES)) {
                    let header = first.offset(index * MMSGHDR_BYTES);
                    let mut message = match self.message(header) {
                        Ok(message) => message,
                        // What comes before a bad header is sent all the same.
                        Err(Unresolved::Errno(_)) if index > 0 => break,
                        Err(why) => return Err(why),
                    };
                    message.length_at = Some(header.offset(MSGHDR_BYTES));
                    messages.push(message);
                }
                messages
            }
        };
        Ok(SendRequest { socket, messages, flags })
    }

    /// Takes the socket out of the caller's table, once.
    fn socket(&self, fd: i32) -> Result<Socket, Unresolved> {
        let taken = self.descriptor(fd)?;
        self.notification.check()?;
        let option = |name| socket::option(taken.as_fd(), libc::SOL_SOCKET, name);
        let kind = option(libc::SO_TYPE)?;
        let flags = rustix::fs::fcntl_getfl(&taken).map_err(from_rustix)?;
        let blocking = !flags.contains(rustix::fs::OFlags::NONBLOCK);
        Ok(Socket { fd: taken, kind, blocking })
    }

    /// A duplicate of one of the caller's descriptors.
    fn descriptor(&self, fd: i32) -> Result<OwnedFd, Errno> {
        let task = &self.caller.task;
        take_descriptor(task.tid, task.tgid, fd).map_err(|errno| match errno {
            Errno::EBADF => Errno::EBADF,
            // Refused: the caller learns nothing about us, and nothing is sent.
            _ => Errno::EPERM,
        })
    }

    fn address(&self, at: Pointer, length: u32) -> Result<Vec<u8>, Unresolved> {
        if length > MAX_ADDRESS {
            return Err(Errno::EINVAL.into());
        }
        let raw = self.memory().bytes(at, length as usize);
        self.notification.check()?;
        Ok(raw?)
    }

    fn destination(&mut self, raw: Vec<u8>, sending: bool) -> Result<Destination, Unresolved> {
        let address = if sending { Address::parse_for_send(&raw) } else { Address::parse(&raw) };
        let address = address.ok_or(Errno::EINVAL)?;
        let mut place = None;
        let mut object = Object::default();
        let agent = !sending && address == Address::UnixPath(AGENT_SOCKET.into());
        if agent {
            let path = AGENT_SOCKET.as_bytes().to_vec();
            object = Object { requested: path.clone(), resolved: path, ..object };
        } else if let Address::UnixPath(path) = &address {
            let wish = Wish {
                follow_last: true,
                may_be_missing: false,
                parent: false,
                resolve: ResolveFlags::empty(),
            };
            let found = self.walk(libc::AT_FDCWD, path, wish)?;
            if found.directory_wanted && !found.is_directory() {
                return Err(Errno::ENOTDIR.into());
            }
            let (device, inode) = identity(&found);
            let resolved = self.caller.path_of(&found)?;
            object = Object { requested: path.clone(), resolved, device, inode };
            place = Some(found);
        }
        Ok(Destination { raw, address, place, object, agent })
    }

    /// Reads one msghdr: name, buffers and control, but not the data.
    fn message(&mut self, header: Pointer) -> Result<OutgoingMessage, Unresolved> {
        let bytes = self.memory().array::<{ MSGHDR_BYTES as usize }>(header)?;
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_ne_bytes(word)
        };
        let (name, name_length) = (Pointer(word(0)), word(1) as u32);
        let (vector, count) = (Pointer(word(2)), word(3));
        let (control, control_length) = (Pointer(word(4)), word(5));
        let destination = if name.is_null() || name_length == 0 {
            None
        } else {
            let raw = self.address(name, name_length.min(MAX_ADDRESS))?;
            Some(self.destination(raw, true)?)
        };
        if count > 1024 {
            return Err(Errno::EMSGSIZE.into());
        }
        if name_length.cast_signed() < 0 {
            return Err(Errno::EINVAL.into());
        }
        let vector = self.memory().bytes(vector, count as usize * 16)?;
        let parts = vector
            .chunks_exact(16)
            .map(|part| {
                let word = |from: usize| {
                    let mut word = [0; 8];
                    word.copy_from_slice(&part[from..from + 8]);
                    u64::from_ne_bytes(word)
                };
                (Pointer(word(0)), word(8))
            })
            .collect();
        let control = self.control(control, control_length)?;
        Ok(OutgoingMessage { destination, parts, control, length_at: None })
    }

    fn control(&self, at: Pointer, length: u64) -> Result<Vec<u8>, Unresolved> {
        const MAX_CONTROL: u64 = 20_480;
        if at.is_null() || length == 0 {
            return Ok(Vec::new());
        }
        if length > MAX_CONTROL {
            return Err(Errno::ENOBUFS.into());
        }
        let raw = self.memory().bytes(at, length as usize)?;
        self.notification.check()?;
        Ok(raw)
    }
}

/// A duplicate of a task's descriptor: the thread's own table where the kernel can tell (Linux 6.9),
/// the process's before.
pub(crate) fn take_descriptor(tid: i32, tgid: i32, fd: i32) -> Result<OwnedFd, Errno> {
    if fd < 0 {
        return Err(Errno::EBADF);
    }
    let open = |id: i32, flags: u32| {
        let pid = Pid::from_raw(id).ok_or(Errno::ESRCH)?;
        pidfd_open(pid, PidfdFlags::from_bits_retain(flags)).map_err(from_rustix)
    };
    let pidfd = open(tid, PIDFD_THREAD).or_else(|errno| match errno {
        Errno::EINVAL => open(tgid, 0),
        errno => Err(errno),
    })?;
    pidfd_getfd(&pidfd, fd, PidfdGetfdFlags::empty()).map_err(from_rustix)
}
