//! A table of connects and sends; the section to run is the argument.
#![allow(unsafe_code, clippy::expect_used)]

use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
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
        Some("tcp") => tcp(),
        Some("six") => six(),
        Some("unix") => unix(),
        Some("abstract") => abstract_names(),
        Some("lengths") => lengths(),
        Some("backlog") => full_backlog(),
        Some("udp") => unspecified(),
        Some("peer") => peer(),
        other => println!("no section {other:?}"),
    }
}

/// Connects a new socket, tells the result, and closes it.
fn connect(kind: c_int, address: &Address) -> i64 {
    let socket = call(SYS_socket, &[address.family().word(), kind.word(), 0]);
    let result = sys!(SYS_connect, socket, address.pointer(), address.length());
    let mut error = 0_i32;
    let size = 4_u32;
    let mut poll = pollfd { fd: socket as i32, events: POLLOUT, revents: 0 };
    let _ = call(SYS_poll, &[(&raw mut poll).word(), 1, 1000]);
    let (at, size_at) = ((&raw mut error).word(), (&raw const size).word());
    let _ = call(SYS_getsockopt, &[socket.word(), SOL_SOCKET.word(), SO_ERROR.word(), at, size_at]);
    println!("    SO_ERROR {error}, poll {:#x}", poll.revents);
    let _ = call(SYS_close, &[socket.word()]);
    result
}

fn tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
    let port = listener.local_addr().expect("address").port();
    let closed = TcpListener::bind("127.0.0.1:0").expect("closed");
    let refused = closed.local_addr().expect("address").port();
    drop(closed);
    for host in [[127, 0, 0, 1], [0, 0, 0, 0], [127, 1, 2, 3]] {
        println!("{host:?}");
        connect(SOCK_STREAM, &Address::four(host, port));
        connect(SOCK_STREAM | SOCK_NONBLOCK, &Address::four(host, port));
        connect(SOCK_STREAM, &Address::four(host, refused));
        connect(SOCK_STREAM | SOCK_NONBLOCK, &Address::four(host, refused));
        connect(SOCK_DGRAM, &Address::four(host, port));
    }
    connect(SOCK_STREAM, &Address::four([127, 0, 0, 1], 0));
    connect(SOCK_STREAM, &Address::four([255, 255, 255, 255], port));
    let address = Address::four([127, 0, 0, 1], port);
    let socket = sys!(SYS_socket, AF_INET, SOCK_STREAM, 0);
    sys!(SYS_connect, socket, address.pointer(), address.length());
    sys!(SYS_connect, socket, address.pointer(), address.length());
    sys!(SYS_sendto, socket, c"hello", 5, 0, address.pointer(), address.length());
    let mut name = [0_u8; 128];
    let size = 128_u32;
    sys!(SYS_getpeername, socket, name.as_mut_ptr(), &raw const size);
    println!("    peer port is right: {}", name[2..4] == port.to_be_bytes());
    sys!(SYS_connect, listener.as_raw_fd(), address.pointer(), address.length());
    let unspecified = Address::raw(AF_UNSPEC, &[0; 14]);
    sys!(SYS_connect, socket, unspecified.pointer(), unspecified.length());
}

fn six() {
    let listener = TcpListener::bind("[::]:0").expect("listener");
    let port = listener.local_addr().expect("address").port();
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1];
    let mut own = [0; 16];
    own[15] = 1;
    for host in [own, [0; 16], mapped] {
        println!("{host:?}");
        connect(SOCK_STREAM, &Address::six(host, port));
        connect(SOCK_STREAM | SOCK_NONBLOCK, &Address::six(host, port));
        connect(SOCK_DGRAM, &Address::six(host, port));
        connect(SOCK_STREAM, &Address::six(host, 1));
    }
    let six = sys!(SYS_socket, AF_INET6, SOCK_STREAM, 0);
    let four = Address::four([127, 0, 0, 1], port);
    sys!(SYS_connect, six, four.pointer(), four.length());
    let socket = sys!(SYS_socket, AF_INET, SOCK_STREAM, 0);
    let address = Address::six(own, port);
    sys!(SYS_connect, socket, address.pointer(), address.length());
    sys!(SYS_connect, six, address.pointer(), 24);
    sys!(SYS_connect, six, address.pointer(), 27);
}

fn unix() {
    std::fs::create_dir("d").expect("d");
    std::fs::write("file", "").expect("file");
    let _stream = UnixListener::bind("d/stream").expect("stream");
    let _datagram = UnixDatagram::bind("datagram").expect("datagram");
    drop(UnixListener::bind("dead").expect("dead"));
    std::os::unix::fs::symlink("d/stream", "link").expect("link");
    std::os::unix::fs::symlink("loop", "loop").expect("loop");
    let absolute = std::env::current_dir().expect("directory").join("d/stream");
    let absolute = absolute.to_str().expect("text").to_owned();
    for path in [
        &absolute,
        "d/stream",
        "./d/../d/stream",
        "link",
        "datagram",
        "dead",
        "absent",
        "absent/x",
        "file",
        "file/x",
        "d",
        "loop",
        "d/stream/",
    ] {
        println!("{}", if path == absolute { "absolute" } else { path });
        connect(SOCK_STREAM, &Address::unix(path.as_bytes()));
        connect(SOCK_DGRAM, &Address::unix(path.as_bytes()));
        connect(SOCK_SEQPACKET, &Address::unix(path.as_bytes()));
        connect(SOCK_STREAM | SOCK_NONBLOCK, &Address::unix(path.as_bytes()));
    }
    let long = format!("{}d/stream", "./".repeat(50));
    connect(SOCK_STREAM, &Address::raw(AF_UNIX, &long.as_bytes()[..108]));
    connect(SOCK_STREAM, &Address::raw(AF_UNIX, b"d/stream"));
    connect(SOCK_STREAM, &Address::raw(AF_UNIX, b""));
    sys!(SYS_chdir, c"d");
    connect(SOCK_STREAM, &Address::unix(b"stream"));
}

fn abstract_names() {
    let own = std::process::id();
    let name = format!("\0outcall-probe-{own}");
    let odd = format!("\0outcall\0probe-{own}");
    for name in [name.as_bytes(), odd.as_bytes()] {
        connect(SOCK_STREAM, &Address::raw(AF_UNIX, name));
        let socket = sys!(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
        let address = Address::raw(AF_UNIX, name);
        sys!(SYS_bind, socket, address.pointer(), address.length());
        sys!(SYS_listen, socket, 5);
        connect(SOCK_STREAM, &address);
        connect(SOCK_STREAM, &Address::raw(AF_UNIX, &[name, b"\0"].concat()));
        connect(SOCK_DGRAM, &address);
    }
}

fn lengths() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
    let port = listener.local_addr().expect("address").port();
    let address = Address::four([127, 0, 0, 1], port);
    let socket = sys!(SYS_socket, AF_INET, SOCK_STREAM, 0);
    for length in [0_u32, 1, 2, 8, 15, 129, 4096, u32::MAX] {
        println!("length {length}");
        sys!(SYS_connect, socket, address.pointer(), length);
        let datagram = call(SYS_socket, &[AF_INET.word(), SOCK_DGRAM.word(), 0]);
        sys!(SYS_sendto, datagram, c"x", 1, 0, address.pointer(), length);
        let _ = call(SYS_close, &[datagram.word()]);
    }
    sys!(SYS_connect, socket, 0, 16);
    sys!(SYS_connect, socket, 8, 16);
    sys!(SYS_connect, -1, address.pointer(), 16);
    sys!(SYS_connect, 99, address.pointer(), 16);
    sys!(SYS_connect, 1, address.pointer(), 16);
    sys!(SYS_connect, 99, 8, 16);
    std::fs::write("file", "").expect("file");
    let file = sys!(SYS_open, c"file", O_RDWR);
    let pathed = sys!(SYS_open, c"file", O_PATH);
    sys!(SYS_connect, file, address.pointer(), 16);
    sys!(SYS_connect, pathed, address.pointer(), 16);
    sys!(SYS_sendto, file, c"x", 1, 0, address.pointer(), 16);
    sys!(SYS_sendto, 99, c"x", 1, 0, address.pointer(), 16);
    sys!(SYS_sendmsg, 99, 8, 0);
    sys!(SYS_sendmsg, file, 8, 0);
    sys!(SYS_sendmsg, socket, 8, 0);
    sys!(SYS_sendmmsg, socket, 8, 1, 0);
    sys!(SYS_connect, socket, Address::raw(77, &[0; 14]).pointer(), 16);
    sys!(SYS_connect, socket, address.pointer(), 128);
}

/// A Unix connect waits while the queue is full, and a signal interrupts it.
fn full_backlog() {
    handle(SIGALRM, on_signal, 0);
    let socket = sys!(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    let address = Address::unix(b"full");
    sys!(SYS_bind, socket, address.pointer(), address.length());
    sys!(SYS_listen, socket, 0);
    let queued = call(SYS_socket, &[AF_UNIX.word(), SOCK_STREAM.word(), 0]);
    sys!(SYS_connect, queued, address.pointer(), address.length());
    connect(SOCK_STREAM | SOCK_NONBLOCK, &address);
    let began = std::time::Instant::now();
    let waiting = sys!(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    alarm_in(Duration::from_millis(100));
    sys!(SYS_connect, waiting, address.pointer(), address.length());
    let took = began.elapsed();
    println!("in time {}", took.as_millis() > 90 && took.as_millis() < 600);
    println!("signals {}", SIGNALS.load(Ordering::SeqCst));
    let limit = timeval { tv_sec: 0, tv_usec: 100_000 };
    sys!(SYS_setsockopt, waiting, SOL_SOCKET, SO_SNDTIMEO, &raw const limit, 16);
    sys!(SYS_connect, waiting, address.pointer(), address.length());
    sys!(SYS_accept, socket, 0, 0);
    sys!(SYS_connect, waiting, address.pointer(), address.length());
}

fn unspecified() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("server");
    let address = Address::four([127, 0, 0, 1], server.local_addr().expect("address").port());
    let none = Address::raw(AF_UNSPEC, &[0; 14]);
    let socket = sys!(SYS_socket, AF_INET, SOCK_DGRAM, 0);
    sys!(SYS_sendto, socket, c"x", 1, 0, 0, 0);
    sys!(SYS_connect, socket, address.pointer(), address.length());
    sys!(SYS_sendto, socket, c"one", 3, 0, 0, 0);
    sys!(SYS_connect, socket, none.pointer(), none.length());
    sys!(SYS_sendto, socket, c"two", 3, 0, 0, 0);
    sys!(SYS_connect, socket, none.pointer(), 2);
    sys!(SYS_connect, socket, none.pointer(), 1);
    let mut bytes = [0; 16];
    println!("{:?} {}", server.recv(&mut bytes).map_err(|e| e.kind()), bytes.escape_ascii());
}

/// The server sees the caller's own ids, not the supervisor's. (The process id that it sees is the
/// supervisor's: the kernel takes it from whoever makes the call.)
fn peer() {
    let listener = UnixListener::bind("s").expect("listener");
    let _ = call(SYS_chmod, &[c"s".word(), 0o777]);
    let _ = call(SYS_chmod, &[c".".word(), 0o777]);
    // SAFETY: the child only makes system calls.
    let child = unsafe { fork() };
    if child == 0 {
        sys!(SYS_setresgid, 65533, 65533, 65533);
        sys!(SYS_setresuid, 65534, 65534, 65534);
        let address = Address::unix(b"s");
        let socket = sys!(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
        let (at, length) = (address.pointer(), address.length());
        let _ = call(SYS_connect, &[socket.word(), at.word(), length.word()]);
        let _ = call(SYS_pause, &[]);
    }
    let (stream, _) = listener.accept().expect("accepted");
    let credentials = [0_u32; 3];
    let size = 12_u32;
    let at = (credentials.as_ptr(), &raw const size);
    sys!(SYS_getsockopt, stream.as_raw_fd(), SOL_SOCKET, SO_PEERCRED, at.0, at.1);
    println!("peer {}:{}", credentials[1], credentials[2]);
    let _ = call(SYS_kill, &[child.word(), SIGKILL.word()]);
    let _ = call(SYS_wait4, &[child.word(), 0, 0, 0]);
    let _ = call(SYS_chmod, &[c"s".word(), 0o700]);
    let refused = std::thread::spawn(|| {
        sys!(SYS_setresuid, 65534, 65534, 65534);
        connect(SOCK_STREAM, &Address::unix(b"s"));
    });
    refused.join().expect("thread");
}
