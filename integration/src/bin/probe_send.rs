//! A table of sends; the section to run is the argument.
#![allow(unsafe_code, clippy::expect_used)]

use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use integration::raw::{Address, Word, alarm_in, call, handle};
use integration::sys;
use libc::*;

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(_: c_int) {
    SIGNALS.fetch_add(1, Ordering::SeqCst);
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("datagrams") => datagrams(),
        Some("many") => many(),
        Some("unix") => unix(),
        Some("rights") => rights(),
        Some("pipe") => broken_pipe(),
        Some("large") => large(),
        Some("full") => full(),
        Some("stream") => stream(),
        other => println!("no section {other:?}"),
    }
}

/// A message header over these parts, with an address and control bytes where given.
fn header(address: Option<&Address>, parts: &[&[u8]], control: &[u8]) -> (msghdr, Vec<iovec>) {
    let vector: Vec<iovec> = parts
        .iter()
        .map(|part| iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() })
        .collect();
    // SAFETY: a zeroed msghdr is a valid one.
    let mut header: msghdr = unsafe { std::mem::zeroed() };
    if let Some(address) = address {
        header.msg_name = address.pointer().cast_mut().cast();
        header.msg_namelen = address.length();
    }
    header.msg_iov = vector.as_ptr().cast_mut();
    header.msg_iovlen = vector.len();
    if !control.is_empty() {
        header.msg_control = control.as_ptr().cast_mut().cast();
        header.msg_controllen = control.len();
    }
    (header, vector)
}

fn receive_all(socket: &UdpSocket) {
    socket.set_nonblocking(true).expect("non-blocking");
    let mut bytes = [0; 256];
    while let Ok(length) = socket.recv(&mut bytes) {
        println!("    received {}", bytes[..length].escape_ascii());
    }
}

fn datagrams() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("server");
    let address = Address::four([127, 0, 0, 1], server.local_addr().expect("address").port());
    let socket = sys!(SYS_socket, AF_INET, SOCK_DGRAM, 0);
    sys!(SYS_sendto, socket, c"one", 3, 0, address.pointer(), address.length());
    sys!(SYS_sendto, socket, c"", 0, 0, address.pointer(), address.length());
    let family = Address::raw(AF_UNSPEC, &address_tail(&address));
    sys!(SYS_sendto, socket, c"unspec", 6, 0, family.pointer(), family.length());
    let (to, _parts) = header(Some(&address), &[b"par", b"", b"ts"], &[]);
    sys!(SYS_sendmsg, socket, &raw const to, 0);
    let (nowhere, _parts) = header(None, &[b"x"], &[]);
    sys!(SYS_sendmsg, socket, &raw const nowhere, 0);
    sys!(SYS_sendto, socket, 8, 3, 0, address.pointer(), address.length());
    sys!(SYS_sendto, socket, c"oob", 3, MSG_OOB, address.pointer(), address.length());
    let big = vec![b'b'; 70_000];
    sys!(SYS_sendto, socket, big.as_ptr(), 65_507, 0, address.pointer(), address.length());
    sys!(SYS_sendto, socket, big.as_ptr(), 65_508, 0, address.pointer(), address.length());
    sys!(SYS_sendto, socket, big.as_ptr(), 70_000, 0, address.pointer(), address.length());
    let (mut odd, _parts) = header(Some(&address), &[b"x"], &[]);
    odd.msg_iovlen = 1025;
    sys!(SYS_sendmsg, socket, &raw const odd, 0);
    odd.msg_iovlen = 0;
    sys!(SYS_sendmsg, socket, &raw const odd, 0);
    odd.msg_namelen = 500;
    sys!(SYS_sendmsg, socket, &raw const odd, 0);
    odd.msg_namelen = u32::MAX;
    sys!(SYS_sendmsg, socket, &raw const odd, 0);
    sys!(SYS_connect, socket, address.pointer(), address.length());
    sys!(SYS_sendmsg, socket, &raw const nowhere, 0);
    sys!(SYS_sendto, socket, c"again", 5, MSG_DONTWAIT, address.pointer(), address.length());
    receive_all(&server);
    let closed = Address::four([127, 0, 0, 1], 1);
    sys!(SYS_sendto, socket, c"x", 1, 0, closed.pointer(), closed.length());
    sys!(SYS_sendto, socket, c"x", 1, 0, closed.pointer(), closed.length());
}

fn address_tail(address: &Address) -> Vec<u8> {
    // SAFETY: the address owns that many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(address.pointer(), address.length() as usize) };
    bytes[2..].to_vec()
}

fn many() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("server");
    let address = Address::four([127, 0, 0, 1], server.local_addr().expect("address").port());
    let socket = sys!(SYS_socket, AF_INET, SOCK_DGRAM, 0);
    let (a, _a) = header(Some(&address), &[b"first"], &[]);
    let (b, _b) = header(Some(&address), &[b"sec", b"ond"], &[]);
    let (c, _c) = header(None, &[b"third"], &[]);
    let (d, _d) = header(Some(&address), &[b"fourth"], &[]);
    let mut batch: Vec<mmsghdr> =
        [a, b, c, d].into_iter().map(|msg_hdr| mmsghdr { msg_hdr, msg_len: 99 }).collect();
    sys!(SYS_sendmmsg, socket, batch.as_mut_ptr(), 4, 0);
    println!("    {:?}", batch.iter().map(|message| message.msg_len).collect::<Vec<_>>());
    sys!(SYS_sendmmsg, socket, batch.as_mut_ptr(), 0, 0);
    sys!(SYS_sendmmsg, socket, &raw mut batch[2], 1, 0);
    sys!(SYS_sendmmsg, socket, batch.as_mut_ptr(), 2, 0);
    println!("    {:?}", batch.iter().map(|message| message.msg_len).collect::<Vec<_>>());
    batch[1].msg_hdr.msg_iovlen = 4000;
    sys!(SYS_sendmmsg, socket, batch.as_mut_ptr(), 2, 0);
    receive_all(&server);
}

fn unix() {
    let _server = UnixDatagram::bind("server").expect("server");
    let socket = sys!(SYS_socket, AF_UNIX, SOCK_DGRAM, 0);
    for path in ["server", "absent", "./server"] {
        let address = Address::unix(path.as_bytes());
        sys!(SYS_sendto, socket, c"one", 3, 0, address.pointer(), address.length());
        let (to, _parts) = header(Some(&address), &[b"two"], &[]);
        sys!(SYS_sendmsg, socket, &raw const to, 0);
    }
    let bound = Address::unix(b"client");
    sys!(SYS_bind, socket, bound.pointer(), bound.length());
    let address = Address::unix(b"server");
    sys!(SYS_sendto, socket, c"named", 5, 0, address.pointer(), address.length());
    let mut bytes = [0; 16];
    for _ in 0..5 {
        let (length, from) = _server.recv_from(&mut bytes).expect("received");
        println!("    {} from {:?}", bytes[..length].escape_ascii(), from.as_pathname());
    }
    sys!(SYS_unlink, c"server");
    sys!(SYS_sendto, socket, c"gone", 4, 0, address.pointer(), address.length());
}

fn rights() {
    let (ours, theirs) = UnixStream::pair().expect("pair");
    std::fs::write("passed", "through").expect("file");
    let file = std::fs::File::open("passed").expect("file");
    for descriptors in [vec![file.as_raw_fd()], vec![file.as_raw_fd(), 1, 2], vec![99], vec![-1]] {
        let count = descriptors.len();
        let mut control = vec![0_u64; 2 + count.div_ceil(2)];
        control[0] = 16 + 4 * count as u64;
        control[1] = (SOL_SOCKET as u64) | (SCM_RIGHTS as u64) << 32;
        let raw: Vec<u8> = descriptors.iter().flat_map(|fd| fd.to_ne_bytes()).collect();
        let mut bytes: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes[16..16 + raw.len()].copy_from_slice(&raw);
        let (to, _parts) = header(None, &[b"fds"], &bytes);
        if sys!(SYS_sendmsg, ours.as_raw_fd(), &raw const to, 0) > 0 {
            receive_rights(theirs.as_raw_fd());
        }
    }
}

fn receive_rights(socket: i32) {
    let mut data = [0_u8; 8];
    let control = [0_u64; 16];
    let mut part = iovec { iov_base: data.as_mut_ptr().cast(), iov_len: 8 };
    // SAFETY: a zeroed msghdr is a valid one.
    let mut header: msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_ptr().cast_mut().cast();
    header.msg_controllen = 128;
    sys!(SYS_recvmsg, socket, &raw mut header, 0);
    println!("    {} control bytes, first {:#x}", header.msg_controllen, control[0]);
    let count = (control[0].saturating_sub(16) / 4) as usize;
    for index in 0..count {
        let fd = (control[2 + index / 2] >> (32 * (index % 2))) as u32 as i64;
        if index == 0 {
            integration::raw::describe(fd);
        } else {
            sys!(SYS_close, fd);
        }
    }
}

fn broken_pipe() {
    handle(SIGPIPE, on_signal, 0);
    let (ours, theirs) = UnixStream::pair().expect("pair");
    drop(theirs);
    let (to, _parts) = header(None, &[b"x"], &[]);
    let socket = ours.as_raw_fd();
    sys!(SYS_sendmsg, socket, &raw const to, 0);
    println!("signals {}", SIGNALS.load(Ordering::SeqCst));
    sys!(SYS_sendmsg, socket, &raw const to, MSG_NOSIGNAL);
    println!("signals {}", SIGNALS.load(Ordering::SeqCst));
    let mut batch = mmsghdr { msg_hdr: to, msg_len: 0 };
    sys!(SYS_sendmmsg, socket, &raw mut batch, 1, 0);
    println!("signals {}", SIGNALS.load(Ordering::SeqCst));
    let (one, two) = UnixDatagram::pair().expect("pair");
    drop(two);
    sys!(SYS_sendmsg, one.as_raw_fd(), &raw const to, 0);
    println!("signals {}", SIGNALS.load(Ordering::SeqCst));
    let unconnected = sys!(SYS_socket, AF_INET, SOCK_STREAM, 0);
    sys!(SYS_sendmsg, unconnected, &raw const to, 0);
    println!("signals {}", SIGNALS.load(Ordering::SeqCst));
    // SAFETY: the child only makes system calls.
    let child = unsafe { fork() };
    if child == 0 {
        let _ = call(SYS_rt_sigaction, &[SIGPIPE.word(), [0_u64; 4].as_ptr().word(), 0, 8]);
        let _ = call(SYS_sendmsg, &[socket.word(), (&raw const to).word(), 0]);
        let _ = call(SYS_exit_group, &[3]);
    }
    let mut status = 0;
    let _ = call(SYS_wait4, &[child.word(), (&raw mut status).word(), 0, 0]);
    println!("a child without a handler ends with {status:#x}");
}

fn large() {
    let (ours, mut theirs) = UnixStream::pair().expect("pair");
    let data: Vec<u8> = (0..8 << 20).map(|index: u32| (index % 251) as u8).collect();
    let expected = data.clone();
    let reader = std::thread::spawn(move || {
        let mut received = Vec::new();
        std::io::Read::read_to_end(&mut theirs, &mut received).expect("read");
        received == expected
    });
    let (to, _parts) = header(None, &[&data[..5_000_001], &data[5_000_001..]], &[]);
    sys!(SYS_sendmsg, ours.as_raw_fd(), &raw const to, 0);
    drop(ours);
    println!("all of it arrived: {}", reader.join().expect("reader"));
}

/// Nobody reads: a send that waits is interrupted, one that does not wait sends what fits.
fn full() {
    handle(SIGALRM, on_signal, 0);
    let (ours, _theirs) = UnixStream::pair().expect("pair");
    let data = vec![1_u8; 4 << 20];
    let (to, _parts) = header(None, &[&data], &[]);
    let socket = ours.as_raw_fd();
    alarm_in(Duration::from_millis(150));
    let sent = call(SYS_sendmsg, &[socket.word(), (&raw const to).word(), 0]);
    println!("sent a part: {}", sent > 0 && sent < 4 << 20);
    alarm_in(Duration::from_millis(150));
    sys!(SYS_sendmsg, socket, &raw const to, 0);
    println!("signals {}", SIGNALS.load(Ordering::SeqCst));
    sys!(SYS_sendmsg, socket, &raw const to, MSG_DONTWAIT);
    let limit = timeval { tv_sec: 0, tv_usec: 100_000 };
    sys!(SYS_setsockopt, socket, SOL_SOCKET, SO_SNDTIMEO, &raw const limit, 16);
    sys!(SYS_sendmsg, socket, &raw const to, 0);
}

fn stream() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
    let address = Address::four([127, 0, 0, 1], listener.local_addr().expect("address").port());
    let socket = sys!(SYS_socket, AF_INET, SOCK_STREAM, 0);
    sys!(SYS_connect, socket, address.pointer(), address.length());
    let (mut stream, _) = listener.accept().expect("accepted");
    let (to, _parts) = header(None, &[b"with", b"out"], &[]);
    sys!(SYS_sendmsg, socket, &raw const to, 0);
    let (to, _parts) = header(Some(&address), &[b"address"], &[]);
    sys!(SYS_sendmsg, socket, &raw const to, 0);
    sys!(SYS_sendmsg, socket, &raw const to, MSG_MORE);
    sys!(SYS_shutdown, socket, SHUT_WR);
    sys!(SYS_sendmsg, socket, &raw const to, MSG_NOSIGNAL);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).expect("read");
    println!("    {text}");
}
