//! The stream of decisions.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::*;

/// A reader of the stream that takes its time.
struct Reader {
    lines: BufReader<UnixStream>,
}

#[derive(Debug, Default)]
struct Event {
    id: Option<u64>,
    name: String,
    data: Value,
}

impl Reader {
    fn open(served: &Served, resource: &str, headers: &str) -> Self {
        let mut stream = UnixStream::connect(served.host_socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "GET {resource} HTTP/1.0\r\n{headers}\r\n").unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.contains("text/event-stream"), "{head}");
        // The first comment: from here on nothing is missed.
        let mut hello = String::new();
        lines.read_line(&mut hello).unwrap();
        assert!(hello.starts_with(':'), "{hello}");
        Self { lines }
    }

    fn next(&mut self) -> Event {
        let mut event = Event::default();
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the stream has ended");
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => event.id = id.parse().ok(),
                Some(("event", name)) => event.name = name.to_owned(),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                _ if !event.name.is_empty() => return event,
                _ => {}
            }
        }
    }

    fn until_control(&mut self, kind: &str) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.next();
            let last = event.data["type"] == kind;
            events.push(event);
            if last {
                return events;
            }
        }
    }
}

#[test]
fn records_come_as_they_are_written_and_a_reader_resumes() {
    let served = served();
    let mut reader = Reader::open(&served, "/v1/decisions/stream?type=any", "");
    let mut denials = Reader::open(&served, "/v1/decisions/stream?decision=denied", "");
    served.session("cat secret");
    let events = reader.until_control("session_end");
    let numbers: Vec<u64> = events.iter().map(|event| event.id.unwrap()).collect();
    let first = numbers[0];
    assert_eq!(numbers, (first..first + numbers.len() as u64).collect::<Vec<_>>());
    for event in &events {
        let name = if event.data["type"] == "decision" { "decision" } else { "control" };
        assert_eq!((event.name.as_str(), event.data["seq"].as_u64()), (name, event.id));
    }
    let denied = denials.next();
    assert_eq!((denied.name.as_str(), &denied.data["rule"]), ("decision", &"no-secret".into()));
    // Those who come back get what they have not seen, from the log and then as it is written.
    let half = numbers[numbers.len() / 2];
    let header = format!("Last-Event-ID: {half}\r\n");
    let ways = [
        (format!("/v1/decisions/stream?type=any&since={half}"), ""),
        ("/v1/decisions/stream?type=any&since=0".to_owned(), header.as_str()),
    ];
    for (resource, header) in ways {
        let mut again = Reader::open(&served, &resource, header);
        let resumed = again.until_control("session_end");
        let resumed: Vec<u64> = resumed.iter().map(|event| event.id.unwrap()).collect();
        assert_eq!(resumed, (half + 1..first + numbers.len() as u64).collect::<Vec<_>>());
        served.session("true");
        let live = again.until_control("session_end");
        let last = *resumed.last().unwrap();
        assert_eq!(live[0].id, Some(last + 1));
        assert!(live.iter().all(|event| event.name != "missed"));
        // For the next way, the log ends where this one began.
        drop(again);
        if header.is_empty() {
            let mut rest = Reader::open(&served, &format!("/v1/decisions/stream?since={last}"), "");
            assert_eq!(rest.next().data["type"], "decision");
        }
    }
}

#[test]
fn a_slow_reader_is_told_how_many_it_missed_and_holds_up_nobody() {
    let served = served();
    let mut reader = Reader::open(&served, "/v1/decisions/stream?type=any", "");
    // Far more than the ring, the socket and every buffer hold.
    let output =
        served.session("i=0; while [ $i -lt 6000 ]; do : < file; i=$((i + 1)); done; echo done");
    assert_eq!(out(&output), "done\n", "{}", err(&output));
    assert!(served.records("decision").len() > 6000);
    let (mut last, mut missed, mut got) = (0, 0, 0);
    for event in reader.until_control("session_end") {
        if event.name == "missed" {
            let count = event.data["count"].as_u64().unwrap();
            assert_eq!(event.data["from"].as_u64().unwrap(), last + 1);
            last = event.data["to"].as_u64().unwrap();
            missed += count;
            continue;
        }
        let id = event.id.unwrap();
        assert!(last == 0 || id == last + 1, "{id} after {last}");
        (last, got) = (id, got + 1);
    }
    assert!(missed > 1000 && got > 1000, "{missed} missed, {got} got");
}

#[test]
fn there_is_a_last_place_and_others_are_still_answered() {
    let served = served();
    let readers: Vec<Reader> =
        (0..32).map(|_| Reader::open(&served, "/v1/decisions/stream", "")).collect();
    let reply = served.curl(&[], "/v1/decisions/stream");
    assert_eq!(reply.status, 503, "{}", reply.body);
    assert!(served.curl(&[], "/v1/status").status == 200);
    drop(readers);
    served.until("places are free again", || {
        let (status, _) = served.text(&["--max-time", "1"], "/v1/decisions/stream");
        status == 200
    });
}
