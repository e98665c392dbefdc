//! The latest denials of every container, for whoever was denied to read.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::decision::{DecisionRecord, Line};

/// Denials that are remembered of one container.
const MAX_DENIALS: usize = 64;
/// Containers whose denials are remembered; past that the longest silent one is forgotten.
const MAX_OWNERS: usize = 4096;
/// Bytes of a text that are remembered.
const MAX_TEXT: usize = 1024;

/// One denial, as its container may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) seq: u64,
    pub(crate) time: String,
    pub(crate) source: String,
    pub(crate) action_type: String,
    pub(crate) operation: String,
    pub(crate) target: String,
    pub(crate) rule: Option<String>,
    pub(crate) reason: String,
    /// The rule asks an operator.
    pub(crate) asks: bool,
}

impl Denial {
    /// Whether a person can change it for this container: somebody can be asked, or no rule speaks
    /// of it yet.
    pub(crate) fn asking_can_help(&self) -> bool {
        self.asks || self.rule.is_none()
    }
}

/// The denials of all containers; bounded.
#[derive(Debug, Default)]
pub(crate) struct Denials(Mutex<HashMap<String, VecDeque<Denial>>>);

impl Denials {
    /// Remembers a record, if it is a denial that was carried out.
    pub(super) fn note(&self, line: &Line<DecisionRecord>) {
        let record = &line.body;
        if record.mode == "observe" {
            return;
        }
        let denial = Denial {
            seq: line.seq,
            time: line.time.clone(),
            source: record.source.clone(),
            action_type: record.action_type.clone(),
            operation: record.operation.clone(),
            target: cut(&record.target),
            rule: record.rule.clone(),
            reason: cut(&record.reason),
            asks: record.decision == "ask",
        };
        let owner = record.container.as_ref().unwrap_or(&record.session);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(owner) && all.len() >= MAX_OWNERS {
            let latest = |denials: &VecDeque<Denial>| denials.back().map_or(0, |last| last.seq);
            let silent = all.iter().min_by_key(|(_, denials)| latest(denials));
            if let Some(silent) = silent.map(|(owner, _)| owner.clone()) {
                all.remove(&silent);
            }
        }
        let own = all.entry(owner.clone()).or_default();
        if own.len() >= MAX_DENIALS {
            own.pop_front();
        }
        own.push_back(denial);
    }

    /// The denials under any of these names, the newest first.
    pub(crate) fn of(&self, owners: &[&str]) -> Vec<Denial> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Denial> =
            owners.iter().filter_map(|owner| all.get(*owner)).flatten().cloned().collect();
        found.sort_by_key(|denial| std::cmp::Reverse(denial.seq));
        found.dedup_by_key(|denial| denial.seq);
        found.truncate(MAX_DENIALS);
        found
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

#[cfg(test)]
#[path = "tests/denials.rs"]
mod tests;
