//! An operator's decision. A request goes from pending to approving, its file is written and loaded,
//! and only then it is approved; a crash in between is repaired at the next start.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use policy::{Engine, LoadErrors};
use serde_json::json;

use super::store::now;
use super::{Entry, FLOOR, Requests, RequestsError, Status, confined};
use crate::judge::rules::{ReloadError, Rules, Ruleset, Trigger, bounded};
use crate::record::Recorder;

/// Why a decision does not stand.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecideError {
    #[error("rule request {0} not found")]
    Unknown(String),
    #[error("rule request {id} is {status} already", status = status.as_str())]
    Decided { id: String, status: Status },
    #[error(
        "rule request {0} comes from an agent without a name and without a container, so its rules \
         cannot be confined to it; approve it with \"widen\": true to have them hold for everybody"
    )]
    Scopeless(String),
    #[error("{0}")]
    Invalid(LoadErrors),
    #[error("the rules with this file do not load, and the old ones stay in force: {0}")]
    Reload(ReloadError),
    #[error("cannot write the approved rules: {0}")]
    File(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] RequestsError),
}

/// What an approval did.
#[derive(Debug)]
pub(crate) struct Approval {
    pub(crate) entry: Entry,
    pub(crate) set: Arc<Ruleset>,
    /// Rules that would have come before those of the operator, and no longer do.
    pub(crate) raised: Vec<String>,
    pub(crate) file: PathBuf,
}

impl Requests {
    /// Puts a request's rules in force, or leaves everything as it was.
    pub(crate) fn approve(
        &self,
        id: &str,
        widen: bool,
        uid: u32,
        rules: &Rules,
        recorder: &Recorder,
    ) -> Result<Approval, DecideError> {
        let _turn = self.deciding.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = self.pending(id)?;
        if !widen && entry.scope.condition().is_none() {
            return Err(DecideError::Scopeless(id.to_owned()));
        }
        let file = confined(&entry, widen).map_err(DecideError::Invalid)?;
        let raised = if widen { Vec::new() } else { raised(&entry) };
        self.store().begin(id, &digest(&file.text), widen, uid)?;
        match self.put_in_force(id, &file.text, uid, rules, recorder) {
            Ok(set) => {
                self.settle(&entry, widen)?;
                note(recorder, "request_approved", &entry, uid, widen);
                let entry = self.find(id)?.unwrap_or(entry);
                Ok(Approval { entry, set, raised, file: self.approved.path(id) })
            }
            Err(error) => {
                self.roll_back(id, &error, rules, recorder);
                Err(error)
            }
        }
    }

    /// Turns a request down, for a reason that its container is told.
    pub(crate) fn reject(
        &self,
        id: &str,
        reason: &str,
        uid: u32,
        recorder: &Recorder,
    ) -> Result<Entry, DecideError> {
        let _turn = self.deciding.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = self.pending(id)?;
        self.store().reject(id, reason, uid)?;
        note(recorder, "request_rejected", &entry, uid, false);
        Ok(self.find(id)?.unwrap_or(entry))
    }

    /// Finishes or undoes what a crash interrupted: a file that is in place and loads was approved,
    /// anything else was not. Before the rules are loaded.
    pub(crate) fn repair(&self, paths: &[PathBuf]) -> Result<(), DecideError> {
        let mut whole = Vec::new();
        for entry in self.list(Some(Status::Approving))? {
            let text = self.approved.read(&entry.id)?;
            let is_whole = text.is_some_and(|text| Some(digest(&text)) == entry.digest);
            if is_whole { whole.push(entry) } else { self.undo(&entry)? }
        }
        // Only whole files are left: none of them fails for the sake of another.
        for entry in whole {
            if Rules::load_with(paths, Some(self.approved())).is_ok() {
                self.settle(&entry, entry.widened)?;
                tracing::info!(id = entry.id, "an interrupted approval is finished");
            } else {
                self.undo(&entry)?;
            }
        }
        Ok(())
    }

    fn undo(&self, entry: &Entry) -> Result<(), DecideError> {
        self.approved.remove(&entry.id)?;
        self.store().reopen(&entry.id, "outcalld ended while it was being approved")?;
        tracing::info!(id = entry.id, "an interrupted approval is undone");
        Ok(())
    }

    fn pending(&self, id: &str) -> Result<Entry, DecideError> {
        let entry = self.find(id)?.ok_or_else(|| DecideError::Unknown(id.to_owned()))?;
        match entry.status {
            Status::Pending => Ok(entry),
            status => Err(DecideError::Decided { id: id.to_owned(), status }),
        }
    }

    fn put_in_force(
        &self,
        id: &str,
        text: &str,
        uid: u32,
        rules: &Rules,
        recorder: &Recorder,
    ) -> Result<Arc<Ruleset>, DecideError> {
        self.approved.write(id, text)?;
        rules.reload(Trigger::Operator { uid }, recorder).map_err(DecideError::Reload)
    }

    fn settle(&self, entry: &Entry, widened: bool) -> Result<(), RequestsError> {
        let time = now();
        let reason = match entry.scope.condition().filter(|_| !widened) {
            Some((fact, value)) => {
                format!("operator approved at {time}; its rules hold where {fact} is '{value}'")
            }
            None => format!("operator approved at {time}"),
        };
        self.store().approve(&entry.id, &reason)
    }

    /// The file goes first: a crash in between finds it missing, and the request pending.
    fn roll_back(&self, id: &str, error: &DecideError, rules: &Rules, recorder: &Recorder) {
        let message = bounded(error.to_string());
        let undone = self.approved.remove(id).map_err(DecideError::from);
        let undone = undone.and_then(|()| Ok(self.store().reopen(id, &message)?));
        if let Err(error) = undone {
            tracing::error!(id, %error, "an approval that failed cannot be undone; restart outcalld");
        }
        // The watcher may have seen the file, and what is said about the files must be true again.
        let _ = rules.reload(Trigger::Watch, recorder);
    }
}

/// The ids of rules whose priority an approval raises.
pub(crate) fn raised(entry: &Entry) -> Vec<String> {
    let file = policy::SourceFile { name: entry.id.clone(), text: entry.rule_file.clone() };
    let engine = Engine::load(&[file]);
    let rules = engine.iter().flat_map(|engine| engine.rules());
    rules.filter(|rule| rule.priority < FLOOR).map(|rule| rule.id.clone()).collect()
}

fn digest(text: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The decision itself is in the table of requests; what it changed is on record already.
fn note(recorder: &Recorder, kind: &str, entry: &Entry, uid: u32, widened: bool) {
    let body = json!({
        "id": entry.id, "container": entry.container, "agent": entry.scope.agent,
        "by": format!("api uid {uid}"), "widened": widened,
    });
    if let Err(error) = recorder.control(kind, body) {
        tracing::error!(%error, id = entry.id, "a decision on a rule request is not on record");
    }
}
