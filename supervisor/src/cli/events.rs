//! A reader of the daemon's stream: server-sent events, bounded in size and silence.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::host::{HostError, connect};

/// The daemon speaks at least every ten seconds.
const PATIENCE: Duration = Duration::from_secs(30);
const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;
const MAX_HEADERS: usize = 64;

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) id: Option<u64>,
    pub(super) name: String,
    pub(super) data: String,
}

/// An open stream.
#[derive(Debug)]
pub(super) struct Events<R> {
    reader: BufReader<R>,
}

impl Events<UnixStream> {
    /// Asks in HTTP/1.0: the body is what comes until the connection ends.
    pub(super) fn open(socket: &Path, resource: &str) -> Result<Self, HostError> {
        let mut stream = connect(socket)?;
        let mut asking = || -> io::Result<()> {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(format!("GET {resource} HTTP/1.0\r\nHost: outcall\r\n\r\n").as_bytes())
        };
        asking().map_err(|cause| HostError::Send { cause })?;
        Self::new(stream)
    }
}

impl<R: Read> Events<R> {
    fn new(stream: R) -> Result<Self, HostError> {
        let mut events = Self { reader: BufReader::new(stream) };
        let malformed = |why| HostError::Malformed { why };
        let receive = |cause| HostError::Receive { cause };
        let status = events.line().map_err(receive)?.unwrap_or_default();
        if status.split(' ').nth(1) != Some("200") {
            return Err(malformed("it has no stream of decisions for this request"));
        }
        for _ in 0..MAX_HEADERS {
            match events.line().map_err(receive)? {
                Some(line) if line.is_empty() => return Ok(events),
                Some(_) => {}
                None => break,
            }
        }
        Err(malformed("its head has no end"))
    }

    /// The next event. `None`: the stream has ended.
    pub(super) fn next(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event::default();
        while let Some(line) = self.line()? {
            match line.split_once(": ") {
                None if line.is_empty() && event != Event::default() => return Ok(Some(event)),
                Some(("id", id)) => event.id = id.parse().ok(),
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("data", data)) => data.clone_into(&mut event.data),
                // Comments keep the connection alive.
                _ => {}
            }
        }
        Ok(None)
    }

    /// A line without its end. `None`: there is no whole one.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let mut bounded = (&mut self.reader).take(MAX_LINE_BYTES);
        bounded.read_until(b'\n', &mut bytes)?;
        if bytes.pop() != Some(b'\n') {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        String::from_utf8(bytes).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_comments_are_not() {
        let text = "HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\nid: 7\n\
                    event: decision\ndata: {\"a\": 1}\n\n: heartbeat\n\nevent: missed\ndata: {}\n\nid: 8\n";
        let mut events = Events::new(text.as_bytes()).unwrap();
        let first = events.next().unwrap().unwrap();
        assert_eq!(
            (first.id, first.name.as_str(), first.data.as_str()),
            (Some(7), "decision", "{\"a\": 1}")
        );
        assert_eq!(events.next().unwrap().unwrap().name, "missed");
        // Half an event is none.
        assert_eq!(events.next().unwrap(), None);
        assert!(Events::new("HTTP/1.0 403 Forbidden\r\n\r\n".as_bytes()).is_err());
    }
}
