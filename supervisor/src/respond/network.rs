//! Network calls on behalf: the real connect or send, on the caller's own open socket, with the
//! address that was judged.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::signal::Signal;

use super::Means;
use crate::attach::session::Session;
use crate::attach::watch::Slot;
use crate::identity::{Peer, Process};
use crate::receive::Notification;
use crate::resolve::network::{
    BindRequest, ConnectRequest, Destination, OutgoingMessage, SendRequest, Socket, take_descriptor,
};
use crate::resolve::{Caller, Memory};
use crate::sys::from_rustix;
use crate::sys::socket::{self, Message};

/// Data is copied in pieces of this size on stream sockets.
const PIECE: usize = 256 * 1024;
/// Larger datagrams do not exist.
const MAX_DATAGRAM: u64 = 1 << 20;

pub(super) fn connect(
    request: &ConnectRequest,
    caller: &Caller,
    means: Means<'_>,
) -> Result<i64, Errno> {
    let address = wire_address(&request.destination);
    means.guise.wear(caller.credentials()?)?;
    let result = means.slot.interruptible(|| socket::connect(request.socket.fd.as_fd(), &address));
    means.guise.take_off()?;
    result.map(|()| 0)
}

/// Connects a program to its own supervisor, as nobody but the supervisor can.
pub(super) fn visit(
    request: &ConnectRequest,
    notification: &Notification<'_>,
    caller: &Caller,
    session: &Session,
    slot: &Slot,
) -> Result<i64, Errno> {
    let Some(entrance) = session.entrance() else { return Err(Errno::ECONNREFUSED) };
    let process = Process::open(caller.task.tgid)?;
    let uid = caller.credentials()?.uid;
    // Its task still waits, so the number was its own.
    notification.check().map_err(|_| Errno::ESRCH)?;
    let who = Peer::member(process, uid, entrance.membership.clone());
    let connect = || entrance.socket.connect(request.socket.fd.as_fd(), who);
    slot.interruptible(connect).map(|()| 0)
}

pub(super) fn bind(request: &BindRequest, caller: &Caller, means: Means<'_>) -> Result<i64, Errno> {
    if let Some(umask) = request.umask {
        means.guise.set_umask(umask);
    }
    let mut address = request.raw.clone();
    if let Some(place) = request.file.as_ref().map(|file| &file.place) {
        let parent = place.parent.as_ref().ok_or(Errno::EINVAL)?;
        // The worker's own working directory, so that the name fits however deep it is.
        rustix::process::fchdir(parent).map_err(from_rustix)?;
        address = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
        address.extend_from_slice(&place.name);
        address.push(0);
    }
    means.guise.wear(caller.credentials()?)?;
    let result = socket::bind(request.socket.fd.as_fd(), &address);
    means.guise.take_off()?;
    rustix::process::chdir("/").map_err(from_rustix)?;
    result.map(|()| 0)
}

pub(super) fn send(request: &SendRequest, caller: &Caller, means: Means<'_>) -> Result<i64, Errno> {
    if request.flags & libc::MSG_ZEROCOPY != 0 {
        // It would send our own pages, later; the kernel says this when it cannot pin any.
        return Err(Errno::ENOBUFS);
    }
    let many = request.messages.first().is_some_and(|message| message.length_at.is_some());
    let mut sent_messages = 0;
    for message in &request.messages {
        let control = Control::rebuild(message, caller)?;
        means.guise.wear(caller.credentials()?)?;
        let sent = means
            .slot
            .interruptible(|| one(&request.socket, message, &control.bytes, request.flags, caller));
        means.guise.take_off()?;
        let sent = match sent {
            Err(Errno::EPIPE) => {
                broken_pipe(request, caller);
                Err(Errno::EPIPE)
            }
            other => other,
        };
        match (many, sent) {
            (false, sent) => return sent,
            (true, Err(errno)) if sent_messages == 0 => return Err(errno),
            (true, Err(_)) => break,
            (true, Ok(length)) => {
                if let Some(at) = message.length_at {
                    write_length(caller.task.tid, at.0, length)?;
                }
                sent_messages += 1;
            }
        }
    }
    Ok(sent_messages)
}

/// Sends one message, in pieces where the socket is a stream.
fn one(
    socket: &Socket,
    message: &OutgoingMessage,
    control: &[u8],
    flags: i32,
    caller: &Caller,
) -> Result<i64, Errno> {
    let memory = Memory::of(caller.task.tid);
    let address = message.destination.as_ref().map(wire_address);
    let total: u64 = message.parts.iter().map(|(_, length)| *length).sum();
    let stream = socket.kind == libc::SOCK_STREAM;
    if !stream && total > MAX_DATAGRAM {
        return Err(Errno::EMSGSIZE);
    }
    let mut sent: u64 = 0;
    loop {
        let piece = if stream { PIECE } else { total as usize };
        let data = gather(memory, &message.parts, sent, piece)?;
        let outgoing = Message {
            address: address.as_deref(),
            data: &data,
            // Descriptors ride on the first piece only.
            control: if sent == 0 { control } else { &[] },
        };
        match socket::send_message(socket.fd.as_fd(), &outgoing, flags) {
            Ok(length) => sent += length as u64,
            Err(errno) if sent == 0 => return Err(errno),
            Err(_) => return Ok(sent.cast_signed()),
        }
        let waits = socket.blocking && flags & libc::MSG_DONTWAIT == 0;
        if !stream || sent >= total || !waits {
            return Ok(sent.cast_signed());
        }
    }
}

/// Copies up to `limit` bytes of the caller's buffers, `skip` bytes in.
fn gather(
    memory: Memory,
    parts: &[(crate::decode::Pointer, u64)],
    mut skip: u64,
    limit: usize,
) -> Result<Vec<u8>, Errno> {
    let mut data = Vec::new();
    for (pointer, length) in parts {
        if skip >= *length {
            skip -= length;
            continue;
        }
        let wanted = ((length - skip) as usize).min(limit - data.len());
        data.extend(memory.bytes(pointer.offset(skip), wanted)?);
        skip = 0;
        if data.len() == limit {
            break;
        }
    }
    Ok(data)
}

/// The address as it goes to the kernel: a pinned Unix socket goes by our descriptor of it, so that
/// it is the judged one whatever its path leads to by now.
fn wire_address(destination: &Destination) -> Vec<u8> {
    let Some(object) = destination.place.as_ref().and_then(|place| place.object.as_ref()) else {
        return destination.raw.clone();
    };
    socket::address_of(object.as_fd())
}

/// Control messages that cannot redirect a packet, rebuilt: descriptors are translated to our own
/// duplicates, which live until the send is over.
struct Control {
    bytes: Vec<u8>,
    _held: Vec<OwnedFd>,
}

impl Control {
    fn rebuild(message: &OutgoingMessage, caller: &Caller) -> Result<Self, Errno> {
        const HEADER: usize = size_of::<libc::cmsghdr>();
        let mut bytes = Vec::new();
        let mut held = Vec::new();
        let mut rest = &message.control[..];
        while let Some((head, _)) = rest.split_at_checked(HEADER) {
            let length = usize::from_ne_bytes(head[..8].try_into().map_err(|_| Errno::EINVAL)?);
            let level = i32::from_ne_bytes(head[8..12].try_into().map_err(|_| Errno::EINVAL)?);
            let kind = i32::from_ne_bytes(head[12..].try_into().map_err(|_| Errno::EINVAL)?);
            let payload = rest.get(HEADER..length).ok_or(Errno::EINVAL)?;
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                    let first = held.len();
                    take_all(payload, caller, &mut held)?;
                    let numbers: Vec<u8> =
                        held[first..].iter().flat_map(|fd| fd.as_raw_fd().to_ne_bytes()).collect();
                    bytes.extend(socket::control_message(level, kind, &numbers));
                }
                // The kernel fills credentials in for receivers that want them.
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) => {}
                _ if is_harmless(level, kind) => {
                    bytes.extend(socket::control_message(level, kind, payload));
                }
                _ => return Err(Errno::EPERM),
            }
            rest = rest.get(length.next_multiple_of(8)..).unwrap_or_default();
        }
        Ok(Self { bytes, _held: held })
    }
}

fn take_all(payload: &[u8], caller: &Caller, held: &mut Vec<OwnedFd>) -> Result<(), Errno> {
    for bytes in payload.chunks_exact(4) {
        let number = i32::from_ne_bytes(bytes.try_into().map_err(|_| Errno::EINVAL)?);
        held.push(take_descriptor(caller.task.tid, caller.task.tgid, number)?);
    }
    Ok(())
}

fn is_harmless(level: i32, kind: i32) -> bool {
    match level {
        libc::SOL_IP => matches!(kind, libc::IP_TOS | libc::IP_TTL | libc::IP_PKTINFO),
        libc::SOL_IPV6 => {
            matches!(kind, libc::IPV6_PKTINFO | libc::IPV6_HOPLIMIT | libc::IPV6_TCLASS)
        }
        libc::SOL_UDP => kind == libc::UDP_SEGMENT,
        _ => false,
    }
}

/// A broken pipe signals the caller, as the kernel would have.
fn broken_pipe(request: &SendRequest, caller: &Caller) {
    let stream = matches!(request.socket.kind, libc::SOCK_STREAM | libc::SOCK_SEQPACKET);
    if stream && request.flags & libc::MSG_NOSIGNAL == 0 {
        let task = &caller.task;
        let _ = crate::sys::signal::signal_thread(task.tgid, task.tid, Signal::SIGPIPE);
    }
}

fn write_length(tid: i32, at: u64, length: i64) -> Result<(), Errno> {
    use nix::sys::uio::{RemoteIoVec, process_vm_writev};
    let bytes = (length as u32).to_ne_bytes();
    let remote = RemoteIoVec { base: at as usize, len: bytes.len() };
    process_vm_writev(nix::unistd::Pid::from_raw(tid), &[std::io::IoSlice::new(&bytes)], &[remote])
        .map(drop)
        .map_err(|_| Errno::EFAULT)
}
