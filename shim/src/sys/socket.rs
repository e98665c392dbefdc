//! The Unix stream socket to the daemon.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr;

use super::check;

/// What comes before the path in a `sockaddr_un`.
const FAMILY_SIZE: usize = mem::size_of::<libc::sa_family_t>();

/// Connects to `path` without blocking; a full backlog is `WouldBlock`.
pub(crate) fn connect(path: &str) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket takes integers only.
    let number = check(unsafe { libc::socket(libc::AF_UNIX, kind, 0) }.into())?;
    // SAFETY: the call above returned this open fd, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(number as i32) };
    // SAFETY: sockaddr_un is plain integers, for which all zeroes is a value.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if path.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    for (slot, byte) in address.sun_path.iter_mut().zip(path.bytes()) {
        *slot = byte as libc::c_char;
    }
    let size = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the size describe `address`, whose path ends with a NUL.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), size) }.into())?;
    Ok(socket)
}

/// Whether `fd` is a Unix stream socket with a peer.
pub(crate) fn is_connected_unix_stream(fd: BorrowedFd<'_>) -> bool {
    let option = |name| {
        let mut value: libc::c_int = -1;
        let mut size = mem::size_of_val(&value) as libc::socklen_t;
        let place = (&raw mut value).cast();
        // SAFETY: getsockopt writes at most `size` bytes to `place`, which is one int of that size.
        unsafe { libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, name, place, &raw mut size) };
        value
    };
    // SAFETY: sockaddr_un is plain integers, for which all zeroes is a value.
    let mut peer: libc::sockaddr_un = unsafe { mem::zeroed() };
    let mut size = mem::size_of_val(&peer) as libc::socklen_t;
    option(libc::SO_DOMAIN) == libc::AF_UNIX
        && option(libc::SO_TYPE) == libc::SOCK_STREAM
        // SAFETY: getpeername writes at most `size` bytes to `peer`, which has that size.
        && unsafe { libc::getpeername(fd.as_raw_fd(), (&raw mut peer).cast(), &raw mut size) } == 0
}

/// The path that the peer's listener was bound to, if it was bound to one.
pub(crate) fn peer_path(fd: BorrowedFd<'_>) -> Option<PathBuf> {
    // SAFETY: sockaddr_un is plain integers, for which all zeroes is a value.
    let mut peer: libc::sockaddr_un = unsafe { mem::zeroed() };
    let mut size = mem::size_of_val(&peer) as libc::socklen_t;
    // SAFETY: getpeername writes at most `size` bytes to `peer`, which has that size.
    let got = unsafe { libc::getpeername(fd.as_raw_fd(), (&raw mut peer).cast(), &raw mut size) };
    check(got.into()).ok()?;
    let length = (size as usize).min(mem::size_of_val(&peer)).saturating_sub(FAMILY_SIZE);
    let bytes = peer.sun_path.iter().take(length).map(|byte| *byte as u8);
    let path: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    (!path.is_empty()).then(|| OsString::from_vec(path).into())
}

/// Sends what fits now; `WouldBlock` when nothing does.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the pointer and the length describe one live slice that the kernel only reads.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    check(sent as libc::c_long).map(|sent| sent as usize)
}

/// Room for one control message with one fd, aligned as `cmsghdr` must be.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Like [`send`], with a duplicate of `passed` riding on the first byte.
pub(crate) fn send_with_fd(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    passed: BorrowedFd<'_>,
) -> io::Result<usize> {
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: msghdr is integers and pointers, for which all zeroes is a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    let size = mem::size_of::<libc::c_int>() as libc::c_uint;
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute; 4 bytes need 24 of the 64 bytes of `control`, so
    // CMSG_FIRSTHDR is non-null and CMSG_DATA has room for one int, written unaligned.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        ptr::write_unaligned(libc::CMSG_DATA(header).cast(), passed.as_raw_fd());
    }
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: `message` points at `part` and `control`, alive here; `part` is only read by sendmsg.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) };
    check(sent as libc::c_long).map(|sent| sent as usize)
}

/// Receives what is there now: 0 is the end of the stream, `WouldBlock` is nothing yet. An fd that
/// the peer might attach is never received, since no control buffer is given.
pub(crate) fn receive(socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length describe one live, exclusively borrowed slice.
    let got = unsafe {
        libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT)
    };
    check(got as libc::c_long).map(|got| got as usize)
}
