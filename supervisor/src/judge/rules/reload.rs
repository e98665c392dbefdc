//! A reload: everything is validated, then recorded, then put in force.

use std::fmt;
use std::sync::{Arc, PoisonError};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::change::{counts, difference};
use super::{Failure, Rules, RulesError, Ruleset, places, read};
use crate::record::{LogError, Recorder};

/// As much of an error as is recorded and shown.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// Who asked for a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Watch,
    Hangup,
    Operator { uid: u32 },
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watch => f.write_str("watch"),
            Self::Hangup => f.write_str("SIGHUP"),
            Self::Operator { uid } => write!(f, "api uid {uid}"),
        }
    }
}

/// A reload that changed nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReloadError {
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error("a change of rules that cannot be recorded does not happen: {0}")]
    Log(#[from] LogError),
}

impl Rules {
    /// Validates everything anew, records the change, then swaps. On an error the old set stays, and
    /// so it does where nothing has changed.
    pub(crate) fn reload(
        &self,
        trigger: Trigger,
        recorder: &Recorder,
    ) -> Result<Arc<Ruleset>, ReloadError> {
        let _turn = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.replace(trigger, recorder);
        match &result {
            Ok(_) => self.forget_failure(),
            Err(error) => self.keep_failure(error, trigger, recorder),
        }
        result
    }

    fn replace(&self, trigger: Trigger, recorder: &Recorder) -> Result<Arc<Ruleset>, ReloadError> {
        let engine = read(&self.paths, self.approved.as_deref())?;
        let places = places(self.all_paths());
        let old = self.current.load_full();
        if engine.digest() == old.engine.digest() {
            if places != old.places {
                // The same text under another roof: nothing to tell, but another place to protect.
                self.current.store(Arc::new(Ruleset { engine, places, ..*old }));
            }
            return Ok(self.current.load_full());
        }
        let new = Arc::new(Ruleset { engine, generation: old.generation + 1, places });
        recorder.control("policy_change", change_record(trigger, &old, &new))?;
        self.current.store(new.clone());
        self.last.lock().unwrap_or_else(PoisonError::into_inner).loaded_at = Timestamp::now();
        tracing::info!(generation = new.generation, by = %trigger, "rules reloaded");
        Ok(new)
    }

    fn forget_failure(&self) {
        let failure = self.last.lock().unwrap_or_else(PoisonError::into_inner).failure.take();
        if failure.is_some() {
            tracing::info!("the rule files are as they should be again");
        }
    }

    /// Says once what is wrong, and records it; a watcher that sees the same mistake again adds
    /// nothing.
    fn keep_failure(&self, error: &ReloadError, trigger: Trigger, recorder: &Recorder) {
        let message = bounded(error.to_string());
        let repeated = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            let before = last.failure.take();
            let repeated = before.as_ref().is_some_and(|failure| failure.message == message);
            let since = before.map_or_else(Timestamp::now, |failure| failure.since);
            last.failure = Some(Failure { message: message.clone(), since });
            repeated
        };
        if !repeated {
            tracing::error!("rules not reloaded, the old ones stay in force: {message}");
        }
        if repeated && trigger == Trigger::Watch {
            return;
        }
        let body = json!({ "by": trigger.to_string(), "error": message });
        if let Err(error) = recorder.control("policy_rejected", body) {
            tracing::error!(%error, "a refused change of rules is not on record");
        }
    }
}

fn change_record(trigger: Trigger, old: &Ruleset, new: &Ruleset) -> Value {
    let mut body = Map::new();
    body.insert("by".to_owned(), trigger.to_string().into());
    body.insert("old_digest".to_owned(), old.engine.digest().into());
    body.insert("digest".to_owned(), new.engine.digest().into());
    body.insert("generation".to_owned(), new.generation.into());
    body.insert("rules".to_owned(), counts(&new.engine));
    if let Value::Object(lists) = difference(&old.engine, &new.engine) {
        body.extend(lists);
    }
    Value::Object(body)
}

/// A set can have thousands of mistakes; the first ones are enough to begin with.
pub(crate) fn bounded(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push_str("\n… and more");
    }
    message
}

#[cfg(test)]
#[path = "tests/reload.rs"]
mod tests;
