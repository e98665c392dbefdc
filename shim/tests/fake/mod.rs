//! A daemon small enough to read: answers the shim over a socketpair and continues every exec.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// x86_64: load nr; if 59 (execve) USER_NOTIF; else ALLOW. All other numbers pass.
const FILTER: [(u16, u8, u8, u32); 4] =
    [(0x20, 0, 0, 0), (0x15, 0, 1, 59), (0x06, 0, 0, 0x7fc0_0000), (0x06, 0, 0, 0x7fff_0000)];

/// What the daemon saw and how it answers.
#[derive(Default)]
pub struct Seen {
    /// Execs that were notified.
    pub execs: AtomicUsize,
    /// Execs notified before the answer to /v1/supervise was sent.
    pub early: AtomicUsize,
    /// Set once /v1/supervise was answered.
    pub supervised: AtomicUsize,
    /// Answer execs with this errno instead of CONTINUE, when not 0.
    pub deny: AtomicI32,
    /// Requests, in order.
    pub requests: Mutex<Vec<String>>,
}

/// How the daemon behaves.
#[derive(Clone, Copy, PartialEq)]
pub enum Manner {
    /// As it should.
    Good,
    /// Refuses the check-in.
    Refuses,
    /// Closes instead of answering /v1/supervise.
    DropsListener,
    /// Answers everything but heartbeats.
    Mute,
    /// Does not ask for confined signals.
    Unscoped,
}

/// A shim under test, its daemon running.
pub struct Trial {
    /// The shim.
    pub child: Child,
    /// What the daemon saw.
    pub seen: Arc<Seen>,
    /// The daemon's end; shut it down to lose the connection.
    pub connection: UnixStream,
}

/// Starts `outcall run -- words` against a fake daemon.
pub fn start(words: &[&str], manner: Manner, adjust: impl FnOnce(&mut Command)) -> Trial {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let seen = Arc::new(Seen::default());
    let number = theirs.as_raw_fd();
    let mut command = Command::new(env!("CARGO_BIN_EXE_outcall-agent"));
    command.args(["run", "--connected", &number.to_string(), "--"]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("RUST_LOG", "warn");
    adjust(&mut command);
    // SAFETY: fcntl is async-signal-safe and touches no memory.
    unsafe {
        command.pre_exec(move || {
            libc::fcntl(number, libc::F_SETFD, 0);
            Ok(())
        })
    };
    let connection = ours.try_clone().unwrap();
    let daemon = seen.clone();
    thread::spawn(move || serve(ours, &daemon, manner));
    let child = command.spawn().unwrap();
    drop(theirs);
    Trial { child, seen, connection }
}

/// The shim's exit code, stdout and stderr.
pub fn finish(trial: Trial) -> (i32, String, String) {
    let done = trial.child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code().unwrap_or(-1), text(&done.stdout), text(&done.stderr))
}

/// Waits for `truth`, at most five seconds.
pub fn until(mut truth: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !truth() {
        assert!(Instant::now() < deadline, "waited five seconds in vain");
        thread::sleep(Duration::from_millis(2));
    }
}

fn serve(mut socket: UnixStream, seen: &Arc<Seen>, manner: Manner) {
    while let Some((head, listener)) = request(&mut socket) {
        let line = head.lines().next().unwrap_or_default().to_owned();
        seen.requests.lock().unwrap().push(line.clone());
        let (status, body) = match line.split(' ').nth(1).unwrap_or_default() {
            "/v1/checkin" if manner == Manner::Refuses => {
                ("403 Forbidden", r#"{"success":false,"error":"check-in rejected"}"#.to_owned())
            }
            "/v1/checkin" => {
                ("200 OK", ok(r#"{"container_id":"c","session_token":"tok-1","context_keys":[]}"#))
            }
            "/v1/profile" => ("200 OK", ok(&profile(manner != Manner::Unscoped))),
            "/v1/supervise" if manner == Manner::DropsListener => {
                let _ = socket.shutdown(std::net::Shutdown::Both);
                return;
            }
            "/v1/supervise" => {
                let listener = listener.expect("no listener with /v1/supervise");
                let watcher = seen.clone();
                thread::spawn(move || answer(&listener, &watcher));
                // The workload must not exist yet, however long this takes.
                thread::sleep(Duration::from_millis(30));
                seen.supervised.store(1, Ordering::SeqCst);
                ("200 OK", ok("{}"))
            }
            _ if manner == Manner::Mute => continue,
            _ => ("200 OK", ok("{}")),
        };
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if socket.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

fn ok(data: &str) -> String {
    format!(r#"{{"success":true,"data":{data}}}"#)
}

fn profile(scope: bool) -> String {
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

/// One request's head (and body), with the fd that came along.
fn request(socket: &mut UnixStream) -> Option<(String, Option<OwnedFd>)> {
    let mut room = [0u8; 4096];
    let mut control = [0u64; 8];
    let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: all zeroes is a msghdr; its pointers are set to live buffers of the stated sizes, and
    // recvmsg fills in no more than those; the control header is only read if the kernel made one.
    let (got, fd) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = 64;
        let got = libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC);
        let header = libc::CMSG_FIRSTHDR(&message);
        let fd = (!header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS)
            .then(|| OwnedFd::from_raw_fd(*libc::CMSG_DATA(header).cast::<i32>()));
        (got, fd)
    };
    let mut text = String::from_utf8_lossy(&room[..usize::try_from(got).ok()?]).into_owned();
    while !text.contains("\r\n\r\n") {
        let got = socket.read(&mut room).ok().filter(|n| *n > 0)?;
        text.push_str(&String::from_utf8_lossy(&room[..got]));
    }
    Some((text, fd))
}

fn answer(listener: &OwnedFd, seen: &Seen) {
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
