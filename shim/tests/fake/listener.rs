//! The fake daemon's end of a filter: its program, and an answer to every exec.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use super::Seen;

/// x86_64: load nr; if 59 (execve) USER_NOTIF; else ALLOW. All other numbers pass.
const FILTER: [(u16, u8, u8, u32); 4] =
    [(0x20, 0, 0, 0), (0x15, 0, 1, 59), (0x06, 0, 0, 0x7fc0_0000), (0x06, 0, 0, 0x7fff_0000)];

/// The data of `GET /v1/profile`.
pub(super) fn profile(scope: bool) -> String {
    let mut bytes = Vec::new();
    for (code, jt, jf, k) in FILTER {
        bytes.extend(code.to_ne_bytes());
        bytes.extend([jt, jf]);
        bytes.extend(k.to_ne_bytes());
    }
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = digits[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= group.len() { digit as char } else { '=' });
        }
    }
    format!(r#"{{"name":"test","digest":"d","filter":"{text}","signal_scope":{scope}}}"#)
}

/// Answers notifications until the last filtered process is gone.
pub(super) fn answer(listener: &OwnedFd, seen: &Seen) {
    loop {
        // SAFETY: both structures are plain integers and zeroed, as RECV demands; the ioctl numbers are
        // those of linux/seccomp.h for exactly these structures.
        unsafe {
            let mut poll =
                libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            if libc::poll(&mut poll, 1, -1) < 1 || poll.revents & libc::POLLIN == 0 {
                return;
            }
            let mut call: libc::seccomp_notif = std::mem::zeroed();
            if libc::ioctl(listener.as_raw_fd(), 0xc050_2100u32 as _, &mut call) < 0 {
                continue;
            }
            seen.execs.fetch_add(1, Ordering::SeqCst);
            if seen.supervised.load(Ordering::SeqCst) == 0 {
                seen.early.fetch_add(1, Ordering::SeqCst);
            }
            let deny = seen.deny.load(Ordering::SeqCst);
            let mut reply: libc::seccomp_notif_resp = std::mem::zeroed();
            reply.id = call.id;
            reply.error = -deny;
            reply.flags = u32::from(deny == 0);
            libc::ioctl(listener.as_raw_fd(), 0xc018_2101u32 as _, &mut reply);
        }
    }
}
