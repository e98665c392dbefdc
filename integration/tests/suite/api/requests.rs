//! Rule requests, from the agent's file to the operator's yes or no, and through crashes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use integration::Served;
use integration::agent::Agent;
use serde_json::{Value, json};

use super::Api;

const FILE: &str = "version: \"1\"\nrules:\n  - id: allow-workspace-read\n    condition: \"action_type == 'file_access' && target.startsWith('/workspace')\"\n    action: allow\n    description: Allow read access to /workspace directory";
const PATH: &str = "/v1/requests/rules";
const ONE: &str = "/v1/requests/rules/{id}";

impl Api {
    fn submit(&self, text: &str) -> String {
        let answer = self.post(PATH, &json!({ "rule_file": text }).to_string());
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["data"]["id"].as_str().unwrap().to_owned()
    }

    fn status(&self, id: &str) -> Value {
        self.get(ONE, &format!("{PATH}/{id}")).body["data"].clone()
    }

    fn decide(&self, id: &str, what: &str, body: &Value) -> (u16, Value) {
        let resource = format!("{PATH}/{id}/{what}");
        let json = ["-H", "Content-Type: application/json", "-d", &body.to_string()];
        let reply = self.served.curl(&json, &resource);
        (reply.status, reply.body)
    }
}

/// IF-003, IF-004: the documented example, pending, approved and rejected.
#[test]
fn a_rule_request_is_as_documented() {
    let api = Api::new();
    let id = api.submit(FILE);
    let pending = json!({ "id": id, "status": "pending", "reason": null });
    assert_eq!(api.status(&id), pending);
    let (status, body) = api.decide(&id, "approve", &json!({ "widen": true }));
    assert_eq!(status, 200, "{body}");
    let approved = api.status(&id);
    assert_eq!(approved["status"], "approved");
    let reason = approved["reason"].as_str().unwrap();
    assert!(reason.starts_with("operator approved at 2") && reason.contains('Z'), "{reason}");
    assert!(api.served.ids().contains(&format!("{id}/allow-workspace-read")));
    let other = api.submit(FILE);
    let why = "policy does not permit filesystem write rules for this container";
    let (status, body) = api.decide(&other, "reject", &json!({ "reason": why }));
    assert_eq!(status, 200, "{body}");
    assert_eq!(api.status(&other), json!({ "id": other, "status": "rejected", "reason": why }));
    assert_eq!(api.decide(&other, "approve", &json!({})).0, 409);
    assert_eq!(api.decide("rr-0", "approve", &json!({})).0, 404);
}

/// IF-003, IF-004: what is not valid, and what is not there.
#[test]
fn mistakes_in_rule_requests_are_told() {
    let api = Api::new();
    let broken = json!({ "rule_file": "version: \"1\"\nrules:\n  - id: [x\n" });
    let answer = api.post(PATH, &broken.to_string());
    let error = answer.body["error"].as_str().unwrap();
    assert_eq!(answer.status, 422);
    assert!(error.starts_with("invalid rule file: line "), "{error}");
    let answer = api.get(ONE, &format!("{PATH}/rr-xyz789"));
    let expected = json!({ "success": false, "error": "rule request rr-xyz789 not found" });
    assert_eq!((answer.status, answer.body), (404, expected));
    let (status, _) = api.decide("rr-0", "reject", &json!({ "reason": "a\nb" }));
    assert_eq!(status, 400, "no control characters");
    let (status, _) = api.decide("rr-0", "reject", &json!({ "reason": "x".repeat(1025) }));
    assert_eq!(status, 400, "1,024 bytes at most");
}

/// Operators see what a request would do before they decide.
#[test]
fn an_operator_sees_what_a_request_would_do() {
    let api = Api::new();
    let id = api.submit("version: \"1\"\nrules:\n  - id: all\n    condition: \"true\"\n    action: allow\n    priority: 1\n");
    let shown = api.served.curl(&[], &format!("{PATH}/{id}")).body["data"].clone();
    assert_eq!(shown["priorities_raised"], json!(["all"]));
    assert_eq!(shown["would_allow"][0]["id"], format!("{id}/all"));
    assert_eq!(shown["would_allow"][0]["priority"], 1000);
    assert_eq!(shown["diagnostics"], json!([]));
    assert!(!shown["warnings"].as_array().unwrap().is_empty(), "it allows everything");
    let list = |query: &str| {
        api.served.curl(&[], &format!("{PATH}{query}")).body["data"]["requests"].clone()
    };
    assert_eq!(list("?status=pending")[0]["id"], id);
    assert_eq!(list("?status=approved"), json!([]));
    assert_eq!(api.served.curl(&[], &format!("{PATH}?status=aproved")).status, 400);
    // Broken rules of the operator: nothing is half done.
    let before = api.served.ids();
    std::fs::write(api.served.rules("b.yaml"), "broken").unwrap();
    let (status, body) = api.decide(&id, "approve", &json!({ "widen": true }));
    assert_eq!(status, 422, "{body}");
    assert_eq!(api.status(&id)["status"], "pending");
    assert_eq!(api.served.ids(), before);
    std::fs::remove_file(api.served.rules("b.yaml")).unwrap();
    assert_eq!(api.decide(&id, "approve", &json!({ "widen": true })).0, 200);
}

/// What was acknowledged, by request id: whether an approval was.
type Acknowledged = Mutex<BTreeMap<String, bool>>;

const KILLS: u64 = 60;

/// `kill -9` at any point of submissions and approvals: nothing acknowledged is lost, nothing is
/// applied twice.
#[test]
fn nothing_acknowledged_is_lost_to_a_crash() {
    let rules =
        |rules: &std::path::Path| std::fs::write(rules.join("a.yaml"), super::RULES).unwrap();
    let mut served = Served::with_rules(rules);
    let acknowledged = Acknowledged::default();
    let mut seed = 0x5eed_u64;
    for round in 0..KILLS {
        verify(&served, &acknowledged.lock().unwrap());
        let over = AtomicBool::new(false);
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pause = Duration::from_micros((seed >> 33) % 60_000);
        std::thread::scope(|scope| {
            scope.spawn(|| submit_until(&over, &served, &acknowledged, round));
            scope.spawn(|| approve_until(&over, &served, &acknowledged));
            std::thread::sleep(pause);
            served.signal("-KILL");
            over.store(true, Ordering::Release);
        });
        served.end();
        served.start_again();
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    verify(&served, &acknowledged);
    let approved = acknowledged.values().filter(|approved| **approved).count();
    eprintln!("{} requests and {approved} approvals were acknowledged", acknowledged.len());
    assert!(acknowledged.len() as u64 >= KILLS / 2, "{}", acknowledged.len());
    assert!(approved as u64 >= KILLS / 4, "{approved}");
}

fn submit_until(over: &AtomicBool, served: &Served, acknowledged: &Acknowledged, round: u64) {
    let Some(mut agent) = Agent::check_in(&served.agent_socket()) else { return };
    let text = format!(
        "version: \"1\"\nrules:\n  - id: of-{round}\n    condition: \"target == '/{round}'\"\n    action: allow\n"
    );
    while !over.load(Ordering::Acquire) {
        let body = json!({ "rule_file": text });
        let Some(answer) = agent.ask("POST", PATH, Some(&body)) else { return };
        match answer.status {
            201 => {
                let id = answer.body["data"]["id"].as_str().unwrap().to_owned();
                acknowledged.lock().unwrap().insert(id, false);
            }
            // The table is full, or it is too early: the operator is at work.
            429 | 503 => std::thread::sleep(Duration::from_millis(5)),
            status => panic!("{status}: {}", answer.body),
        }
    }
}

fn approve_until(over: &AtomicBool, served: &Served, acknowledged: &Acknowledged) {
    while !over.load(Ordering::Acquire) {
        let waiting = |known: &BTreeMap<String, bool>| {
            known.iter().find(|(_, approved)| !**approved).map(|(id, _)| id.clone())
        };
        let Some(id) = waiting(&acknowledged.lock().unwrap()) else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        match operator(served, &id) {
            Some(200 | 409) => drop(acknowledged.lock().unwrap().insert(id, true)),
            Some(status) => panic!("{status} for {id}"),
            None => return,
        }
    }
}

/// An approval over host.sock; `None` where no answer comes.
fn operator(served: &Served, id: &str) -> Option<u16> {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(served.host_socket()).ok()?;
    let body = r#"{"widen":true}"#;
    let request = format!(
        "POST {PATH}/{id}/approve HTTP/1.1\r\nHost: outcall\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    text.split(' ').nth(1)?.parse().ok()
}

/// Every acknowledged request is there, and its rules are in force exactly if it is approved.
fn verify(served: &Served, acknowledged: &BTreeMap<String, bool>) {
    let all = served.curl(&[], PATH).body["data"]["requests"].clone();
    let all = all.as_array().unwrap();
    let rules = served.ids();
    let in_force =
        |id: &str| rules.iter().filter(|rule| rule.starts_with(&format!("{id}/"))).count();
    for request in all {
        let id = request["id"].as_str().unwrap();
        let expected = match request["status"].as_str().unwrap() {
            "approved" => 1,
            "pending" => 0,
            other => panic!("{id} is {other} after a start"),
        };
        assert_eq!(in_force(id), expected, "{request}");
    }
    for (id, approved) in acknowledged {
        let found = all.iter().find(|request| request["id"] == id.as_str());
        let found = found.unwrap_or_else(|| panic!("{id} is lost"));
        assert!(!approved || found["status"] == "approved", "{found}");
    }
}
