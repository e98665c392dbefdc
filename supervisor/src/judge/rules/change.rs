//! What one rule set has that another has not.

use std::collections::HashMap;

use policy::{Engine, Rule, Verdict};
use serde_json::{Value, json};

/// As many ids as a record names; it counts them all.
const MAX_IDS: usize = 32;

/// The difference between two sets, as a record tells it.
pub(super) fn difference(old: &Engine, new: &Engine) -> Value {
    let (before, after) = (by_id(old), by_id(new));
    let added = new.rules().iter().filter(|rule| !before.contains_key(rule.id.as_str()));
    let removed = old.rules().iter().filter(|rule| !after.contains_key(rule.id.as_str()));
    let changed = new
        .rules()
        .iter()
        .filter(|rule| before.get(rule.id.as_str()).is_some_and(|old| !rule.says_the_same_as(old)));
    json!({ "added": ids(added), "removed": ids(removed), "changed": ids(changed) })
}

fn by_id(engine: &Engine) -> HashMap<&str, &Rule> {
    engine.rules().iter().map(|rule| (rule.id.as_str(), rule)).collect()
}

fn ids<'r>(rules: impl Iterator<Item = &'r Rule>) -> Value {
    let all: Vec<&str> = rules.map(|rule| rule.id.as_str()).collect();
    json!({ "count": all.len(), "ids": all.iter().take(MAX_IDS).collect::<Vec<_>>() })
}

/// How many rules a set has, and of which kind.
pub(crate) fn counts(engine: &Engine) -> Value {
    let of = |verdict| engine.rules().iter().filter(|rule| rule.action == verdict).count();
    json!({
        "count": engine.rules().len(),
        "allow": of(Verdict::Allow),
        "block": of(Verdict::Block),
        "ask": of(Verdict::Ask),
    })
}

#[cfg(test)]
#[path = "tests/change.rs"]
mod tests;
