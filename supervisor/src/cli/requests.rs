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
/// The exit code where somebody thought better of it.
const DECLINED: u8 = 1;

pub(super) fn requests(command: RequestsCommand) -> anyhow::Result<u8> {
    match command {
        RequestsCommand::List(host) => {
            let answer = tell(&host.host_socket, "GET", RESOURCE, None)?;
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
    let requests = data["requests"].as_array().or_else(|| data.as_array());
    let requests = requests.map(Vec::as_slice).unwrap_or_default();
    let rows: Vec<[String; 5]> = requests
        .iter()
        .map(|request| {
            let container: String =
                text(request, &["container", "container_id"]).chars().take(12).collect();
            [
                text(request, &["id"]),
                text(request, &["status"]),
                container,
                text(request, &["agent", "agent_name"]),
                text(request, &["submitted", "submitted_at", "created", "created_at"]),
            ]
        })
        .collect();
    table(["ID", "STATUS", "CONTAINER", "AGENT", "SUBMITTED"], &rows)
}

/// One request: what is short first, then its rules.
fn sheet(request: &Value) -> String {
    let fields = request.as_object().into_iter().flatten();
    let mut shown = String::new();
    for (name, value) in fields.filter(|(name, _)| *name != "rule_file") {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        shown += &format!("{name:<14} {}\n", one_line(&value));
    }
    match request["rule_file"].as_str() {
        Some(rules) => shown + "\n" + &screen::lines(rules) + "\n",
        None => shown,
    }
}

fn settled(request: &Value) -> String {
    let scope = match text(request, &["scope"]) {
        scope if scope == "-" => String::new(),
        scope => format!(", for {}", one_line(&scope)),
    };
    let (id, status) = (text(request, &["id"]), text(request, &["status"]));
    format!("{} {}{scope}\n", one_line(&id), one_line(&status))
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
        let sheet = sheet(&json!({"id": "rr-1", "rule_file": "version: \"1\"\nx\u{7}"}));
        assert_eq!(sheet, "id             rr-1\n\nversion: \"1\"\nx\\u{7}\n");
    }

    #[test]
    fn an_id_cannot_lead_elsewhere() {
        assert_eq!(resource("rr-1", "/approve"), "/v1/requests/rules/rr-1/approve");
        assert_eq!(resource("../x y", ""), "/v1/requests/rules/..%2Fx%20y");
    }
}
