//! Calls that a rule holds for an operator.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::*;

/// Somebody who listens, for as long as it lives.
struct Listener(Child);

impl Listener {
    fn new(served: &Served) -> Self {
        let mut listen = Command::new(integration::dist().join("outcallctl"));
        listen.args(["asks", "listen", "--host-socket"]).arg(served.host_socket());
        let child = listen.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let listener = Self(child);
        served.until("somebody listens", || data(served.curl(&[], "/v1/asks"))["attended"] == true);
        listener
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The id of the only question, once there is one.
fn question(served: &Served) -> String {
    let mut id = None;
    served.until("a question waits", || {
        let asks = data(served.curl(&[], "/v1/asks"))["asks"].clone();
        id = asks[0]["id"].as_str().map(str::to_owned);
        id.is_some()
    });
    id.unwrap()
}

fn none_waits(served: &Served) -> bool {
    data(served.curl(&[], "/v1/asks"))["asks"].as_array().unwrap().is_empty()
}

/// What is on record about the file that is asked for.
fn recorded(served: &Served) -> Vec<Value> {
    let about = |line: &Value| line["target"].as_str().is_some_and(|t| t.ends_with("/asked"));
    served.records("decision").into_iter().filter(about).collect()
}

#[test]
fn an_operator_lets_a_call_go_on_or_not() {
    let served = served();
    let listener = Listener::new(&served);
    std::thread::scope(|scope| {
        let session = scope.spawn(|| served.session("cat asked; cat asked"));
        let first = question(&served);
        let ask = data(served.curl(&[], "/v1/asks"))["asks"][0].clone();
        assert_eq!(
            (&ask["rule"], &ask["reason"]),
            (&"ask-me".into(), &"An operator decides.".into())
        );
        assert!(ask["exe"].as_str().unwrap().ends_with("cat"), "{ask}");
        let table = out(&served.operator(&["asks", "list"]));
        assert!(table.contains(&first) && table.contains("ask-me"), "{table}");
        // Others are served meanwhile.
        assert!(served.session("cat file").status.success());
        let answer = data(post(&served, &format!("/v1/asks/{first}/answer"), r#"{"allow": true}"#));
        assert_eq!(answer["outcome"], "allowed");
        let mut second = question(&served);
        served.until("the second one", || {
            second = question(&served);
            second != first
        });
        let output = served.operator(&["asks", "deny", &second, "--reason", "not twice"]);
        assert_eq!(out(&output), format!("{second} denied\n"), "{}", err(&output));
        let output = session.join().unwrap();
        assert_eq!(out(&output), "asked");
        assert!(err(&output).contains("Operation not permitted"), "{}", err(&output));
    });
    let records = recorded(&served);
    assert_eq!((&records[0]["decision"], &records[0]["errno"]), (&"allow".into(), &Value::Null));
    assert!(records[0]["reason"].as_str().unwrap().contains("(uid"), "{}", records[0]);
    assert_eq!((&records[1]["decision"], &records[1]["errno"]), (&"ask".into(), &"EPERM".into()));
    assert!(records[1]["reason"].as_str().unwrap().contains("denied it: not twice"));
    drop(listener);
}

#[test]
fn with_nobody_there_a_call_is_refused_at_once_and_later_once() {
    let served = served_with(&["--ask-seconds", "1"]);
    let began = Instant::now();
    assert!(!served.session("cat asked").status.success());
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(recorded(&served).len(), 1);
    let _listener = Listener::new(&served);
    let began = Instant::now();
    assert!(!served.session("cat asked").status.success());
    assert!(began.elapsed() >= Duration::from_secs(1));
    let records = recorded(&served);
    assert_eq!(records.len(), 2);
    assert!(records[1]["reason"].as_str().unwrap().contains("timed_out"), "{}", records[1]);
    assert!(none_waits(&served));
}

#[test]
fn every_question_of_a_call_is_asked_and_what_is_blocked_stays_blocked() {
    let served = served();
    let _listener = Listener::new(&served);
    std::fs::create_dir(served.path().join("d")).unwrap();
    // One end would be asked about, the other is blocked: nobody is bothered.
    let output = served.session("mv asked d/secret");
    assert!(!output.status.success());
    assert!(recorded(&served).is_empty() && served.path().join("asked").exists());
    std::thread::scope(|scope| {
        let session = scope.spawn(|| served.session("mv asked d/asked"));
        let mut targets = Vec::new();
        served.until("it is moved", || {
            let asks = data(served.curl(&[], "/v1/asks"))["asks"].clone();
            if let Some(id) = asks[0]["id"].as_str() {
                targets.push(asks[0]["target"].as_str().unwrap().to_owned());
                data(post(&served, &format!("/v1/asks/{id}/answer"), r#"{"allow": true}"#));
            }
            session.is_finished()
        });
        let output = session.join().unwrap();
        assert!(output.status.success(), "{}", err(&output));
        targets.sort();
        targets.dedup();
        assert_eq!(targets.len(), 2, "{targets:?}");
    });
    assert!(served.path().join("d/asked").exists());
}

#[test]
fn a_question_ends_with_its_caller() {
    let served = served();
    let _listener = Listener::new(&served);
    std::thread::scope(|scope| {
        let session = scope.spawn(|| served.session("cat asked & p=$!; until [ -e go ]; do sleep 0.05; done; kill -9 $p; wait $p; echo $?"));
        question(&served);
        std::fs::write(served.path().join("go"), "").unwrap();
        served.until("it is withdrawn", || none_waits(&served));
        let output = session.join().unwrap();
        assert_eq!(out(&output), "137\n", "{}", err(&output));
    });
    // A signal that is handled interrupts the wait as it would interrupt the call.
    let script = "python3 -c 'import signal\n\
        signal.signal(signal.SIGUSR1, lambda *_: print(\"caught\", flush=True))\n\
        print(open(\"asked\").read())' & p=$!\n\
        until [ -e now ]; do sleep 0.05; done; kill -USR1 $p; wait $p";
    std::thread::scope(|scope| {
        let session = scope.spawn(|| served.session(script));
        let first = question(&served);
        std::fs::write(served.path().join("now"), "").unwrap();
        served.until("it is asked anew", || question(&served) != first);
        let again = question(&served);
        data(post(&served, &format!("/v1/asks/{again}/answer"), r#"{"allow": true}"#));
        let output = session.join().unwrap();
        assert_eq!(out(&output), "caught\nasked\n", "{}", err(&output));
    });
}
