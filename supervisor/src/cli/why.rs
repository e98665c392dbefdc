//! `outcallctl why`: the latest refusals of a process tree or a container, and what to do next.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::arguments::host::WhyArguments;
use super::host::{HostError, ask};
use super::screen::{one_line, quoted};
use super::status::lines;
use crate::record::decision::{DecisionRecord, Line};
use crate::record::query::{MAX_LIMIT, Query, Wanted};
use crate::record::reader::read;
use crate::record::sentence::what;

type Denial = Line<DecisionRecord>;

/// Where records come from.
enum Source {
    Daemon { socket: PathBuf, rules: Vec<String> },
    Log(PathBuf),
}

pub(super) fn why(arguments: &WhyArguments) -> anyhow::Result<()> {
    let source = Source::find(arguments)?;
    let subject = &arguments.subject;
    let denials = source.latest(true)?;
    let mut found: Vec<Denial> = match subject.parse::<i32>() {
        Ok(pid) => of_tree(denials, &source.latest(false)?, pid),
        Err(_) => denials.into_iter().filter(|denial| is_of(denial, subject)).collect(),
    };
    let first = found.len().saturating_sub(arguments.lines);
    let found = found.split_off(first);
    if found.is_empty() && !arguments.host.json {
        println!("nothing of {} was refused, as far as the log tells", one_line(subject));
    }
    for denial in &found {
        let next = source.next_command(denial);
        if arguments.host.json {
            let mut document = serde_json::to_value(denial)?;
            document["next"] = json!(next);
            println!("{document}");
        } else {
            print!("{}", sentences(denial, &next));
        }
    }
    Ok(())
}

impl Source {
    fn find(arguments: &WhyArguments) -> anyhow::Result<Self> {
        if let Some(directory) = &arguments.log {
            return Ok(Self::Log(directory.clone()));
        }
        let socket = &arguments.host.host_socket;
        match ask(socket, "GET", "/v1/status") {
            Ok(answer) => match answer.data() {
                Ok(data) => {
                    let paths = data["rules"]["paths"].as_array().cloned().unwrap_or_default();
                    let text = |path: &Value| path.as_str().map(str::to_owned);
                    let rules = paths.iter().filter_map(text).collect();
                    Ok(Self::Daemon { socket: socket.clone(), rules })
                }
                // Not an operator: only their own runs are theirs to see.
                Err(_) if answer.status == 403 => super::tail::default_directory().map(Self::Log),
                Err(reason) => bail!("{}", lines(&reason)),
            },
            Err(HostError::NoDaemon { .. } | HostError::Connect { .. }) => {
                super::tail::default_directory().map(Self::Log)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The latest decisions, oldest first; or of them what was denied.
    fn latest(&self, denied: bool) -> anyhow::Result<Vec<Denial>> {
        let records = match self {
            Self::Daemon { socket, .. } => {
                let wish = if denied { "&decision=denied" } else { "" };
                let answer = ask(socket, "GET", &format!("/v1/decisions?limit={MAX_LIMIT}{wish}"))?;
                match answer.data() {
                    Ok(data) => data["records"].as_array().cloned().unwrap_or_default(),
                    Err(reason) => bail!("{}", lines(&reason)),
                }
            }
            Self::Log(directory) => {
                let decision = denied.then_some(Wanted::Denied);
                let query = Query { decision, limit: Some(MAX_LIMIT), ..Query::default() };
                let page = read(directory, &query);
                page.with_context(|| format!("cannot read the log in {}", directory.display()))?
                    .records
            }
        };
        Ok(records.into_iter().filter_map(|record| serde_json::from_value(record).ok()).collect())
    }

    /// The command that tells more.
    fn next_command(&self, denial: &Denial) -> String {
        let record = &denial.body;
        let builtin = record.rule.as_ref().is_some_and(|rule| rule.starts_with("builtin:"));
        let rules: String = match self {
            Self::Daemon { rules, .. } => {
                rules.iter().map(|path| format!(" --rules {}", quoted(path))).collect()
            }
            Self::Log(_) => String::new(),
        };
        match &record.rule {
            Some(_) if builtin => match self {
                Self::Daemon { .. } => format!("outcallctl tail --json --seq {}", denial.seq),
                Self::Log(directory) => tail_command(directory, denial.seq),
            },
            Some(rule) => format!("outcallctl rules explain {}{rules}", quoted(rule)),
            None => format!(
                "outcallctl rules explain --action {} --target {}{rules}",
                quoted(&record.action_type),
                quoted(&record.target)
            ),
        }
    }
}

fn tail_command(directory: &Path, seq: u64) -> String {
    format!("outcallctl tail --json --log {} --seq {seq}", quoted(&directory.display().to_string()))
}

/// Whether a refusal is a container's or a session's.
fn is_of(denial: &Denial, subject: &str) -> bool {
    let container = denial.body.container.as_deref().unwrap_or_default();
    // A short prefix could be anybody's.
    denial.body.session == subject || (subject.len() >= 4 && container.starts_with(subject))
}

/// The refusals of a process and of what it started. Numbers are used again: only the session in
/// which the process was seen last counts.
fn of_tree(denials: Vec<Denial>, decisions: &[Denial], pid: i32) -> Vec<Denial> {
    let seen = denials.iter().chain(decisions);
    let last = seen.filter(|record| record.body.tgid == pid).max_by_key(|record| record.seq);
    let Some(session) = last.map(|record| record.body.session.clone()) else { return Vec::new() };
    let records: Vec<&DecisionRecord> = denials
        .iter()
        .chain(decisions)
        .map(|record| &record.body)
        .filter(|record| record.session == session)
        .collect();
    let mut runs: HashSet<u64> =
        records.iter().filter(|record| record.tgid == pid).map(|record| record.exec_id).collect();
    loop {
        let before = runs.len();
        let below = records
            .iter()
            .filter(|record| record.parent_exec_id.is_some_and(|parent| runs.contains(&parent)))
            .map(|record| record.exec_id)
            .collect::<Vec<_>>();
        runs.extend(below);
        if runs.len() == before {
            break;
        }
    }
    let is_below = |record: &DecisionRecord| {
        record.session == session && (record.tgid == pid || runs.contains(&record.exec_id))
    };
    denials.into_iter().filter(|denial| is_below(&denial.body)).collect()
}

fn sentences(denial: &Denial, next: &str) -> String {
    let record = &denial.body;
    let program = record.exe.rsplit('/').next().unwrap_or_default();
    let who = match (&record.rule, &record.rule_origin) {
        (Some(rule), Some(origin)) => format!("rule {rule} ({origin})"),
        (Some(rule), None) => format!("rule {rule}"),
        (None, _) => "no rule allows it".to_owned(),
    };
    format!(
        "{:>6} {} {}[{}] was refused to {}\n       {}: {}\n       next: {next}\n",
        denial.seq,
        denial.time.get(..19).unwrap_or(&denial.time),
        one_line(program),
        record.tgid,
        one_line(&what(record)),
        one_line(&who),
        one_line(&record.reason),
    )
}

#[cfg(test)]
#[path = "tests/why.rs"]
mod tests;
