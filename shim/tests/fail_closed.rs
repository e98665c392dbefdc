//! What happens when the daemon is missing, dies, hangs or lies: nothing runs on, and the code is 5.
#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

mod fake;

use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fake::{
    Manner, Place, Scratch, Seen, alive, finish, ok, outcome, pid_in, response, shim, start_with,
    until, verdict,
};

const CHECK: &str = "/v1/permissions/check";
const LOST: &str = "outcalld unreachable — exiting (fail closed)";

fn answering(reply: &str) -> Arc<Seen> {
    let seen = Arc::<Seen>::default();
    seen.replies.lock().unwrap().insert(CHECK.to_owned(), reply.to_owned());
    seen
}

/// FR-011, EC-005: anything but a well-formed verdict is not an allow.
#[test]
fn what_is_no_verdict_is_no_permission() {
    let scratch = Scratch::new("no-verdict");
    let note = scratch.file("note");
    let good = verdict(true);
    let head = |extra: &str| format!("HTTP/1.1 200 OK\r\n{extra}\r\n\r\n{good}");
    let length = good.len();
    let allowed = r#"{"allowed":true,"matched_rule":null,"reason":null}"#;
    for reply in [
        response("200 OK", "not json"),
        response("200 OK", &ok("{}")),
        response("200 OK", &ok(r#"{"allowed":true}"#)),
        response("200 OK", &ok(r#"{"allowed":"true","matched_rule":null,"reason":null}"#)),
        response("200 OK", &format!(r#"{{"success":false,"data":{allowed}}}"#)),
        response("200 OK", &format!(r#"{{"success":true,"data":{allowed},"error":"no"}}"#)),
        response("200 OK", &format!(r#"{{"success":true,"data":{allowed},"data":{allowed}}}"#)),
        response("200 OK", &format!("{good}{good}")),
        response("201 Created", &good),
        response("403 Forbidden", &good),
        response("401 Unauthorized", r#"{"success":false,"error":"invalid token"}"#),
        response("429 Too Many Requests", r#"{"success":false,"error":"rate limit exceeded"}"#),
        response("500 Internal Server Error", r#"{"success":false,"error":"oops"}"#),
        head(&format!("Content-Length: {length}\r\nContent-Length: {length}")),
        head(&format!("Content-Length: {length}\r\nTransfer-Encoding: chunked")),
        head("Transfer-Encoding: chunked"),
        head("X: y"),
        head(&format!("Content-Length: {}", length - 1)),
        head("Content-Length: 99999999"),
        format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(20_000)),
        response("200 OK", &"x".repeat(1024 * 1024 + 1)),
        format!("{}{}", response("200 OK", &good), response("200 OK", &good)),
    ] {
        for words in [&["exec", "touch", &note][..], &["check", "tool_exec", "x"]] {
            let seen = answering(&reply);
            let (code, out, err) = finish(start_with(seen, words, Manner::Good, |_| {}));
            let shown = &reply[..reply.len().min(200)];
            assert_eq!((code, out.as_str()), (5, ""), "{shown}\n{err}");
            assert!(err.contains("check"), "{err}");
            assert!(!std::path::Path::new(&note).exists(), "{shown}");
        }
    }
}

/// FR-012, EC-003: a daemon that dies in the middle of a check; the action is not executed.
#[test]
fn an_action_in_flight_is_not_executed() {
    let scratch = Scratch::new("in-flight");
    let note = scratch.file("note");
    let trial = start_with(Arc::default(), &["touch", &note], Manner::DropsCheck, |_| {});
    let (code, out, err) = finish(trial);
    assert_eq!((code, out.as_str()), (5, ""));
    assert!(err.contains(LOST), "{err}");
    assert!(!std::path::Path::new(&note).exists());
}

/// FR-013, FR-014, EC-004: each request has a timeout; a malformed value is an error, not a default.
#[test]
fn a_verdict_that_does_not_come_is_none() {
    let begin = Instant::now();
    let trial = start_with(answering(""), &["exec", "true"], Manner::Good, |c| {
        c.env("OUTCALL_TIMEOUT_SECS", "1");
    });
    let (code, _, err) = finish(trial);
    assert!(code == 5 && err.contains("no answer within 1 s") && err.contains(LOST), "{err}");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    for bad in ["0", "301", "5s", ""] {
        let trial = start_with(Arc::default(), &["why"], Manner::Good, |c| {
            c.env("OUTCALL_TIMEOUT_SECS", bad);
        });
        let (code, _, err) = finish(trial);
        assert!(code == 5 && err.contains("OUTCALL_TIMEOUT_SECS"), "{bad}: {err}");
    }
}

/// FR-003, EC-007: refused means five, for every verb, and nothing is asked.
#[test]
fn a_refused_check_in_is_the_end() {
    for words in [&["exec", "true"][..], &["read", "/x"], &["why"], &["request", "status", "rr-1"]]
    {
        let seen = Arc::default();
        let (code, out, err) =
            finish(start_with(Arc::clone(&seen), words, Manner::Refuses, |_| {}));
        assert_eq!((code, out.as_str()), (5, ""), "{err}");
        assert_eq!(seen.requests.lock().unwrap().len(), 1);
    }
}

/// FR-001, FR-002, FR-005, EC-001, EC-008: the constant path and no other; missing and stale are five.
#[test]
fn a_missing_or_stale_socket_is_unreachable() {
    let Some(place) = Place::new("missing") else { return };
    let decoy = Scratch::new("decoy");
    let elsewhere = UnixListener::bind(decoy.0.join("agent.sock")).unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let run = || {
        let mut command = place.shim(&["exec", "true"]);
        outcome(command.env("OUTCALL_AGENT_SOCKET", decoy.file("agent.sock")).spawn().unwrap())
    };
    let (code, _, err) = run();
    assert_eq!(code, 5);
    assert!(err.contains("agent socket not found at /run/outcall/agent.sock"), "{err}");
    drop(UnixListener::bind(place.socket()).unwrap());
    let (code, _, err) = run();
    assert!(code == 5 && err.contains(LOST) && err.contains("refused"), "{err}");
    assert!(elsewhere.accept().is_err(), "nothing else was talked to");
}

/// FR-004, FR-012, EC-002, EC-010: the socket's file disappears while the connection lives: killed and
/// reaped within a second, and a socket that comes back is not connected to.
#[test]
fn a_socket_that_disappears_ends_everything() {
    for verb in [&["exec"][..], &["run", "--"]] {
        let Some(place) = Place::new(&format!("disappears-{}", verb[0])) else { return };
        place.serve(Manner::Good);
        let pid = place.scratch.file("pid");
        let script = format!("setsid sh -c 'echo $$ > {pid}; sleep 300' & wait");
        let words: Vec<&str> = verb.iter().copied().chain(["sh", "-c", &script]).collect();
        let child = place.shim(&words).spawn().unwrap();
        until(|| pid_in(&pid).is_some());
        let workload = pid_in(&pid).unwrap();
        let begin = Instant::now();
        std::fs::remove_file(place.socket()).unwrap();
        place.serve(Manner::Good);
        let (code, _, err) = outcome(child);
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
        assert_eq!(code, 5, "{err}");
        assert!(err.contains(LOST) && err.contains("the agent socket is gone"), "{err}");
        assert!(!alive(workload));
        assert_eq!(place.connections(), 1, "no reconnect");
    }
}

/// EC-002: the same while a verdict is pending.
#[test]
fn a_socket_that_disappears_ends_a_question() {
    let Some(place) = Place::new("disappears-asking") else { return };
    place.seen.replies.lock().unwrap().insert(CHECK.into(), String::new());
    place.serve(Manner::Good);
    let child = place.shim(&["exec", "true"]).spawn().unwrap();
    until(|| place.seen.count(CHECK) == 1);
    let begin = Instant::now();
    std::fs::remove_file(place.socket()).unwrap();
    let (code, _, err) = outcome(child);
    assert!(code == 5 && err.contains(LOST), "{err}");
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

/// FR-004: a lost connection kills and reaps the whole tree within a second, for `exec` too.
#[test]
fn a_lost_connection_ends_the_tree_of_exec() {
    let scratch = Scratch::new("exec-lost");
    let pid = scratch.file("pid");
    let script = format!(
        "(setsid sh -c 'trap \"\" TERM HUP; echo $$ > {pid}; sleep 300; :' &) ; wait; sleep 300"
    );
    let trial = start_with(Arc::default(), &["sh", "-c", &script], Manner::Good, |_| {});
    until(|| pid_in(&pid).is_some());
    let workload = pid_in(&pid).unwrap();
    let begin = Instant::now();
    trial.connection.shutdown(Shutdown::Both).unwrap();
    let (code, _, err) = finish(trial);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert!(code == 5 && err.contains(LOST), "{err}");
    assert!(!alive(workload));
}

/// FR-004: as pid 1 of a container, everything in it ends, whoever's child it is.
#[test]
fn as_pid_one_everything_ends() {
    let Some(place) = Place::new("pid-one") else { return };
    place.serve(Manner::Good);
    let pid = place.scratch.file("pid");
    let script = format!("setsid sleep 321.5 & echo x > {pid}; wait");
    let shim = env!("CARGO_BIN_EXE_outcall-agent");
    let enter = ["unshare", "--pid", "--fork", "--mount-proc", shim, "exec", "sh", "-c", &script];
    let mut command = place.enter(&enter);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until(|| std::path::Path::new(&pid).exists());
    let begin = Instant::now();
    std::fs::remove_file(place.socket()).unwrap();
    let (code, _, err) = outcome(child);
    assert_eq!(code, 5, "{err}");
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert!(!is_running(b"sleep\x00321.5\x00"));
}

fn is_running(line: &[u8]) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|found| found == line)
}

/// FR-004: a container without /proc hides the tree; the program itself is killed all the same.
#[test]
fn without_proc_the_program_still_ends() {
    let Some(place) = Place::new("no-proc") else { return };
    place.serve(Manner::Good);
    let shim = env!("CARGO_BIN_EXE_outcall-agent");
    let cover = "mount -t tmpfs tmpfs /proc && exec \"$@\"";
    let words = ["/bin/sh", "-c", cover, "sh", shim, "exec", "sleep", "321.7"];
    let child = place.enter(&words).stderr(Stdio::piped()).spawn().unwrap();
    until(|| is_running(b"sleep\x00321.7\x00"));
    let begin = Instant::now();
    std::fs::remove_file(place.socket()).unwrap();
    let (code, _, err) = outcome(child);
    assert_eq!(code, 5, "{err}");
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert!(!is_running(b"sleep\x00321.7\x00"));
}

/// FR-019: while a verdict is pending the daemon is asked on another connection whether it is alive.
#[test]
fn a_pending_question_has_a_heartbeat() {
    let Some(place) = Place::new("pending") else { return };
    *place.seen.delay.lock().unwrap() = Duration::from_secs(12);
    place.serve(Manner::Good);
    let begin = Instant::now();
    let (code, out, err) = outcome(place.shim(&["exec", "echo", "late"]).spawn().unwrap());
    assert_eq!((code, out.as_str(), err.as_str()), (0, "late\n", ""));
    assert!(begin.elapsed() >= Duration::from_secs(12));
    assert_eq!(place.seen.count("/v1/heartbeat"), 1);
    assert_eq!(place.connections(), 2);
}

/// FR-019: a daemon that holds a question and is not alive otherwise is given up on.
#[test]
fn a_pending_question_without_a_pulse_is_lost() {
    let Some(place) = Place::new("pulseless") else { return };
    place.seen.replies.lock().unwrap().insert(CHECK.into(), String::new());
    let dead = response("503 Service Unavailable", r#"{"success":false,"error":"not able"}"#);
    place.seen.replies.lock().unwrap().insert("/v1/heartbeat".into(), dead);
    place.serve(Manner::Good);
    let begin = Instant::now();
    let (code, _, err) = outcome(place.shim(&["check", "tool_exec", "x"]).spawn().unwrap());
    assert!(code == 5 && err.contains("not able"), "{err}");
    assert!((10..12).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
}

/// FR-020: after SIGTERM a question is finished, and nothing new begins.
#[test]
fn sigterm_finishes_the_question_and_begins_nothing() {
    let scratch = Scratch::new("sigterm");
    let note = scratch.file("note");
    for (words, expected, shown) in [
        (&["check", "tool_exec", "x"][..], 0, "allowed: tool_exec x"),
        (&["touch", &note], 1, "SIGTERM came before the command began"),
    ] {
        let seen = Arc::<Seen>::default();
        *seen.delay.lock().unwrap() = Duration::from_millis(500);
        let trial = start_with(seen.clone(), words, Manner::Good, |_| {});
        until(|| seen.count(CHECK) == 1);
        // SAFETY: kill takes two integers; the child is not reaped yet.
        unsafe { libc::kill(trial.child.id() as i32, libc::SIGTERM) };
        let (code, out, err) = finish(trial);
        assert_eq!(code, expected, "{err}");
        assert!(format!("{out}{err}").contains(shown), "{out}{err}");
        assert!(!std::path::Path::new(&note).exists());
    }
}

/// EC-006: concurrent invocations are independent: one that loses its daemon does not touch another.
#[test]
fn concurrent_invocations_are_independent() {
    let trials: Vec<_> = (0..20)
        .map(|index| {
            let code = format!("sleep 0.3; exit {index}");
            start_with(Arc::default(), &["sh", "-c", &code], Manner::Good, |_| {})
        })
        .collect();
    thread::sleep(Duration::from_millis(100));
    for trial in trials.iter().step_by(5) {
        trial.connection.shutdown(Shutdown::Both).unwrap();
    }
    for (index, trial) in trials.into_iter().enumerate() {
        let expected = if index % 5 == 0 { 5 } else { index as i32 };
        assert_eq!(finish(trial).0, expected);
    }
}

#[test]
fn a_connection_that_is_none_is_unreachable() {
    let done = shim().args(["--connected", "199", "exec", "true"]).output().unwrap();
    assert_eq!(done.status.code(), Some(5));
}
