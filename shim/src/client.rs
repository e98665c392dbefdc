//! The one connection to `outcalld`: a request, its answer, the next request.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::answer::{Answer, CallError};
use crate::failure::Failure;
use crate::http;
use crate::json::Json;
use crate::log;
use crate::presence::Presence;
use crate::pulse::{HEARTBEAT, Pulse};
use crate::question::{Question, Verdict};
use crate::sys::{fd, socket};

/// The only address the shim ever talks to.
const AGENT_SOCKET: &str = "/run/outcall/agent.sock";

/// One request: what is sent, and the status that means success.
pub(crate) struct Exchange<'a> {
    method: &'static str,
    path: &'a str,
    body: &'a str,
    passed: Option<BorrowedFd<'a>>,
    success: u16,
}

impl<'a> Exchange<'a> {
    /// Asks for something.
    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: "GET", path, body: "", passed: None, success: 200 }
    }

    /// Sends something.
    pub(crate) fn post(path: &'a str, body: &'a str) -> Self {
        Self { method: "POST", body, ..Self::get(path) }
    }

    /// A descriptor rides on the first byte.
    pub(crate) fn carrying(self, passed: BorrowedFd<'a>) -> Self {
        Self { passed: Some(passed), ..self }
    }

    /// Something new comes of it, and the status says so.
    pub(crate) fn creating(self) -> Self {
        Self { success: 201, ..self }
    }
}

/// The connection, with the session's token once there is one.
pub(crate) struct Client {
    socket: OwnedFd,
    received: Vec<u8>,
    timeout: Duration,
    token: Option<String>,
    /// Whether the constant path leads to the daemon; a connection that was passed in has no address.
    has_address: bool,
    presence: Option<Presence>,
}

impl Client {
    /// Connects to the constant path.
    pub(crate) fn connect(timeout: Duration) -> Result<Self, Failure> {
        let socket = dial(timeout).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Failure::unreachable(format!("agent socket not found at {AGENT_SOCKET}"))
            }
            _ => Failure::lost_because(format!("{AGENT_SOCKET}: {error}")),
        })?;
        let peer = socket::peer_path(socket.as_fd());
        let presence = Presence::of(Path::new(AGENT_SOCKET), peer.as_deref());
        Ok(Self { has_address: true, presence, ..Self::over(socket, timeout) })
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
        let (received, token) = (Vec::new(), None);
        Self { socket, received, timeout, token, has_address: false, presence: None }
    }

    /// Another connection of the same session, for heartbeats beside a request that is pending.
    fn beside(&self) -> Result<Self, CallError> {
        let socket = dial(self.timeout).map_err(CallError::Io)?;
        Ok(Self { token: self.token.clone(), ..Self::over(socket, self.timeout) })
    }

    /// Registers this process; who it is, the daemon finds out by itself.
    pub(crate) fn check_in(&mut self) -> Result<(), Failure> {
        let data = self
            .call(&Exchange::post("/v1/checkin", "{}"))
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

    /// Asks about an action. What is no verdict is no permission.
    pub(crate) fn ask(&mut self, question: &Question) -> Result<Verdict, Failure> {
        let body = question.body()?;
        let data = self
            .call(&Exchange::post("/v1/permissions/check", &body))
            .map_err(|error| Failure::from_call("check", &error))?;
        Verdict::read(&data).map_err(|field| {
            Failure::unreachable(format!("check failed: the verdict has no usable '{field}'"))
        })
    }

    /// One request and its answer's data, within the timeout.
    pub(crate) fn call(&mut self, exchange: &Exchange<'_>) -> Result<Json, CallError> {
        let deadline = Instant::now() + self.timeout;
        let Exchange { method, path, body, passed, success } = *exchange;
        self.send(&http::request(method, path, self.token.as_deref(), body), passed, deadline)?;
        let mut companion = None;
        let mut pulse = Pulse::after(HEARTBEAT);
        loop {
            if let Some(answer) = self.receive()? {
                return answer.data(success);
            }
            if companion.is_none() && self.has_address && Instant::now() >= pulse.next() {
                companion = Some(self.beside()?);
            }
            if let Some(beside) = &mut companion {
                pulse.listen(beside)?;
                pulse.beat(beside)?;
            }
            let due = if self.has_address { deadline.min(pulse.next()) } else { deadline };
            self.await_answer(deadline, due, companion.as_ref())?;
        }
    }

    /// Sends a heartbeat; the answer comes through [`Client::receive`].
    pub(crate) fn start_heartbeat(&mut self) -> Result<(), CallError> {
        if self.presence.as_ref().is_some_and(|file| !file.is_there()) {
            return Err(CallError::Vanished);
        }
        let request = http::request("GET", "/v1/heartbeat", self.token.as_deref(), "");
        self.send(&request, None, Instant::now() + self.timeout)
    }

    /// Takes what has arrived; the answer once it is complete.
    pub(crate) fn receive(&mut self) -> Result<Option<Answer>, CallError> {
        if self.presence.as_mut().is_some_and(|file| !file.holds()) {
            return Err(CallError::Vanished);
        }
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
                return Answer::read(&response).map(Some);
            }
        }
    }

    /// The longest wait for one answer.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What to wait for between two calls of [`Client::receive`].
    pub(crate) fn interests(&self) -> [libc::pollfd; 2] {
        let file = self.presence.as_ref().and_then(Presence::fd);
        [fd::interest(self.socket.as_fd(), libc::POLLIN), fd::optional(file, libc::POLLIN)]
    }

    /// The longest time between two calls of [`Client::receive`].
    pub(crate) fn patience(&self) -> Duration {
        self.presence.as_ref().and_then(Presence::patience).unwrap_or(Duration::MAX)
    }

    /// The numbers of its fds; -1 stands for none.
    pub(crate) fn numbers(&self) -> [RawFd; 2] {
        let file = self.presence.as_ref().and_then(Presence::fd);
        [self.socket.as_raw_fd(), file.map_or(-1, |fd| fd.as_raw_fd())]
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
                    let mut fds = [fd::interest(self.socket.as_fd(), libc::POLLOUT)];
                    fd::poll(&mut fds, self.left(deadline)?).map_err(CallError::Io)?;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Err(CallError::Closed),
                Err(e) => return Err(CallError::Io(e)),
            }
        }
        Ok(())
    }

    /// Waits for news, at most until `due`; an error once `deadline` has passed.
    fn await_answer(
        &self,
        deadline: Instant,
        due: Instant,
        companion: Option<&Client>,
    ) -> Result<(), CallError> {
        self.left(deadline)?;
        let wait = due.saturating_duration_since(Instant::now()).min(self.patience());
        let [answer, file] = self.interests();
        let beside = companion.map(|client| client.socket.as_fd());
        fd::poll(&mut [answer, file, fd::optional(beside, libc::POLLIN)], wait)
            .map(drop)
            .map_err(CallError::Io)
    }

    fn left(&self, deadline: Instant) -> Result<Duration, CallError> {
        match deadline.saturating_duration_since(Instant::now()) {
            left if left.is_zero() => Err(CallError::TimedOut(self.timeout)),
            left => Ok(left),
        }
    }
}

/// Connects. A full backlog is waited out, since that is no refusal.
fn dial(timeout: Duration) -> io::Result<OwnedFd> {
    let deadline = Instant::now() + timeout;
    loop {
        match socket::connect(AGENT_SOCKET) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    fn call_with(reply: &str, timeout: Duration) -> Result<Json, CallError> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(reply.as_bytes()).unwrap();
        let mut client = Client::over(ours.into(), timeout);
        let outcome = client.call(&Exchange::get("/v1/x"));
        let mut request = [0; 512];
        let n = theirs.read(&mut request).unwrap();
        assert!(request[..n].starts_with(b"GET /v1/x HTTP/1.1\r\n"));
        outcome
    }

    #[test]
    fn an_answer_is_its_data() {
        let body = r#"{"success":true,"data":{"a":1}}"#;
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        assert!(call_with(&reply, Duration::from_secs(1)).unwrap().get("a").is_some());
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
        assert!(matches!(client.call(&Exchange::get("/")), Err(CallError::Closed)));
    }

    #[test]
    fn what_is_no_socket_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let number = std::os::fd::IntoRawFd::into_raw_fd(file);
        assert_eq!(Client::adopt(number, Duration::from_secs(1)).err().unwrap().exit_code(), 5);
        assert!(Client::adopt(9999, Duration::from_secs(1)).is_err());
    }
}
