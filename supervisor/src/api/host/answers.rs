//! What is told about the daemon and its rules.

use jiff::Timestamp;
use policy::{Diagnostic, Rule};
use serde_json::{Value, json};

use super::routes::Office;
use crate::judge::rules::{RulesError, bounded};
use crate::resolve::names::text;

/// Mistakes named one by one; the text tells of more.
const MAX_DIAGNOSTICS: usize = 100;

/// How the daemon is.
pub(super) fn status(office: &Office) -> Value {
    let door = &office.door;
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "started": when(office.started),
        "mode": door.mode.as_str(),
        "profile": door.profile.name,
        "sessions": door.session_count(),
        "asks": door.asks.list().len(),
        "rules": rules(office),
        "log": {
            "directory": shown(door.recorder.directory()),
            "healthy": door.recorder.is_healthy(),
        },
    })
}

fn rules(office: &Office) -> Value {
    let rules = &office.door.rules;
    // In this order: a reload in between makes the set newer than what is said about it, not older.
    let last = rules.last();
    let current = rules.current();
    json!({
        "generation": current.generation,
        "digest": current.engine.digest(),
        "count": current.engine.rules().len(),
        "loaded_at": when(last.loaded_at),
        "paths": rules.paths().iter().map(|path| shown(path)).collect::<Vec<_>>(),
        "watched": rules.is_watched(),
        "last_error": last.failure.map(|failure| {
            json!({ "message": failure.message, "since": when(failure.since) })
        }),
    })
}

/// A rule in the list.
pub(super) fn listed(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "action": rule.action.as_str(),
        "priority": rule.priority,
        "file": rule.file,
        "line": rule.line,
        "description": rule.description,
    })
}

/// A rule on its own.
pub(super) fn described(rule: &Rule) -> Value {
    let mut described = listed(rule);
    described["condition"] = rule.condition.clone().into();
    described["reason"] = rule.reason.clone().into();
    described
}

/// The sentence about a rule that is not there.
pub(super) fn unknown_rule(id: &str, rules: &[Rule]) -> String {
    let names: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    // The distance is quadratic in length.
    let near = Some(id).filter(|id| id.len() <= 64);
    let hint = near.and_then(|id| crate::config::nearest(id, &names));
    let hint = hint.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default();
    format!("no rule '{id}' is in force{hint}")
}

/// What is wrong with the files.
pub(super) fn invalid(error: &RulesError) -> Value {
    let diagnostics: Vec<Value> = match error {
        RulesError::Invalid(errors) => errors.iter().take(MAX_DIAGNOSTICS).map(diagnosed).collect(),
        _ => Vec::new(),
    };
    json!({
        "success": false,
        "error": bounded(error.to_string()),
        "diagnostics": diagnostics,
    })
}

pub(super) fn diagnosed(diagnostic: &Diagnostic) -> Value {
    json!({
        "file": diagnostic.file,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    })
}

pub(super) fn shown(path: &std::path::Path) -> String {
    text(path.as_os_str().as_encoded_bytes())
}

/// A time as answers tell it.
pub(super) fn when(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
