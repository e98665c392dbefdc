//! The one connection to `outcalld`: a request, its answer, the next request.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::http;
use crate::json::{self, Json};
use crate::log;
use crate::sys::{fd, socket};

/// The only address the shim ever talks to.
const AGENT_SOCKET: &str = "/run/outcall/agent.sock";

/// Why a request has no good answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The peer closed the connection.
    Closed,
    /// The kernel refused to send or receive.
    Io(io::Error),
    /// No complete answer in time.
    TimedOut(Duration),
    /// An answer that breaks the protocol.
    Malformed(&'static str),
    /// A well-formed refusal: status and the daemon's sentence.
    Refused(u16, String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed"),
            Self::Io(error) => write!(f, "the connection failed: {error}"),
            Self::TimedOut(limit) => write!(f, "no answer within {} s", limit.as_secs()),
            Self::Malformed(what) => write!(f, "the answer has {what}"),
            Self::Refused(status, sentence) => write!(f, "{sentence} (HTTP {status})"),
        }
    }
}

/// The connection, with the session's token once there is one.
pub(crate) struct Client {
    socket: OwnedFd,
    received: Vec<u8>,
    timeout: Duration,
    token: Option<String>,
}

impl Client {
    /// Connects to the constant path.
    pub(crate) fn connect(timeout: Duration) -> Result<Self, Failure> {
        let deadline = Instant::now() + timeout;
        loop {
            match socket::connect(AGENT_SOCKET) {
                Ok(socket) => return Ok(Self::over(socket, timeout)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    let sentence = format!("agent socket not found at {AGENT_SOCKET}");
                    return Err(Failure::unreachable(sentence));
                }
                Err(e) => return Err(Failure::lost_because(format!("{AGENT_SOCKET}: {e}"))),
            }
        }
    }

    /// Uses a connected socket that the caller passed in.
    pub(crate) fn adopt(number: RawFd, timeout: Duration) -> Result<Self, Failure> {
        fd::adopt(number)
            .ok()
            .filter(|socket| socket::is_connected_unix_stream(socket.as_fd()))
            .map(|socket| Self::over(socket, timeout))
            .ok_or_else(|| {
                let sentence =
                    format!("--connected {number}: fd {number} is no connected Unix stream socket");
                Failure::unreachable(sentence)
            })
    }

    fn over(socket: OwnedFd, timeout: Duration) -> Self {
        Self { socket, received: Vec::new(), timeout, token: None }
    }

    /// Registers this process; who it is, the daemon finds out by itself.
    pub(crate) fn check_in(&mut self) -> Result<(), Failure> {
        let data = self
            .call("POST", "/v1/checkin", "{}", None)
            .map_err(|error| Failure::from_call("check-in", &error))?;
        let token = data
            .get("session_token")
            .and_then(Json::as_str)
            .filter(|t| !t.is_empty() && t.len() <= 256 && t.bytes().all(|b| b.is_ascii_graphic()))
            .ok_or_else(|| Failure::unreachable("check-in failed: no usable session token"))?;
        self.token = Some(token.to_owned());
        log::info("registered with outcalld");
        Ok(())
    }

    /// One request and its answer's data, within the timeout. `passed` rides on the first byte.
    pub(crate) fn call(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
        passed: Option<BorrowedFd<'_>>,
    ) -> Result<Json, CallError> {
        let deadline = Instant::now() + self.timeout;
        self.send(&http::request(method, path, self.token.as_deref(), body), passed, deadline)?;
        loop {
            if let Some(data) = self.receive()? {
                return Ok(data);
            }
            self.await_ready(libc::POLLIN, deadline)?;
        }
    }

    /// Sends a heartbeat; the answer comes through [`Client::receive`].
    pub(crate) fn start_heartbeat(&mut self) -> Result<(), CallError> {
        let request = http::request("GET", "/v1/heartbeat", self.token.as_deref(), "");
        self.send(&request, None, Instant::now() + self.timeout)
    }

    /// Takes what has arrived; the answer's data once it is complete.
    pub(crate) fn receive(&mut self) -> Result<Option<Json>, CallError> {
        let mut room = [0; 16 * 1024];
        loop {
            match socket::receive(self.socket.as_fd(), &mut room) {
                Ok(0) => return Err(CallError::Closed),
                Ok(n) => self.received.extend_from_slice(&room[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(CallError::Io(e)),
            }
            if let Some(response) = http::parse(&self.received).map_err(CallError::Malformed)? {
                self.received.clear();
                return open_envelope(&response).map(Some);
            }
        }
    }

    /// The longest wait for one answer.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The fd to wait on.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The fd's number.
    pub(crate) fn number(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn send(
        &self,
        mut bytes: &[u8],
        mut passed: Option<BorrowedFd<'_>>,
        deadline: Instant,
    ) -> Result<(), CallError> {
        while !bytes.is_empty() {
            let sent = match passed {
                Some(fd) => socket::send_with_fd(self.socket.as_fd(), bytes, fd),
                None => socket::send(self.socket.as_fd(), bytes),
            };
            match sent {
                Ok(n) => {
                    bytes = &bytes[n..];
                    passed = None;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.await_ready(libc::POLLOUT, deadline)?;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Err(CallError::Closed),
                Err(e) => return Err(CallError::Io(e)),
            }
        }
        Ok(())
    }

    fn await_ready(&self, events: libc::c_short, deadline: Instant) -> Result<(), CallError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CallError::TimedOut(self.timeout));
        }
        let mut fds = [fd::interest(self.socket.as_fd(), events)];
        fd::poll(&mut fds, left).map(drop).map_err(CallError::Io)
    }
}

impl Failure {
    /// A request of the registration that has no good answer.
    pub(crate) fn from_call(what: &str, error: &CallError) -> Self {
        match error {
            CallError::Refused(..) => Self::unreachable(format!("{what} refused: {error}")),
            CallError::Malformed(_) => Self::unreachable(format!("{what} failed: {error}")),
            _ => Self::lost_because(format!("{what}: {error}")),
        }
    }
}

/// A status and an envelope that contradict each other are no answer.
fn open_envelope(response: &http::Response) -> Result<Json, CallError> {
    let envelope =
        json::parse(&response.body).ok_or(CallError::Malformed("a body that is not JSON"))?;
    let success = envelope.get("success").and_then(Json::as_bool);
    let error = envelope.get("error").filter(|error| **error != Json::Null);
    match (success, response.status, error) {
        (Some(true), 200, None) => Ok(envelope.get("data").cloned().unwrap_or(Json::Null)),
        (Some(false), 400.., Some(Json::String(sentence))) => {
            Err(CallError::Refused(response.status, sentence.clone()))
        }
        _ => Err(CallError::Malformed("a status and an envelope that do not fit together")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    fn answer(status: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }

    fn call_with(reply: &str, timeout: Duration) -> Result<Json, CallError> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(reply.as_bytes()).unwrap();
        let mut client = Client::over(ours.into(), timeout);
        let outcome = client.call("GET", "/v1/x", "", None);
        let mut request = [0; 512];
        let n = theirs.read(&mut request).unwrap();
        assert!(request[..n].starts_with(b"GET /v1/x HTTP/1.1\r\n"));
        outcome
    }

    #[test]
    fn only_a_consistent_envelope_is_an_answer() {
        let second = Duration::from_secs(1);
        let good = call_with(&answer("200 OK", r#"{"success":true,"data":{"a":1}}"#), second);
        assert!(good.unwrap().get("a").is_some());
        let refused = answer("403 Forbidden", r#"{"success":false,"error":"no"}"#);
        assert_eq!(call_with(&refused, second).unwrap_err().to_string(), "no (HTTP 403)");
        for (status, body) in [
            ("200 OK", r#"{"success":false,"error":"no"}"#),
            ("200 OK", r#"{"success":true,"data":{},"error":"no"}"#),
            ("403 Forbidden", r#"{"success":true,"data":{}}"#),
            ("200 OK", r#"{"success":"true","data":{}}"#),
            ("200 OK", r#"{"data":{}}"#),
            ("500 Oops", r#"{"success":false}"#),
            ("200 OK", "[]"),
            ("200 OK", "not json"),
        ] {
            let outcome = call_with(&answer(status, body), second);
            assert!(matches!(outcome, Err(CallError::Malformed(_))), "{status} {body}");
        }
    }

    #[test]
    fn silence_and_half_an_answer_time_out() {
        let brief = Duration::from_millis(30);
        for reply in ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"] {
            assert!(matches!(call_with(reply, brief), Err(CallError::TimedOut(_))), "{reply}");
        }
    }

    #[test]
    fn a_closed_peer_is_closed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let mut client = Client::over(ours.into(), Duration::from_secs(1));
        assert!(matches!(client.call("GET", "/", "", None), Err(CallError::Closed)));
    }

    #[test]
    fn what_is_no_socket_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let number = std::os::fd::IntoRawFd::into_raw_fd(file);
        assert_eq!(Client::adopt(number, Duration::from_secs(1)).err().unwrap().exit_code(), 5);
        assert!(Client::adopt(9999, Duration::from_secs(1)).is_err());
    }
}
