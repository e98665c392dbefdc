//! `outcallctl requests`: the rules that agents ask for.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::anyhow;
use serde_json::{Value, json};

use super::arguments::HostArguments;
use super::arguments::host::RequestsCommand;
use super::host::{Answer, encoded, tell};
use super::screen::{self, one_line};
use super::status::lines;
use super::table::table;

const RESOURCE: &str = "/v1/requests/rules";
/// What is told of a request in one line each.
const SHORT: [&str; 9] =
    ["id", "status", "container", "agent", "created", "decided", "decided_by", "reason", "error"];
/// The exit code where somebody thought better of it.
const DECLINED: u8 = 1;

pub(super) fn requests(command: RequestsCommand) -> anyhow::Result<u8> {
    match command {
        RequestsCommand::List { status, host } => {
            let query = status.map(|status| format!("?status={}", encoded(&status)));
            let resource = RESOURCE.to_owned() + &query.unwrap_or_default();
            let answer = tell(&host.host_socket, "GET", &resource, None)?;
            show(&answer, &host, listed)
        }
        RequestsCommand::Show { id, host } => {
            let answer = tell(&host.host_socket, "GET", &resource(&id, ""), None)?;
            show(&answer, &host, sheet)
        }
        RequestsCommand::Approve { id, widen, yes, host } => {
            let whom = if widen { "every container" } else { "the agent that asked" };
            if !yes && !confirmed(&format!("Put the rules of {id} in force for {whom}?"))? {
                return Ok(DECLINED);
            }
            let body = json!({ "widen": widen });
            let answer = tell(&host.host_socket, "POST", &resource(&id, "/approve"), Some(&body))?;
            show(&answer, &host, settled)
        }
        RequestsCommand::Reject { id, reason, yes, host } => {
            if !yes && !confirmed(&format!("Turn {id} down?"))? {
                return Ok(DECLINED);
            }
            let body = json!({ "reason": reason });
            let answer = tell(&host.host_socket, "POST", &resource(&id, "/reject"), Some(&body))?;
            show(&answer, &host, settled)
        }
    }
}

fn resource(id: &str, rest: &str) -> String {
    format!("{RESOURCE}/{}{rest}", encoded(id))
}

fn show(
    answer: &Answer,
    host: &HostArguments,
    sentences: impl Fn(&Value) -> String,
) -> anyhow::Result<u8> {
    let data = answer.data().map_err(|reason| anyhow!(lines(&reason)))?;
    if host.json {
        println!("{data}");
    } else {
        print!("{}", sentences(data));
    }
    Ok(0)
}

/// Asks a person, where there is one: without a terminal nobody is asked, and the command counts.
fn confirmed(question: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(true);
    }
    write!(io::stderr(), "{} [y/N] ", one_line(question))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn listed(data: &Value) -> String {
    let requests = data["requests"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rows: Vec<[String; 5]> = requests
        .iter()
        .map(|request| {
            let container: String = text(request, &["container"]).chars().take(12).collect();
            [
                text(request, &["id"]),
                text(request, &["status"]),
                container,
                text(request, &["agent"]),
                text(request, &["created"]),
            ]
        })
        .collect();
    table(["ID", "STATUS", "CONTAINER", "AGENT", "CREATED"], &rows)
}

/// One request: what is short first, then what it would do, then its rules.
fn sheet(request: &Value) -> String {
    let mut shown = String::new();
    for name in SHORT {
        let value = match &request[name] {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        shown += &format!("{name:<11} {}\n", one_line(&value));
    }
    if let Some(fact) = request["scope"]["fact"].as_str() {
        let value = text(&request["scope"], &["value"]);
        let scope = format!("where {fact} is '{value}', unless it is widened");
        shown += &format!("scope       {}\n", one_line(&scope));
    }
    let each = |name: &str| request[name].as_array().map(Vec::as_slice).unwrap_or_default();
    for rule in each("would_allow") {
        let (id, condition) = (text(rule, &["id"]), text(rule, &["condition"]));
        shown += &format!("would allow {}\n", one_line(&format!("{id}: {condition}")));
    }
    for (name, heading) in [("warnings", "warning"), ("diagnostics", "mistake")] {
        for remark in each(name) {
            let line = remark["line"].as_u64().map(|line| format!("line {line}: "));
            let message = line.unwrap_or_default() + &text(remark, &["message"]);
            shown += &format!("{heading:<11} {}\n", one_line(&message));
        }
    }
    match request["confined_file"].as_str().or(request["rule_file"].as_str()) {
        Some(rules) => shown + "\n" + &screen::lines(rules) + "\n",
        None => shown,
    }
}

fn settled(request: &Value) -> String {
    let says = request["says"].as_str().map(|says| format!(": {}", one_line(says)));
    let (id, status) = (text(request, &["id"]), text(request, &["status"]));
    format!("{} {}{}\n", one_line(&id), one_line(&status), says.unwrap_or_default())
}

/// The first of these fields that there is.
fn text(request: &Value, names: &[&str]) -> String {
    names.iter().find_map(|name| request[*name].as_str()).unwrap_or("-").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_rows_and_nothing_in_them_steers_the_terminal() {
        let data = json!({"requests": [
            {"id": "rr-1", "status": "pending", "container": "c".repeat(64), "agent": "b\u{1b}[2J"},
        ]});
        let shown = listed(&data);
        assert!(shown.contains("rr-1  pending  cccccccccccc  b\\u{1b}[2J"), "{shown}");
        let sheet = sheet(&json!({
            "id": "rr-1", "scope": {"fact": "agent.name", "value": "bot"}, "reason": null,
            "would_allow": [{"id": "r", "condition": "true\u{7}"}],
            "warnings": [{"line": 3, "message": "odd"}], "rule_file": "version: \"1\"\nx\u{7}",
        }));
        assert_eq!(
            sheet,
            "id          rr-1\nscope       where agent.name is 'bot', unless it is widened\n\
             would allow r: true\\u{7}\nwarning     line 3: odd\n\nversion: \"1\"\nx\\u{7}\n"
        );
        let done = json!({"id": "rr-1", "status": "approved", "says": "for everybody"});
        assert_eq!(settled(&done), "rr-1 approved: for everybody\n");
    }

    #[test]
    fn an_approval_says_how_wide_it_is() {
        use std::io::{Read, Write};
        let scratch = tempfile::tempdir().unwrap();
        let host_socket = scratch.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&host_socket).unwrap();
        let daemon = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).unwrap();
            let body = r#"{"success":true,"data":{"id":"rr-1","status":"approved"}}"#;
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                .unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let host = HostArguments { json: true, host_socket };
        let command =
            RequestsCommand::Approve { id: "rr-1".to_owned(), widen: true, yes: true, host };
        assert_eq!(requests(command).unwrap(), 0);
        let request = daemon.join().unwrap();
        assert!(
            request.starts_with("POST /v1/requests/rules/rr-1/approve HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(request.ends_with("\r\n\r\n{\"widen\":true}"), "{request}");
    }

    #[test]
    fn an_id_cannot_lead_elsewhere() {
        assert_eq!(resource("rr-1", "/approve"), "/v1/requests/rules/rr-1/approve");
        assert_eq!(resource("../x y", ""), "/v1/requests/rules/..%2Fx%20y");
    }
}
