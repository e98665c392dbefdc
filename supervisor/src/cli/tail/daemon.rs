//! The log as the daemon tells it: what is there already, then what comes, resumed by number.

use std::io::Write;
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;

use super::render;
use crate::cli::arguments::TailArguments;
use crate::cli::events::{Event, Events};
use crate::cli::host::{Answer, HostError, ask};
use crate::cli::status::lines;
use crate::record::query::MAX_LIMIT;

/// How long to wait before the daemon is tried again.
const PAUSE: Duration = Duration::from_millis(500);
const FORBIDDEN: u16 = 403;

/// Shows the daemon's records. `false`: no daemon answers us.
pub(super) fn tail(arguments: &TailArguments) -> anyhow::Result<bool> {
    let Some(answer) = asked(arguments, &first(arguments))? else { return Ok(false) };
    let data = match answer.data() {
        Ok(data) => data.clone(),
        Err(reason) => bail!("{}", lines(&reason)),
    };
    let mut records = data["records"].as_array().cloned().unwrap_or_default();
    while arguments.seq.is_none() && records.len() < arguments.lines {
        let Some(oldest) = records.first().and_then(|record| record["seq"].as_u64()) else { break };
        let before = format!("&until_seq={}", oldest.saturating_sub(1));
        let Some(answer) =
            asked(arguments, &(latest(arguments, arguments.lines - records.len()) + &before))?
        else {
            break;
        };
        let older = answer.data().ok().and_then(|data| data["records"].as_array().cloned());
        let older = older.filter(|older| !older.is_empty() && oldest > 1);
        let Some(mut older) = older else { break };
        older.append(&mut records);
        records = older;
    }
    for record in &records {
        if !print(&record.to_string(), arguments) {
            return Ok(true);
        }
    }
    if arguments.follow {
        follow(arguments, data["last_seq"].as_u64().unwrap_or(0));
    }
    Ok(true)
}

/// Asks; nobody there, or nobody who answers us, is `None`.
fn asked(arguments: &TailArguments, resource: &str) -> anyhow::Result<Option<Answer>> {
    match ask(&arguments.host_socket, "GET", resource) {
        Ok(answer) if answer.status == FORBIDDEN => Ok(None),
        Ok(answer) => Ok(Some(answer)),
        Err(HostError::NoDaemon { .. } | HostError::Connect { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn first(arguments: &TailArguments) -> String {
    match arguments.seq {
        Some(seq) => {
            format!(
                "/v1/decisions?type=any&limit=1&until_seq={seq}&since_seq={}",
                seq.saturating_sub(1)
            )
        }
        None => latest(arguments, arguments.lines),
    }
}

fn latest(arguments: &TailArguments, count: usize) -> String {
    format!("/v1/decisions?limit={}&{}", count.clamp(1, MAX_LIMIT), wishes(arguments))
}

fn wishes(arguments: &TailArguments) -> &'static str {
    if arguments.denied { "type=any&decision=denied" } else { "type=any" }
}

/// Shows what comes, over restarts of the daemon, until nobody reads any more.
fn follow(arguments: &TailArguments, mut last: u64) {
    let mut lost = false;
    loop {
        let resource = format!("/v1/decisions/stream?since={last}&{}", wishes(arguments));
        if let Ok(mut events) = Events::open(&arguments.host_socket, &resource) {
            lost = false;
            while let Ok(Some(event)) = events.next() {
                last = event.id.unwrap_or(last);
                if !show(&event, arguments) {
                    return;
                }
            }
        }
        if !lost {
            eprintln!("outcallctl: outcalld does not answer; waiting for it");
            lost = true;
        }
        std::thread::sleep(PAUSE);
    }
}

/// `false`: the reader has seen enough.
fn show(event: &Event, arguments: &TailArguments) -> bool {
    if event.name == "missed" {
        let missed: Value = serde_json::from_str(&event.data).unwrap_or_default();
        eprintln!(
            "outcallctl: {} records came too fast; they are in the log, numbers {} to {}",
            missed["count"], missed["from"], missed["to"]
        );
        return true;
    }
    print(&event.data, arguments)
}

fn print(line: &str, arguments: &TailArguments) -> bool {
    match render(line, arguments) {
        Some(text) => writeln!(std::io::stdout(), "{text}").is_ok(),
        None => true,
    }
}
