//! `outcallctl tail`: the log as sentences.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use super::arguments::TailArguments;
use crate::record::decision::{DecisionRecord, Line};
use crate::record::reader::segments;
use crate::record::sentence::{printable, what};

/// The daemon's log.
const DAEMON_LOG: &str = "/var/log/outcall";

mod daemon;

pub(super) fn tail(arguments: &TailArguments) -> anyhow::Result<()> {
    let directory = match &arguments.log {
        Some(directory) => directory.clone(),
        None if daemon::tail(arguments)? => return Ok(()),
        None => default_directory()?,
    };
    let files = segments(&directory)
        .with_context(|| format!("cannot read the log in {}", directory.display()))?;
    if files.is_empty() && !arguments.follow {
        bail!("no decisions are recorded in {}", directory.display());
    }
    let mut shown = std::collections::VecDeque::new();
    for file in &files {
        for line in BufReader::new(File::open(file)?).lines() {
            if let Some(text) = render(&line?, arguments) {
                shown.push_back(text);
                if shown.len() > arguments.lines {
                    shown.pop_front();
                }
            }
        }
    }
    let mut output = std::io::stdout().lock();
    for text in shown {
        if writeln!(output, "{text}").is_err() {
            // The reader has seen enough.
            return Ok(());
        }
    }
    if arguments.follow { follow(&directory, files.last().cloned(), arguments) } else { Ok(()) }
}

/// Shows what is appended, and goes over to the next day's file when there is one.
fn follow(
    directory: &Path,
    mut current: Option<PathBuf>,
    arguments: &TailArguments,
) -> anyhow::Result<()> {
    let mut position = match &current {
        Some(path) => path.metadata()?.len(),
        None => 0,
    };
    loop {
        if let Some(path) = &current {
            let mut reader = BufReader::new(File::open(path)?);
            reader.seek(SeekFrom::Start(position))?;
            let mut line = String::new();
            while reader.read_line(&mut line)? > 0 && line.ends_with('\n') {
                position += line.len() as u64;
                if let Some(text) = render(line.trim_end(), arguments)
                    && writeln!(std::io::stdout(), "{text}").is_err()
                {
                    return Ok(());
                }
                line.clear();
            }
        }
        let newest = segments(directory)?.pop();
        if newest != current {
            (current, position) = (newest, 0);
            continue;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// One line for a person or a program; `None` where it is not asked for.
fn render(line: &str, arguments: &TailArguments) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    let decision = value.get("decision").and_then(Value::as_str);
    if arguments.seq.is_some_and(|seq| value.get("seq").and_then(Value::as_u64) != Some(seq)) {
        return None;
    }
    if arguments.denied && !matches!(decision, Some("block" | "ask")) {
        return None;
    }
    if arguments.json {
        return Some(line.to_owned());
    }
    match decision {
        Some(_) => serde_json::from_value(value).ok().map(|line| sentence(&line)),
        None => Some(control(&value)),
    }
}

fn sentence(line: &Line<DecisionRecord>) -> String {
    let record = &line.body;
    let (open, close) = colours(&record.decision);
    let result = record.errno.as_deref().unwrap_or("ok");
    let rule = record.rule.as_deref().unwrap_or("default");
    let program = record.exe.rsplit('/').next().unwrap_or_default();
    let object =
        if record.target.is_empty() { printable(&record.object.requested) } else { what(record) };
    let reason = if record.decision == "allow" || record.reason.is_empty() {
        String::new()
    } else {
        format!(": {}", printable(&record.reason))
    };
    format!(
        "{:>6} {} {open}{:<5}{close} {}[{}] {} {object} ({result}, {}, {rule}){reason}",
        line.seq,
        line.time.get(11..23).unwrap_or(&line.time),
        record.decision,
        printable(program),
        record.tgid,
        record.syscall,
        record.answer,
    )
}

fn control(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let seq = value.get("seq").and_then(Value::as_u64).unwrap_or_default();
    let time = text("time");
    let rest = match text("type").as_str() {
        "session_begin" => format!("session {} begins in {}", text("session"), text("workspace")),
        "session_end" => format!(
            "session {} ends: {} allowed, {} refused",
            text("session"),
            value.get("allowed").and_then(Value::as_u64).unwrap_or_default(),
            value.get("refused").and_then(Value::as_u64).unwrap_or_default()
        ),
        "exec_killed" => format!("killed an exec: {}", text("difference")),
        "policy_change" => format!(
            "rules changed by {}: {} in force, generation {}",
            text("by"),
            value["rules"]["count"],
            value["generation"]
        ),
        "policy_rejected" => format!(
            "rules not changed by {}: {}",
            text("by"),
            text("error").lines().next().unwrap_or_default()
        ),
        other => other.to_owned(),
    };
    format!("{seq:>6} {} -- {}", time.get(11..23).unwrap_or_default(), printable(&rest))
}

/// Colour only on a terminal, and never with NO_COLOR.
fn colours(decision: &str) -> (&'static str, &'static str) {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stdout().is_terminal();
    match decision {
        _ if plain => ("", ""),
        "allow" => ("\x1b[32m", "\x1b[0m"),
        "none" => ("\x1b[2m", "\x1b[0m"),
        _ => ("\x1b[31m", "\x1b[0m"),
    }
}

/// The log to look at where nobody says and no daemon answers.
pub(super) fn default_directory() -> anyhow::Result<PathBuf> {
    let daemon = PathBuf::from(DAEMON_LOG);
    let latest = super::run::state_directory()?.join("latest");
    // The newer of the two is what somebody has just been looking at.
    let age = |path: &Path| segments(path).ok()?.last()?.metadata().ok()?.modified().ok();
    match (age(&daemon), age(&latest)) {
        (None, None) => bail!(
            "no decision log in {} or {}; run something first: outcallctl run -- CMD",
            daemon.display(),
            latest.display()
        ),
        (daemon_age, latest_age) if latest_age >= daemon_age => Ok(latest),
        _ => Ok(daemon),
    }
}
