//! Clients that misbehave: they are bounded, and nobody else notices. A process of the host stands
//! for a container here.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use integration::Served;
use integration::supervised::ALLOW_ALL;
use integration::wire::Wire;

mod flood;

fn served(limits: &str) -> Served {
    let settings = format!("host_sessions = true\n[limits]\n{limits}");
    Served::with_settings(&settings, |rules| {
        std::fs::write(rules.join("a.yaml"), ALLOW_ALL).unwrap();
    })
}

fn wire(served: &Served) -> Wire {
    Wire::connect(&served.agent_socket())
}

#[track_caller]
fn is_well(served: &Served) {
    let answer = wire(served).heartbeat();
    assert_eq!((answer.status, &answer.body["data"]["alive"]), (200, &true.into()));
}

/// Another container: a process that says what it has to say on its standard output.
struct Other {
    child: Child,
    said: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Other {
    fn start(served: &Served, script: &str) -> Self {
        let mut python = Command::new("/usr/bin/python3");
        python.arg("-c").arg(script).arg(served.agent_socket());
        let mut child =
            python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, said }
    }

    fn says(&mut self) -> String {
        self.said.next().expect("it says something").unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// EC-010: a body over 64 KiB is 413, and the connection goes on.
#[test]
fn a_large_body_is_413_and_the_connection_stays_usable() {
    let served = served("");
    let mut wire = wire(&served);
    for size in [64 * 1024 + 1, 200_000, 3_000_000] {
        let answer = wire.ask("POST", "/v1/checkin", "", &" ".repeat(size));
        assert_eq!(answer.status, 413, "{size}: {}", answer.body);
        assert_eq!(answer.body["success"], false);
        assert_eq!(wire.heartbeat().status, 200, "{size}");
    }
    // One that is never to end is not read to its end.
    assert!(
        wire.send("POST /v1/checkin HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    );
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let mut sent = 0;
    while sent < 1024 && wire.send(&chunk) {
        sent += 1;
    }
    assert!(sent < 1024, "64 MiB were taken");
    is_well(&served);
}

/// IF-005: every refusal is in the envelope.
#[test]
fn refusals_are_in_the_envelope() {
    let served = served("");
    let mut wire = wire(&served);
    let token = wire.check_in();
    for (method, path, token, body, status) in [
        ("GET", "/v1/nothing", "", "", 404),
        ("GET", "/v1/rules", "", "", 404),
        ("GET", "/v1/status", "", "", 404),
        ("DELETE", "/v1/checkin", "", "", 405),
        ("POST", "/v1/checkin", "", "{", 400),
        ("POST", "/v1/checkin", "", r#"{"container_id":"x"}"#, 400),
        ("GET", "/v1/profile", "", "", 401),
        ("GET", "/v1/profile", "tok-00000000000000000000000000000000", "", 401),
        ("GET", "/v1/profile", &token, "", 200),
        ("POST", "/v1/supervise", &token, "", 400),
    ] {
        let answer = wire.ask(method, path, token, body);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
        assert_eq!(answer.body["success"], status == 200, "{method} {path}");
    }
    let text = "POST /v1/checkin HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}";
    assert!(wire.send(text));
    assert_eq!(wire.answer().unwrap().status, 415);
    assert_eq!(wire.check_in(), token, "checking in again returns the same session");
}

/// IF-001: who belongs to no container is told so, by the number of its process.
#[test]
fn a_process_of_the_host_is_refused_by_default() {
    let served = Served::with_settings("", |rules| {
        std::fs::write(rules.join("a.yaml"), ALLOW_ALL).unwrap();
    });
    let answer = wire(&served).ask("POST", "/v1/checkin", "", "{}");
    let expected = format!(
        "check-in rejected: peer PID {} does not belong to a known container",
        std::process::id()
    );
    assert_eq!((answer.status, &answer.body["error"]), (403, &expected.into()));
}

/// IF-001: a token counts in its own container alone, and ends with it.
#[test]
fn a_stolen_token_is_403_and_a_dead_ones_is_401() {
    let served = served("");
    let script = "import socket, sys, json\n\
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n\
        s.sendall(b'POST /v1/checkin HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 0\\r\\n\\r\\n')\n\
        print(json.loads(s.recv(9999).split(b'\\r\\n\\r\\n')[1])['data']['session_token'], flush=True)\n\
        sys.stdin.read()\n";
    let mut other = Other::start(&served, script);
    let stolen = other.says();
    let mut wire = wire(&served);
    let own = wire.check_in();
    assert_ne!(own, stolen);
    let answer = wire.ask("GET", "/v1/profile", &stolen, "");
    assert_eq!(answer.status, 403, "{}", answer.body);
    assert_eq!(answer.body["error"], "the session token belongs to another container");
    drop(other);
    served.until("the token ends", || wire.ask("GET", "/v1/profile", &stolen, "").status == 401);
    assert_eq!(wire.ask("GET", "/v1/profile", &own, "").status, 200);
}

#[test]
fn who_dribbles_is_sent_away_and_who_is_silent_too() {
    let served = served("header_seconds = 1\nidle_seconds = 2\nbody_seconds = 1\n");
    let mut dribblers: Vec<Wire> = (0..50).map(|_| wire(&served)).collect();
    let mut silent = wire(&served);
    let mut body = wire(&served);
    assert!(body.send("POST /v1/checkin HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n"));
    let mut line = "GET /v1/heartbeat HTTP/1.1\r\nX: ".bytes().chain(std::iter::repeat(b'x'));
    let began = Instant::now();
    while !dribblers.is_empty() {
        let byte = [line.next().unwrap()];
        dribblers.retain_mut(|dribbler| dribbler.send(byte));
        let _ = body.send(b" ");
        is_well(&served);
        assert!(began.elapsed() < Duration::from_secs(10), "{} are left", dribblers.len());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(body.answer().unwrap().status, 408);
    assert!(silent.is_ended() && began.elapsed() < Duration::from_secs(10));
    // A session's connection is silent for as long as it likes.
    let output = served.session("sleep 4; echo fine");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "fine\n", "{output:?}");
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let served = served("");
    let mut wire = wire(&served);
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    let pair = request("/v1/heartbeat") + &request("/v1/nothing");
    assert!(wire.send(pair.repeat(100)));
    for number in 0..200 {
        let expected = if number % 2 == 0 { 200 } else { 404 };
        assert_eq!(wire.answer().unwrap().status, expected, "{number}");
    }
}

#[test]
fn a_head_that_is_too_large_and_what_is_no_http_end_their_connection_only() {
    let served = served("");
    let mut steady = wire(&served);
    steady.heartbeat();
    let mut large = wire(&served);
    let head = format!("GET /v1/heartbeat HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let _ = large.send(head);
    assert!(large.answer().is_none_or(|answer| answer.status == 431));
    for nonsense in
        ["\0\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9\r\n\r\n", "\u{16}\u{3}\u{1}"]
    {
        let mut wire = Wire::connect(&served.agent_socket());
        let _ = wire.send(nonsense);
        let _ = wire.stop_sending();
        assert!(wire.answer().is_none_or(|answer| answer.status == 400), "{nonsense:?}");
    }
    let many = "GET /v1/heartbeat HTTP/1.1\r\n".to_owned() + &"A: b\r\n".repeat(500) + "\r\n";
    let mut wire = wire(&served);
    let _ = wire.send(many);
    assert!(wire.answer().is_none_or(|answer| answer.status == 431));
    assert_eq!(steady.heartbeat().status, 200);
}

/// A full table is 503 for the newcomer, and for nobody else.
#[test]
fn a_full_table_of_sessions_is_503() {
    let served = served("sessions = 1\n");
    let script = "import socket, sys\n\
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n\
        while True:\n\
        \x20   s.sendall(b'POST /v1/checkin HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 0\\r\\n\\r\\n')\n\
        \x20   print(s.recv(9999).split()[1].decode(), flush=True)\n\
        \x20   if not sys.stdin.readline(): break\n";
    let mut first = Other::start(&served, script);
    assert_eq!(first.says(), "200");
    let answer = wire(&served).ask("POST", "/v1/checkin", "", "{}");
    assert_eq!((answer.status, &answer.body["error"]), (503, &"too many sessions".into()));
    first.child.stdin.as_mut().unwrap().write_all(b"again\n").unwrap();
    assert_eq!(first.says(), "200");
}
