//! An agent that asks: over a connection of its own, or with curl through a bridge. Tokens belong to
//! whoever connects, and every curl is another process; the bridge connects for all of them.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Value,
}

/// A kept-alive connection with a token.
#[derive(Debug)]
pub struct Agent {
    stream: UnixStream,
    token: String,
}

impl Agent {
    /// Connects and checks in; `None` where nobody answers.
    #[must_use]
    pub fn check_in(socket: &Path) -> Option<Self> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        let mut agent = Self { stream, token: String::new() };
        let answer = agent.ask("POST", "/v1/checkin", Some(&json!({})))?;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"]["session_token"].as_str()?.clone_into(&mut agent.token);
        Some(agent)
    }

    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// One request; `None` where the connection ends before its answer.
    pub fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> Option<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: outcall\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).ok()?;
        self.answer()
    }

    /// Asks until it is not too early to ask.
    pub fn ask_patiently(&mut self, method: &str, path: &str, body: &Value) -> Option<Answer> {
        loop {
            let answer = self.ask(method, path, Some(body))?;
            if answer.status != 429 {
                return Some(answer);
            }
            let head = answer.head.to_ascii_lowercase();
            let wait = head.split("retry-after: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
            std::thread::sleep(Duration::from_secs(wait));
        }
    }

    fn answer(&mut self) -> Option<Answer> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            self.more(&mut bytes)?;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head
            .to_ascii_lowercase()
            .split("content-length: ")
            .nth(1)?
            .split("\r\n")
            .next()?
            .parse::<usize>()
            .ok()?;
        while bytes.len() < end + length {
            self.more(&mut bytes)?;
        }
        Some(Answer { status, head, body: serde_json::from_slice(&bytes[end..]).ok()? })
    }

    fn more(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        let mut part = [0; 4096];
        let length = self.stream.read(&mut part).ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&part[..length]);
        Some(())
    }
}

/// A socket that passes everything on over connections of this very process.
#[derive(Debug)]
pub struct Bridge {
    path: PathBuf,
    /// Keeps the registration of this process alive between two curls.
    agent: Agent,
}

impl Bridge {
    /// A bridge from a scratch directory to a daemon's agent socket.
    #[must_use]
    pub fn new(scratch: &Path, socket: &Path) -> Self {
        let path = scratch.join("bridge.sock");
        let listener = UnixListener::bind(&path).expect("a socket for the bridge");
        let agent = Agent::check_in(socket).expect("a check-in");
        let mut far = UnixStream::connect(socket).expect("the agent socket");
        let socket = socket.to_owned();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if !pass_on(&near, &far) {
                    let Ok(again) = UnixStream::connect(&socket) else { return };
                    far = again;
                }
            }
        });
        Self { path, agent }
    }

    #[must_use]
    pub fn token(&self) -> &str {
        self.agent.token()
    }

    /// curl through the bridge, with this token or none.
    #[must_use]
    pub fn curl(&self, token: Option<&str>, arguments: &[&str], resource: &str) -> Answer {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-i", "--max-time", "30", "-H", "Expect:", "--unix-socket"])
            .arg(&self.path);
        if let Some(token) = token {
            curl.args(["-H", &format!("Authorization: Bearer {token}")]);
        }
        let output = curl.args(arguments).arg(format!("http://outcall{resource}")).output();
        let output = output.expect("curl runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (head, body) =
            text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {output:?}"));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        let body = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"));
        Answer { status, head: head.to_owned(), body }
    }

    /// A POST of JSON, as the documentation has it.
    #[must_use]
    pub fn post(&self, token: Option<&str>, resource: &str, body: &str) -> Answer {
        self.curl(token, &["-H", "Content-Type: application/json", "-d", body], resource)
    }
}

/// Passes bytes on until the near end is done; whether the far end can be used again.
fn pass_on(mut near: &UnixStream, mut far: &UnixStream) -> bool {
    let moment = Some(Duration::from_millis(1));
    let _ = (near.set_read_timeout(moment), far.set_read_timeout(moment));
    let mut bytes = [0; 16 * 1024];
    loop {
        match near.read(&mut bytes) {
            Ok(0) => return true,
            Ok(length) if far.write_all(&bytes[..length]).is_err() => return false,
            Err(error) if !is_early(&error) => return true,
            _ => {}
        }
        match far.read(&mut bytes) {
            Ok(0) => return false,
            Ok(length) if near.write_all(&bytes[..length]).is_err() => return true,
            Err(error) if !is_early(&error) => return false,
            _ => {}
        }
    }
}

fn is_early(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
