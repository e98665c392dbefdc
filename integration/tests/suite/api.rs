//! The agent API, asked with curl over the Unix socket: every example of S004, compared with the
//! documented JSON and with the shipped schemas.

use integration::Served;
use integration::agent::{Answer, Bridge};
use integration::conform::{document, mistakes};
use serde_json::{Value, json};

mod parity;
mod requests;

const RULES: &str = r#"version: "1"
rules:
  - id: rule-7f8e9d
    condition: "action_type == 'tool_exec' && target == 'read_file' && metadata['path'].startsWith('/workspace') && metadata['mode'] == 'read'"
    action: allow
  - id: no-push
    condition: "action_type == 'shell_exec' && run.tool == 'git' && 'push' in run.args"
    action: block
    reason: Nobody pushes from here.
  - id: deploy
    condition: "action_type == 'tool_exec' && target == 'deploy'"
    action: ask
    reason: Deployments need a person.
  - id: everything-in-files
    condition: "action_type == 'file_access'"
    action: allow
"#;

struct Api {
    served: Served,
    bridge: Bridge,
    document: Value,
}

impl Api {
    fn new() -> Self {
        let served =
            Served::with_rules(|rules| std::fs::write(rules.join("a.yaml"), RULES).unwrap());
        let bridge = Bridge::new(served.path(), &served.agent_socket());
        Self { served, bridge, document: document() }
    }

    #[track_caller]
    fn conforms(&self, method: &str, path: &str, answer: Answer) -> Answer {
        let found = mistakes(&self.document, method, path, answer.status, &answer.body);
        assert!(found.is_empty(), "{found:#?}");
        assert!(answer.head.to_ascii_lowercase().contains("content-type: application/json"));
        answer
    }

    #[track_caller]
    fn post(&self, path: &str, body: &str) -> Answer {
        self.conforms("POST", path, self.bridge.post(Some(self.bridge.token()), path, body))
    }

    #[track_caller]
    fn get(&self, path: &str, resource: &str) -> Answer {
        self.conforms("GET", path, self.bridge.curl(Some(self.bridge.token()), &[], resource))
    }

    #[track_caller]
    fn check(&self, body: Value) -> Value {
        let answer = self.post("/v1/permissions/check", &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"].clone()
    }
}

/// IF-001, IF-005: the documented check-in, and the same session again.
#[test]
fn a_check_in_is_as_documented() {
    let api = Api::new();
    let first = api.conforms("POST", "/v1/checkin", api.bridge.post(None, "/v1/checkin", "{}"));
    let again = api.conforms("POST", "/v1/checkin", api.bridge.post(None, "/v1/checkin", "{}"));
    assert_eq!(first.status, 200);
    assert_eq!(first.body, again.body);
    assert_eq!(first.body["data"]["session_token"], api.bridge.token());
    let beat = api.get("/v1/heartbeat", "/v1/heartbeat");
    assert_eq!(beat.body["data"]["recording"], true);
    let profile = api.get("/v1/profile", "/v1/profile");
    assert_eq!(profile.status, 200);
}

/// IF-002: allowed, denied, 401, each with the documented JSON.
#[test]
fn a_permission_check_is_as_documented() {
    let api = Api::new();
    let example = json!({
        "action_type": "tool_exec", "target": "read_file",
        "metadata": { "path": "/workspace/config.yaml", "mode": "read" }
    });
    let verdict = api.check(example.clone());
    assert_eq!(verdict, json!({ "allowed": true, "matched_rule": "rule-7f8e9d", "reason": null }));
    let verdict = api.check(json!({ "action_type": "network_call", "target": "evil.example.com" }));
    let reason = "no rule allows network_call to evil.example.com";
    assert_eq!(verdict, json!({ "allowed": false, "matched_rule": null, "reason": reason }));
    let path = "/v1/permissions/check";
    for token in [None, Some("tok-00000000000000000000000000000000"), Some("")] {
        let answer = api.conforms("POST", path, api.bridge.post(token, path, &example.to_string()));
        let expected = json!({ "success": false, "error": "invalid or missing session token" });
        assert_eq!((answer.status, answer.body), (401, expected));
    }
    let records = api.served.records("decision");
    let told: Vec<_> = records.iter().filter(|record| record["source"] == "api").collect();
    assert_eq!(told.len(), 2, "every check is on record, and nothing else is");
    assert_eq!(told[0]["rule"], "rule-7f8e9d");
    assert_eq!(told[0]["metadata"]["path"], "/workspace/config.yaml");
    assert_eq!((&told[1]["decision"], &told[1]["rule"]), (&json!("block"), &Value::Null));
}

/// IF-002: rules speak of commands, asks are denials, and Outcall's own files stay out of reach.
#[test]
fn verdicts_follow_the_rules() {
    let api = Api::new();
    let verdict = api.check(json!({ "action_type": "shell_exec", "target": "git push origin" }));
    assert_eq!(verdict["matched_rule"], "no-push");
    assert_eq!(verdict["reason"], "Nobody pushes from here.");
    let verdict = api.check(json!({ "action_type": "tool_exec", "target": "deploy" }));
    assert_eq!(verdict["allowed"], false);
    let reason = "Deployments need a person; an operator would have to be asked, and none listens";
    assert_eq!(verdict["reason"], reason);
    for name in ["log/x", "log/../log/x", "log-state/requests.db", "run/host.sock"] {
        let target = format!("{}/{name}", api.served.path().display());
        let verdict = api.check(json!({ "action_type": "file_access", "target": target }));
        assert_eq!(verdict["matched_rule"], "builtin:protected", "{target}");
    }
    let rules = api.served.rules("a.yaml");
    let verdict = api.check(json!({
        "action_type": "file_access", "target": rules, "metadata": { "operation": "write" }
    }));
    assert_eq!(verdict["allowed"], false);
}

/// IF-002: what cannot be recorded is denied, and says so.
#[test]
fn a_log_that_cannot_be_written_denies() {
    let api = Api::new();
    let check = json!({ "action_type": "file_access", "target": "/x" });
    assert_eq!(api.check(check.clone())["allowed"], true);
    api.served.limit_files("1");
    let denied = api.check(check.clone());
    assert_eq!((&denied["allowed"], &denied["matched_rule"]), (&json!(false), &Value::Null));
    assert_eq!(denied["reason"], "the decision cannot be recorded, so nothing is allowed");
    let submission = json!({ "rule_file": RULES });
    assert_eq!(api.post("/v1/requests/rules", &submission.to_string()).status, 503);
    api.served.limit_files("unlimited");
    assert_eq!(api.check(check)["allowed"], true);
    let told = api.served.records("decision");
    assert_eq!(told.len(), 2, "{told:?}");
}

/// IF-005, EC-010: malformed bodies in the envelope, and the connection stays usable.
#[test]
fn malformed_checks_are_refused_in_the_envelope() {
    let api = Api::new();
    let path = "/v1/permissions/check";
    for (body, said) in [
        ("{", "not JSON"),
        ("[]", "not what this request takes"),
        (r#"{"action_type":"tool_exec"}"#, "target"),
        (r#"{"action_type":"tool_exec","target":""}"#, "target is empty"),
        (
            r#"{"action_type":"tool_exec","target":"x","metadata":null}"#,
            "not what this request takes",
        ),
        (r#"{"action_type":"tool_exec","target":"x","source":"kernel"}"#, "source"),
        (r#"{"action_type":"tool_exek","target":"x"}"#, "did you mean \"tool_exec\""),
    ] {
        let answer = api.post(path, body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
        let error = answer.body["error"].as_str().unwrap();
        assert!(error.contains(said), "{body}: {error}");
    }
    let large = format!(r#"{{"action_type":"tool_exec","target":"{}"}}"#, "x".repeat(70_000));
    let file = api.served.path().join("large");
    std::fs::write(&file, large).unwrap();
    let answer = api.post(path, &format!("@{}", file.display()));
    assert_eq!(answer.status, 413);
    let plain = ["-H", "Content-Type: text/plain", "-d", "{}"];
    let answer =
        api.conforms("POST", path, api.bridge.curl(Some(api.bridge.token()), &plain, path));
    assert_eq!(answer.status, 415);
    let answer = api.bridge.curl(Some(api.bridge.token()), &[], path);
    assert_eq!((answer.status, &answer.body["success"]), (405, &json!(false)));
    let answer = api.bridge.curl(Some(api.bridge.token()), &[], "/v1/rules");
    assert_eq!(
        (answer.status, &answer.body["success"]),
        (404, &json!(false)),
        "no route of the host"
    );
    assert_eq!(api.served.records("decision").len(), 0, "none of it was a check");
}

/// A container reads its own denials: both doors, whether asking helps, whether to try again.
#[test]
fn denials_tell_what_can_be_done() {
    let api = Api::new();
    api.check(json!({ "action_type": "network_call", "target": "evil.example.com:443" }));
    api.check(json!({ "action_type": "shell_exec", "target": "git push" }));
    api.check(json!({ "action_type": "tool_exec", "target": "deploy" }));
    api.check(json!({ "action_type": "file_access", "target": "/x" }));
    let answer = api.get("/v1/denials", "/v1/denials");
    let denials = answer.body["data"]["denials"].as_array().unwrap().clone();
    let told: Vec<_> = denials
        .iter()
        .map(|denial| {
            (
                denial["target"].as_str().unwrap(),
                denial["matched_rule"].clone(),
                denial["asking_can_help"] == true,
                denial["do_not_retry"] == true,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("deploy", json!("deploy"), true, false),
            ("git push", json!("no-push"), false, true),
            ("evil.example.com:443", Value::Null, true, true),
        ]
    );
    assert!(denials.iter().all(|denial| denial["source"] == "api"));
}
