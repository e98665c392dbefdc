//! The host API and the operator's commands, against a real outcalld on sockets of its own.

use std::process::{Command, Output};

use integration::served::{Reply, Served};
use serde_json::Value;

mod asks;
mod commands;
mod metrics;
mod peers;
mod stream;

/// Everything is allowed, but for what ends with `/secret`; `/asked` is for an operator.
const RULES: &str = "version: \"1\"\nrules:\n  - id: open\n    condition: \"true\"\n    \
    action: allow\n    description: d\n  - id: no-secret\n    \
    condition: \"target.endsWith('/secret') && action_type == 'file_access'\"\n    action: block\n    \
    priority: 1\n    description: d\n    reason: Secrets stay secret.\n  - id: ask-me\n    \
    condition: \"target.endsWith('/asked')\"\n    action: ask\n    priority: 1\n    \
    description: d\n    reason: An operator decides.\n";

fn served_with(flags: &[&str]) -> Served {
    let served = Served::with_flags(
        |directory| std::fs::write(directory.join("a.yaml"), RULES).unwrap(),
        flags,
    );
    for name in ["secret", "asked", "file"] {
        std::fs::write(served.path().join(name), name).unwrap();
    }
    served
}

fn served() -> Served {
    served_with(&[])
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn data(reply: Reply) -> Value {
    assert_eq!((reply.status, &reply.body["success"]), (200, &true.into()), "{}", reply.body);
    reply.body["data"].clone()
}

fn post(served: &Served, resource: &str, body: &str) -> Reply {
    let json = "Content-Type: application/json";
    served.curl(&["-X", "POST", "-H", json, "--data-binary", body], resource)
}

/// A session that runs until `action` has returned.
fn during<T>(served: &Served, script: &str, action: impl FnOnce() -> T) -> (T, Output) {
    let script = format!("{script}; touch begun; until [ -e end ]; do sleep 0.05; done");
    std::thread::scope(|scope| {
        let session = scope.spawn(|| served.session(&script));
        served.until("it runs", || served.path().join("begun").exists());
        let result = action();
        std::fs::write(served.path().join("end"), "").unwrap();
        (result, session.join().unwrap())
    })
}

#[test]
fn sessions_are_told_while_they_run() {
    let served = served();
    assert_eq!(data(served.curl(&[], "/v1/sessions"))["sessions"], Value::Array(Vec::new()));
    let (_, output) = during(&served, "cat secret", || {
        let sessions = data(served.curl(&[], "/v1/sessions"))["sessions"].clone();
        let session = &sessions[0];
        assert_eq!(sessions.as_array().unwrap().len(), 1);
        assert_eq!((&session["mode"], &session["profile"]), (&"enforce".into(), &"default".into()));
        assert!(session["counts"]["allowed"].as_u64() > Some(0), "{session}");
        assert_eq!(session["counts"]["refused"], 1, "{session}");
        assert!(session["begun"].as_str().unwrap().starts_with("20"), "{session}");
        let id = session["id"].as_str().unwrap();
        let one = data(served.curl(&[], &format!("/v1/sessions/{id}")));
        assert!(!one["processes"].as_array().unwrap().is_empty(), "{one}");
        let table = out(&served.operator(&["ps"]));
        let rows: Vec<&str> = table.lines().collect();
        assert!(rows[0].starts_with("SESSION") && rows[1].starts_with(id), "{table}");
        let json: Value = serde_json::from_str(&out(&served.operator(&["ps", "--json"]))).unwrap();
        assert_eq!(json["sessions"][0]["id"], id);
    });
    assert!(err(&output).contains("secret"), "{}", err(&output));
    served.until("it has ended", || {
        data(served.curl(&[], "/v1/sessions"))["sessions"].as_array().unwrap().is_empty()
    });
}

#[test]
fn a_question_is_evaluated_and_cases_are_tested() {
    let served = served();
    let facts = r#"{"action_type": "file_access", "target": "/w/secret"}"#;
    let answer = data(post(&served, "/v1/rules/evaluate", facts));
    assert_eq!((&answer["verdict"], &answer["rule"]["id"]), (&"block".into(), &"no-secret".into()));
    let explained = answer["explanation"].as_str().unwrap();
    assert!(explained.contains("is blocked by rule no-secret"), "{answer}");
    let facts = r#"{"action_type": "file_access", "target": "/w/open"}"#;
    let answer = data(post(&served, "/v1/rules/evaluate", facts));
    assert_eq!(answer["verdict"], "allow");
    assert_eq!(answer["near_misses"][0]["rule"]["id"], "no-secret", "{answer}");
    let wrong = post(&served, "/v1/rules/evaluate", r#"{"tagret": "x"}"#);
    assert_eq!((wrong.status, &wrong.body["diagnostics"][0]["line"]), (422, &1.into()));
    assert!(wrong.body["error"].as_str().unwrap().contains("target"), "{}", wrong.body);
    let cases = r#"{"version": "1", "cases": [
        {"name": "closed", "facts": {"target": "/secret"}, "expect": "block", "rule": "no-secret"},
        {"name": "wrong", "facts": {"target": "/x"}, "expect": "block"}]}"#;
    let results = data(post(&served, "/v1/rules/test", cases));
    assert_eq!((&results["passed"], &results["failed"]), (&1.into(), &1.into()));
    assert_eq!(results["results"][1]["passed"], false);
    let told = results["results"][1]["complaints"][0].as_str().unwrap();
    assert!(told.contains("expected block, got allow by rule open"), "{told}");
    // Asking decides nothing: nothing is on record.
    assert!(served.records("decision").is_empty());
}

#[test]
fn every_refusal_of_every_route_is_in_the_envelope() {
    let served = served();
    let long = "x".repeat(2 << 20);
    let file = served.path().join("long");
    std::fs::write(&file, long).unwrap();
    let long = format!("@{}", file.display());
    let cases: [(&[&str], &str, u16, &str); 20] = [
        (&[], "/v1/sessions/s-0", 404, "outcallctl ps"),
        (&[], "/v1/sessions/%ff", 400, ""),
        (&["-X", "POST"], "/v1/sessions", 405, "that method"),
        (&[], "/v1/rules/evaluate", 405, "that method"),
        (&["-d", "["], "/v1/rules/evaluate", 422, ""),
        (&["-d", "[]"], "/v1/rules/test", 422, ""),
        (&["--data-binary", &long], "/v1/rules/test", 413, ""),
        (&["-X", "DELETE"], "/v1/asks", 405, "that method"),
        (&["-d", "{"], "/v1/asks/ask-1/answer", 415, ""),
        (&["-H", "Content-Type: application/json", "-d", "{"], "/v1/asks/ask-1/answer", 400, ""),
        (
            &["-H", "Content-Type: application/json", "-d", "{\"allow\":true,\"x\":1}"],
            "/v1/asks/ask-1/answer",
            400,
            "unknown field",
        ),
        (
            &[
                "-H",
                "Content-Type: application/json",
                "-d",
                "{\"allow\":false,\"reason\":\"\\u0007\"}",
            ],
            "/v1/asks/ask-1/answer",
            400,
            "control characters",
        ),
        (
            &["-H", "Content-Type: application/json", "-d", "{\"allow\":true}"],
            "/v1/asks/ask-77/answer",
            404,
            "no question 'ask-77'",
        ),
        (&[], "/v1/decisions?limit=1001", 400, "1 to 1000"),
        (&[], "/v1/decisions?limit=x", 400, "whole number"),
        (&[], "/v1/decisions?sesion=x", 400, "did you mean 'session'?"),
        (&[], "/v1/decisions?decision=deny", 400, "is not one of"),
        (&["-H", "Last-Event-ID: x"], "/v1/decisions/stream", 400, "whole number"),
        (&[], "/v1/decisions/stream?limit=1", 400, "limit"),
        (&["-X", "POST"], "/metrics", 405, "that method"),
    ];
    for (arguments, resource, status, said) in cases {
        let reply = served.curl(arguments, resource);
        assert_eq!(reply.status, status, "{resource}: {}", reply.body);
        assert_eq!(reply.body["success"], false, "{resource}");
        assert!(reply.body["error"].as_str().unwrap().contains(said), "{resource}: {}", reply.body);
    }
    // No route of the agent API is here (FR-019).
    for route in ["checkin", "permissions/check", "profile", "supervise", "heartbeat", "denials"] {
        let reply = served.curl(&[], &format!("/v1/{route}"));
        assert_eq!(reply.status, 404, "{route}: {}", reply.body);
    }
}

#[test]
fn decisions_are_queried() {
    let served = served();
    let output = served.session("cat secret; cat file");
    assert_eq!(out(&output), "file", "{}", err(&output));
    let query = |query: &str| data(served.curl(&[], &format!("/v1/decisions?{query}")));
    let denied = query("decision=denied");
    assert_eq!(denied["records"].as_array().unwrap().len(), 1, "{denied}");
    let record = &denied["records"][0];
    assert_eq!((&record["rule"], &record["decision"]), (&"no-secret".into(), &"block".into()));
    let seq = record["seq"].as_u64().unwrap();
    let session = record["session"].as_str().unwrap();
    let count = |text: &str| query(text)["records"].as_array().unwrap().len();
    assert_eq!(count(&format!("rule=no-secret&session={session}&syscall=openat")), 1);
    assert_eq!(count("rule=no-secret&session=other"), 0);
    assert_eq!(count("container=none"), 0);
    let all = query("type=any&limit=1000");
    let numbers: Vec<u64> =
        all["records"].as_array().unwrap().iter().map(|r| r["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!((&all["last_seq"], &all["complete"]), (&numbers.len().into(), &true.into()));
    let next = query(&format!("since_seq={}&limit=1&type=any", seq - 1));
    assert_eq!((&next["records"][0], &next["complete"]), (record, &false.into()));
    let latest = query(&format!("type=any&limit=2&until_seq={seq}"));
    assert_eq!((&latest["records"][1], &latest["last_seq"]), (record, &seq.into()));
}

/// A command as somebody else.
fn somebody(uid: u32, gid: u32, groups: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string()]).args(groups);
    command
}
