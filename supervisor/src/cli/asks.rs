//! `outcallctl asks`: calls that a rule holds for an operator.

use std::io::Write;

use anyhow::{Context, anyhow};
use serde_json::{Value, json};

use super::arguments::HostArguments;
use super::arguments::host::AsksCommand;
use super::events::Events;
use super::host::{encoded, tell};
use super::screen::one_line;
use super::status::lines;
use super::table::table;

pub(super) fn asks(command: AsksCommand) -> anyhow::Result<()> {
    match command {
        AsksCommand::List(host) => {
            let answer = tell(&host.host_socket, "GET", "/v1/asks", None)?;
            let data = answer.data().map_err(|reason| anyhow!(lines(&reason)))?;
            if host.json {
                println!("{data}");
            } else {
                print!("{}", sentences(data));
            }
            Ok(())
        }
        AsksCommand::Listen(host) => listen(&host),
        AsksCommand::Allow { id, host } => answer(&host, &id, &json!({ "allow": true })),
        AsksCommand::Deny { id, reason, host } => {
            answer(&host, &id, &json!({ "allow": false, "reason": reason }))
        }
    }
}

fn sentences(data: &Value) -> String {
    let asks = data["asks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let rows: Vec<[String; 5]> = asks
        .iter()
        .map(|ask| {
            [
                text(&ask["id"]),
                text(&ask["until"]),
                text(&ask["action_type"]),
                text(&ask["target"]),
                text(&ask["rule"]),
            ]
        })
        .collect();
    table(["ID", "UNTIL", "ACTION", "TARGET", "RULE"], &rows)
}

fn answer(host: &HostArguments, id: &str, body: &Value) -> anyhow::Result<()> {
    let resource = format!("/v1/asks/{}/answer", encoded(id));
    let answer = tell(&host.host_socket, "POST", &resource, Some(body))?;
    let data = answer.data().map_err(|reason| anyhow!(lines(&reason)))?;
    match host.json {
        true => println!("{data}"),
        false => println!("{} {}", one_line(id), one_line(data["outcome"].as_str().unwrap_or("?"))),
    }
    Ok(())
}

/// Prints every question until the daemon ends.
fn listen(host: &HostArguments) -> anyhow::Result<()> {
    let mut events = Events::open(&host.host_socket, "/v1/decisions/stream?asks=only")?;
    while let Some(event) = events.next().context("outcalld does not answer any more")? {
        let shown = match event.name.as_str() {
            "ask" | "ask_over" if host.json => format!("{{\"{}\":{}}}", event.name, event.data),
            "ask" => asked(&serde_json::from_str(&event.data).unwrap_or_default()),
            "ask_over" => over(&serde_json::from_str(&event.data).unwrap_or_default()),
            _ => continue,
        };
        if writeln!(std::io::stdout(), "{shown}").is_err() {
            return Ok(());
        }
    }
    Ok(())
}

fn asked(ask: &Value) -> String {
    let text = |name: &str| one_line(ask[name].as_str().unwrap_or("-"));
    format!(
        "{} {}[{}] wants {} to {}: rule {}: {}; next: outcallctl asks allow {}",
        text("id"),
        text("exe"),
        ask["pid"],
        text("action_type"),
        text("target"),
        text("rule"),
        text("reason"),
        text("id"),
    )
}

fn over(ask: &Value) -> String {
    let text = |name: &str| one_line(ask[name].as_str().unwrap_or("-"));
    format!("{} {}", text("id"), text("outcome"))
}
