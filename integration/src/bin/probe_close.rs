//! What the caller closed is closed at once: nobody may hold a copy of it any longer.
#![allow(clippy::expect_used)]

use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

use integration::raw::{Word, call};
use libc::*;

const ROUNDS: usize = 300;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("fifo") => count("end of a FIFO", fifo),
        Some("program") => count("run of a program just written", program),
        Some("lock") => count("lock", lock),
        Some("stream") => count("end of a stream", stream),
        other => println!("no section {other:?}"),
    }
}

fn count(label: &str, one: fn() -> bool) {
    let missed = (0..ROUNDS).filter(|_| !one()).count();
    println!("{label}: missed {missed} times in {ROUNDS} rounds");
}

fn fifo() -> bool {
    if !std::path::Path::new("fifo").exists() {
        let _ = call(SYS_mknod, &[c"fifo".word(), (S_IFIFO | 0o600).word(), 0]);
    }
    let open = |flags: i32| call(SYS_open, &[c"fifo".word(), (flags | O_NONBLOCK).word()]);
    let (reader, writer) = (open(O_RDONLY), open(O_WRONLY));
    let _ = call(SYS_close, &[writer.word()]);
    let mut byte = [0_u8; 1];
    let end = call(SYS_read, &[reader.word(), byte.as_mut_ptr().word(), 1]);
    let _ = call(SYS_close, &[reader.word()]);
    let alone = open(O_WRONLY);
    if alone >= 0 {
        let _ = call(SYS_close, &[alone.word()]);
    }
    end == 0 && alone == -i64::from(ENXIO)
}

fn program() -> bool {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o755);
    let mut file = options.open("program").expect("program");
    std::io::Write::write_all(&mut file, b"#!/bin/true\n").expect("written");
    file.set_permissions(std::fs::Permissions::from_mode(0o755)).expect("mode");
    drop(file);
    // Only whether it could run: a busy file is refused by this check as by an exec.
    let argv = [c"program".word(), 0];
    let check =
        call(SYS_execveat, &[AT_FDCWD.word(), c"program".word(), argv.as_ptr().word(), 0, 0x10000]);
    check == 0
}

fn lock() -> bool {
    let open = || call(SYS_open, &[c"lock".word(), (O_RDWR | O_CREAT).word(), 0o600]);
    let first = open();
    let _ = call(SYS_flock, &[first.word(), LOCK_EX.word()]);
    let _ = call(SYS_close, &[first.word()]);
    let second = open();
    let locked = call(SYS_flock, &[second.word(), (LOCK_EX | LOCK_NB).word()]);
    let _ = call(SYS_close, &[second.word()]);
    locked == 0
}

fn stream() -> bool {
    let _ = std::fs::remove_file("socket");
    let listener = std::os::unix::net::UnixListener::bind("socket").expect("listener");
    let address = integration::raw::Address::unix(b"socket");
    let socket = call(SYS_socket, &[AF_UNIX.word(), SOCK_STREAM.word(), 0]);
    let (at, length) = (address.pointer(), address.length());
    let _ = call(SYS_connect, &[socket.word(), at.word(), length.word()]);
    let _ = call(SYS_close, &[socket.word()]);
    let (mut stream, _) = listener.accept().expect("accepted");
    stream.set_nonblocking(true).expect("non-blocking");
    matches!(stream.read(&mut [0; 1]), Ok(0))
}
