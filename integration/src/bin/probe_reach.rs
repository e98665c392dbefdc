//! Tries to reach one address in one way, and prints what came of it: `probe_reach HOW HOST PORT`.
#![allow(clippy::expect_used)]

use std::net::IpAddr;

use integration::raw::{Address, Word, call};
use integration::sys;
use libc::*;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, how, host, port] = &arguments[..] else { return };
    let port = port.parse().unwrap_or(0);
    let address = match host.parse() {
        Ok(IpAddr::V4(host)) => Address::four(host.octets(), port),
        Ok(IpAddr::V6(host)) => Address::six(host.octets(), port),
        Err(_) => Address::unix(host.as_bytes()),
    };
    let (at, length) = (address.pointer(), address.length());
    let socket = |kind: i32| call(SYS_socket, &[address.family().word(), kind.word(), 0]);
    match how.as_str() {
        "connect" => sys!(SYS_connect, socket(SOCK_STREAM), at, length),
        "nonblocking" => sys!(SYS_connect, socket(SOCK_STREAM | SOCK_NONBLOCK), at, length),
        "associate" => sys!(SYS_connect, socket(SOCK_DGRAM), at, length),
        "sendto" => sys!(SYS_sendto, socket(SOCK_DGRAM), c"x", 1, 0, at, length),
        "fastopen" => sys!(SYS_sendto, socket(SOCK_STREAM), c"x", 1, MSG_FASTOPEN, at, length),
        "sendmsg" | "sendmmsg" => {
            let part = [c"x".word(), 1_usize];
            let header = [at.word(), length.word(), part.as_ptr().word(), 1, 0, 0, 0, 0];
            if how == "sendmsg" {
                sys!(SYS_sendmsg, socket(SOCK_DGRAM), header.as_ptr(), 0)
            } else {
                sys!(SYS_sendmmsg, socket(SOCK_DGRAM), header.as_ptr(), 1, 0)
            }
        }
        _ => 0,
    };
}
