//! Socket calls on raw addresses and control messages: what is sent is the caller's own bytes,
//! copied once, never re-interpreted.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;

use super::cerr;

/// connect(2) with an address of raw bytes.
pub(crate) fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes at the pointer, all of them in the slice.
    cerr(unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) }).map(drop)
}

/// The address of a socket's file that we hold: that very file, whatever its names lead to.
pub(crate) fn address_of(file: BorrowedFd<'_>) -> Vec<u8> {
    let mut bytes = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    bytes.extend(format!("/proc/self/fd/{}\0", file.as_raw_fd()).into_bytes());
    bytes
}

/// bind(2) with an address of raw bytes.
pub(crate) fn bind(socket: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes at the pointer, all of them in the slice.
    cerr(unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), length) }).map(drop)
}

/// One message as sendmsg(2) takes it, all of it owned or borrowed by the supervisor.
pub(crate) struct Message<'a> {
    pub(crate) address: Option<&'a [u8]>,
    pub(crate) data: &'a [u8],
    pub(crate) control: &'a [u8],
}

/// sendmsg(2). The flags are the caller's plus MSG_NOSIGNAL.
pub(crate) fn send_message(
    socket: BorrowedFd<'_>,
    message: &Message<'_>,
    flags: i32,
) -> Result<usize, Errno> {
    let mut data = libc::iovec {
        iov_base: message.data.as_ptr().cast_mut().cast(),
        iov_len: message.data.len(),
    };
    // SAFETY: msghdr is plain data; all zeroes is its documented empty value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut data;
    header.msg_iovlen = 1;
    if let Some(address) = message.address {
        header.msg_name = address.as_ptr().cast_mut().cast();
        header.msg_namelen = address.len() as libc::socklen_t;
    }
    if !message.control.is_empty() {
        header.msg_control = message.control.as_ptr().cast_mut().cast();
        header.msg_controllen = message.control.len() as _;
    }
    // SAFETY: every pointer in the header names a live slice of the stated length, and sendmsg only
    // reads through them.
    let sent =
        unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, flags | libc::MSG_NOSIGNAL) };
    cerr(sent).map(isize::cast_unsigned)
}

/// Builds one control message as the kernel lays it out.
pub(crate) fn control_message(level: i32, kind: i32, payload: &[u8]) -> Vec<u8> {
    let header = size_of::<libc::cmsghdr>();
    let align = size_of::<usize>();
    let mut bytes = Vec::with_capacity((header + payload.len()).next_multiple_of(align));
    bytes.extend_from_slice(&(header + payload.len()).to_ne_bytes());
    bytes.extend_from_slice(&level.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(align), 0);
    bytes
}

/// An integer socket option.
pub(crate) fn option(socket: BorrowedFd<'_>, level: i32, name: i32) -> Result<i32, Errno> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: getsockopt writes at most `length` bytes at `value`; both outlive the call.
    cerr(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length)
    })?;
    Ok(value)
}

/// The supplementary groups of whoever connected (SO_PEERGROUPS).
pub(crate) fn peer_groups(socket: BorrowedFd<'_>) -> Result<Vec<u32>, Errno> {
    let mut groups: Vec<libc::gid_t> = vec![0; 64];
    loop {
        let mut length = size_of_val(groups.as_slice()) as libc::socklen_t;
        // SAFETY: getsockopt writes at most `length` bytes into the vector, which is that long.
        let got = cerr(unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut length,
            )
        });
        let count = length as usize / size_of::<libc::gid_t>();
        match got {
            Ok(_) => {
                groups.truncate(count);
                return Ok(groups);
            }
            // The kernel tells how many there are.
            Err(Errno::ERANGE) if count > groups.len() => groups.resize(count, 0),
            Err(errno) => return Err(errno),
        }
    }
}

/// recvmsg(2) into `buffer`; descriptors that came along are closed-on-exec and owned.
pub(crate) fn receive_with_descriptors(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut data = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = [0_u64; 16];
    // SAFETY: msghdr is plain data; all zeroes is its documented empty value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut data;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header names live buffers of the stated lengths, exclusively borrowed.
    let received =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) };
    let received = cerr(received).map_err(io::Error::from)?.cast_unsigned();
    let mut descriptors = Vec::new();
    // SAFETY: the kernel filled the control buffer; the CMSG macros walk within msg_controllen.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    while !message.is_null() {
        // SAFETY: `message` is non-null and points at a complete header inside `control`.
        let head = unsafe { &*message };
        if head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_RIGHTS {
            let bytes = head.cmsg_len as usize - size_of::<libc::cmsghdr>();
            for index in 0..bytes / size_of::<i32>() {
                // SAFETY: the payload holds `bytes` bytes of descriptors, each new and ours alone.
                descriptors.push(unsafe {
                    let raw = libc::CMSG_DATA(message).cast::<i32>().add(index).read_unaligned();
                    OwnedFd::from_raw_fd(raw)
                });
            }
        }
        // SAFETY: as above; returns null past the last message.
        message = unsafe { libc::CMSG_NXTHDR(&raw const header, message) };
    }
    Ok((received, descriptors))
}
