//! Times calls and prints `name microseconds` a line: run natively, in a bare loop and supervised.
#![allow(unsafe_code, missing_docs, clippy::expect_used)]

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Instant;

fn time(name: &str, count: u32, mut call: impl FnMut()) {
    call();
    let began = Instant::now();
    for _ in 0..count {
        call();
    }
    println!("{name} {:.2}", began.elapsed().as_secs_f64() * 1e6 / f64::from(count));
}

fn main() {
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("open") {
        time("open", 20_000, || drop(File::open("/etc/hostname")));
    }
    if wanted("missing") {
        time("missing", 20_000, || drop(File::open("/etc/no-such-file")));
    }
    if wanted("deny") {
        time("deny", 20_000, || drop(File::open("/etc/shadow")));
    }
    if wanted("connect") {
        let server = TcpListener::bind("127.0.0.1:0").expect("a loopback listener");
        let address = server.local_addr().expect("its address");
        time("connect", 2_000, || {
            drop(TcpStream::connect(address));
            drop(server.accept());
        });
    }
    if wanted("exec") {
        time("exec", 500, || drop(Command::new("/bin/true").status()));
    }
}
