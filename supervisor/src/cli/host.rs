//! A client of the host socket: one request a connection, HTTP/1.1, bounded in size and time.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// Why the daemon did not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum HostError {
    #[error("no outcalld serves {path} ({cause}); start one with: outcalld, or name its socket with --host-socket",
        path = path.display())]
    NoDaemon { path: PathBuf, cause: io::Error },
    #[error("cannot connect to {path}: {cause}", path = path.display())]
    Connect { path: PathBuf, cause: io::Error },
    #[error("cannot send the request: {cause}")]
    Send { cause: io::Error },
    #[error("cannot read the answer: {cause}")]
    Receive { cause: io::Error },
    #[error("no answer within {} seconds; outcalld is there but stuck", PATIENCE.as_secs())]
    Late,
    #[error("what answers is not outcalld: {why}")]
    Malformed { why: &'static str },
}

/// An answer: its status and what is in the envelope.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Answer {
    /// The data, or the sentence that is there instead of it.
    pub(super) fn data(&self) -> Result<&Value, String> {
        match (self.status, self.body.get("data")) {
            (200 | 201, Some(data)) if self.body["success"] == true => Ok(data),
            _ => Err(self.body["error"].as_str().unwrap_or("outcalld gives no reason").to_owned()),
        }
    }
}

/// Asks the daemon behind a socket.
pub(super) fn ask(socket: &Path, method: &str, resource: &str) -> Result<Answer, HostError> {
    tell(socket, method, resource, None)
}

/// Asks the daemon behind a socket, with a body.
pub(super) fn tell(
    socket: &Path,
    method: &str,
    resource: &str,
    body: Option<&Value>,
) -> Result<Answer, HostError> {
    let until = Instant::now() + PATIENCE;
    let mut stream = connect(socket)?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    let request = format!(
        "{method} {resource} HTTP/1.1\r\nHost: outcall\r\n{kind}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).map_err(|cause| HostError::Send { cause })?;
    receive(|buffer| {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        stream.read(buffer)
    })
}

/// A word within a resource, with everything encoded that means something there.
pub(super) fn encoded(word: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let each = |byte: u8| match plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    word.bytes().map(each).collect()
}

/// Whether somebody serves the socket.
pub(super) fn is_served(socket: &Path) -> bool {
    connect(socket).is_ok()
}

pub(super) fn connect(path: &Path) -> Result<UnixStream, HostError> {
    let attempt = || -> rustix::io::Result<OwnedFd> {
        let address = SocketAddrUnix::new(path)?;
        let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
        // It bounds connecting too, should a stuck daemon have a full queue.
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
        rustix::net::connect(&socket, &address)?;
        Ok(socket)
    };
    let path = path.to_owned();
    attempt().map(UnixStream::from).map_err(|errno| match errno {
        rustix::io::Errno::NOENT | rustix::io::Errno::CONNREFUSED => {
            HostError::NoDaemon { path, cause: errno.into() }
        }
        rustix::io::Errno::AGAIN => HostError::Late,
        _ => HostError::Connect { path, cause: errno.into() },
    })
}

/// Reads one answer: a head, and a body that is exactly as long as the head says.
fn receive(mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> Result<Answer, HostError> {
    let mut received = Vec::new();
    let mut head: Option<Head> = None;
    loop {
        if head.is_none() {
            match received.windows(END_OF_HEAD.len()).position(|bytes| bytes == END_OF_HEAD) {
                Some(at) => head = Some(Head::parse(&received[..at], at + END_OF_HEAD.len())?),
                None if received.len() > MAX_HEAD_BYTES => {
                    return Err(malformed("its head has no end"));
                }
                None => {}
            }
        }
        if let Some(head) = &head
            && received.len() >= head.bytes + head.length
        {
            return head.answer(&received);
        }
        let mut buffer = [0; 16 * 1024];
        match read(&mut buffer) {
            Ok(0) => return Err(malformed("its answer ends too early")),
            Ok(length) => received.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error)
                if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) =>
            {
                return Err(HostError::Late);
            }
            Err(cause) => return Err(HostError::Receive { cause }),
        }
    }
}

struct Head {
    status: u16,
    /// Of the head itself.
    bytes: usize,
    /// Of the body.
    length: usize,
}

impl Head {
    fn parse(head: &[u8], bytes: usize) -> Result<Self, HostError> {
        let text = std::str::from_utf8(head).map_err(|_| malformed("its head is no text"))?;
        let mut lines = text.split("\r\n");
        let line = lines.next().unwrap_or_default();
        let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status = status.and_then(digits::<u16>).ok_or_else(|| malformed("no HTTP status"))?;
        let mut length = None;
        for line in lines {
            let (name, value) = line.split_once(':').ok_or_else(|| malformed("a broken header"))?;
            if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(malformed("a transfer encoding"));
            }
            if name.eq_ignore_ascii_case("content-length") {
                let value = digits::<usize>(value.trim());
                if length.is_some() || value.is_none() {
                    return Err(malformed("a broken length"));
                }
                length = value;
            }
        }
        match length {
            Some(length) if length <= MAX_BODY_BYTES => Ok(Self { status, bytes, length }),
            Some(_) => Err(malformed("its answer is too long")),
            None => Err(malformed("its answer has no length")),
        }
    }

    fn answer(&self, received: &[u8]) -> Result<Answer, HostError> {
        let body = received.get(self.bytes..).filter(|body| body.len() == self.length);
        let body = body.ok_or_else(|| malformed("more than the length it said"))?;
        let body = serde_json::from_slice(body).map_err(|_| malformed("its answer is no JSON"))?;
        Ok(Answer { status: self.status, body })
    }
}

/// A number of digits alone: no sign, no space.
fn digits<N: std::str::FromStr>(text: &str) -> Option<N> {
    Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

fn malformed(why: &'static str) -> HostError {
    HostError::Malformed { why }
}

#[cfg(test)]
#[path = "tests/host.rs"]
mod tests;
