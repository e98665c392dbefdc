//! A daemon small enough to read: answers the shim and continues every exec.
#![allow(unsafe_code, dead_code, clippy::unwrap_used, clippy::expect_used)]

mod listener;
mod place;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[allow(unused_imports)]
pub use place::Place;

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
    /// Their whole texts.
    pub texts: Mutex<Vec<String>>,
    /// Answers by path, as they go over the wire; empty: none at all.
    pub replies: Mutex<HashMap<String, String>>,
    /// How long the answers to checks take.
    pub delay: Mutex<Duration>,
}

impl Seen {
    /// The request for `path`, once there was one.
    pub fn text_of(&self, path: &str) -> Option<String> {
        let texts = self.texts.lock().unwrap();
        texts.iter().find(|text| text.split(' ').nth(1) == Some(path)).cloned()
    }

    /// How many requests there were for `path`.
    pub fn count(&self, path: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|line| line.split(' ').nth(1) == Some(path)).count()
    }
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
    /// Closes instead of answering a check.
    DropsCheck,
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
    let words: Vec<&str> = ["run", "--"].iter().chain(words).copied().collect();
    start_with(Arc::default(), &words, manner, adjust)
}

/// Starts `outcall words` against a fake daemon that answers as `seen` says.
pub fn start_with(
    seen: Arc<Seen>,
    words: &[&str],
    manner: Manner,
    adjust: impl FnOnce(&mut Command),
) -> Trial {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let number = theirs.as_raw_fd();
    let mut command = shim();
    command.args(["--connected", &number.to_string()]).args(words);
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

/// The shim, with its output kept.
pub fn shim() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outcall-agent"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("RUST_LOG", "warn").env_remove("OUTCALL_TIMEOUT_SECS");
    command
}

/// The shim's exit code, stdout and stderr.
pub fn finish(trial: Trial) -> (i32, String, String) {
    outcome(trial.child)
}

/// A program's exit code, stdout and stderr.
pub fn outcome(child: Child) -> (i32, String, String) {
    let done = child.wait_with_output().unwrap();
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

/// A directory of one test.
pub struct Scratch(pub std::path::PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("outcall-shim-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether a process runs.
pub fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// The pid that a script wrote.
pub fn pid_in(path: impl AsRef<std::path::Path>) -> Option<i32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A response as it goes over the wire.
pub fn response(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A good envelope.
pub fn ok(data: &str) -> String {
    format!(r#"{{"success":true,"data":{data}}}"#)
}

/// The answer to a check.
pub fn verdict(allowed: bool) -> String {
    let (rule, reason) = if allowed { ("\"r-1\"", "null") } else { ("null", "\"not here\"") };
    ok(&format!(r#"{{"allowed":{allowed},"matched_rule":{rule},"reason":{reason}}}"#))
}

fn serve(mut socket: UnixStream, seen: &Arc<Seen>, manner: Manner) {
    while let Some((text, listener)) = request(&mut socket) {
        let line = text.lines().next().unwrap_or_default().to_owned();
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        seen.texts.lock().unwrap().push(text);
        seen.requests.lock().unwrap().push(line);
        let scripted = seen.replies.lock().unwrap().get(&path).cloned();
        let reply = match (scripted, path.as_str()) {
            (Some(reply), _) => reply,
            (_, "/v1/checkin") if manner == Manner::Refuses => {
                response("403 Forbidden", r#"{"success":false,"error":"check-in rejected"}"#)
            }
            (_, "/v1/checkin") => response(
                "200 OK",
                &ok(r#"{"container_id":"c","session_token":"tok-1","context_keys":[]}"#),
            ),
            (_, "/v1/profile") => {
                response("200 OK", &ok(&listener::profile(manner != Manner::Unscoped)))
            }
            (_, "/v1/supervise") if manner != Manner::DropsListener => {
                let listener = listener.expect("no listener with /v1/supervise");
                let watcher = seen.clone();
                thread::spawn(move || listener::answer(&listener, &watcher));
                // The workload must not exist yet, however long this takes.
                thread::sleep(Duration::from_millis(30));
                seen.supervised.store(1, Ordering::SeqCst);
                response("200 OK", &ok("{}"))
            }
            (_, "/v1/permissions/check") if manner != Manner::DropsCheck => {
                let delay = *seen.delay.lock().unwrap();
                thread::sleep(delay);
                response("200 OK", &verdict(true))
            }
            (_, "/v1/supervise" | "/v1/permissions/check") => {
                let _ = socket.shutdown(std::net::Shutdown::Both);
                return;
            }
            _ if manner == Manner::Mute => continue,
            _ => response("200 OK", &ok("{}")),
        };
        if socket.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

/// One request's head and body, with the fd that came along.
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
    while !is_whole(&text) {
        let got = socket.read(&mut room).ok().filter(|n| *n > 0)?;
        text.push_str(&String::from_utf8_lossy(&room[..got]));
    }
    Some((text, fd))
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    length.is_none_or(|length| body.len() >= length.parse().unwrap())
}
