//! A client of the agent API that can misbehave: bytes out, answers in.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// One connection.
#[derive(Debug)]
pub struct Wire {
    stream: BufReader<UnixStream>,
}

/// One answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Value,
}

impl Wire {
    #[must_use]
    pub fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("the socket answers");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends bytes; false where nobody takes them any more.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.get_mut().write_all(bytes.as_ref()).is_ok()
    }

    /// No more bytes will come from here.
    pub fn stop_sending(&mut self) -> bool {
        self.stream.get_mut().shutdown(std::net::Shutdown::Write).is_ok()
    }

    /// A request with a body of JSON, and its answer.
    pub fn ask(&mut self, method: &str, path: &str, token: &str, body: &str) -> Answer {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: outcall\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        assert!(self.send(head + body), "the request is taken");
        self.answer().expect("an answer")
    }

    pub fn heartbeat(&mut self) -> Answer {
        self.ask("GET", "/v1/heartbeat", "", "")
    }

    /// Checks in and returns the token.
    pub fn check_in(&mut self) -> String {
        let answer = self.ask("POST", "/v1/checkin", "", "{}");
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"]["session_token"].as_str().expect("a token").to_owned()
    }

    /// The next answer; `None` where the connection has ended.
    pub fn answer(&mut self) -> Option<Answer> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match self.stream.read_line(&mut head) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}, after {head:?}"),
            }
        }
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length:").and_then(|value| value.trim().parse().ok())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).expect("the body");
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Some(Answer { status, head, body })
    }

    /// Whether the other end has hung up, without having said anything.
    #[must_use]
    pub fn is_ended(&mut self) -> bool {
        self.answer().is_none()
    }
}
