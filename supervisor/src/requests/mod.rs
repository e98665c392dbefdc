//! Rule files that agents ask for: durable from the moment they are acknowledged, and in force once an
//! operator has approved them.

mod approval;
mod approved;
mod store;

pub(crate) use approval::{Approval, DecideError, raised};
pub(crate) use store::{Entry, Scope, Status};

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use policy::{Confinement, Engine, LoadErrors, SourceFile, confine};

use crate::attach::session::Identity;
use approved::Approved;
use store::Store;

/// Rules of agents come after this priority, unless an operator says otherwise.
pub(crate) const FLOOR: i64 = 1_000;
/// Requests of one container that wait for an operator.
const MAX_WAITING: usize = 16;
/// Requests that wait in all.
const MAX_WAITING_IN_ALL: usize = 1_024;
/// Mistakes of a file that are told.
const MAX_TOLD: usize = 10;

/// Why requests cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestsError {
    #[error("cannot use the state directory {path}: {cause}; choose another with --state")]
    Directory { path: PathBuf, cause: std::io::Error },
    #[error("another outcalld owns the state directory {path}; choose another with --state")]
    InUse { path: PathBuf },
    #[error("the rule requests in {path} were kept by a newer outcalld; start that one")]
    Newer { path: PathBuf },
    #[error("cannot keep rule requests: {0}")]
    Store(#[from] rusqlite::Error),
}

/// Why a submission is turned away.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubmitError {
    #[error("invalid rule file: {0}")]
    Invalid(String),
    #[error("{0}")]
    Full(String),
    #[error(transparent)]
    Store(#[from] RequestsError),
    #[error("no randomness: {0}")]
    Randomness(std::io::Error),
}

/// Every request, and the files that came of them.
#[derive(Debug)]
pub(crate) struct Requests {
    store: Mutex<Store>,
    approved: Approved,
    /// Held over a whole decision: one at a time.
    deciding: Mutex<()>,
    _lock: File,
}

impl Requests {
    /// Opens the state directory, which one daemon owns.
    pub(crate) fn open(state: &Path) -> Result<Self, RequestsError> {
        let path = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
        let unusable = |cause| RequestsError::Directory { path: path.clone(), cause };
        let mut private = std::fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(&path).map_err(unusable)?;
        let lock = File::open(&path).map_err(unusable)?;
        lock.try_lock().map_err(|_| RequestsError::InUse { path: path.clone() })?;
        let approved = path.join("approved");
        private.create(&approved).map_err(unusable)?;
        let approved = Approved::new(approved).map_err(unusable)?;
        let store = Mutex::new(Store::open(&path.join("requests.db"))?);
        Ok(Self { store, approved, deciding: Mutex::new(()), _lock: lock })
    }

    /// Where approved files are.
    pub(crate) fn approved(&self) -> &Path {
        self.approved.directory()
    }

    /// Queues a file, once it is known to be good. It is on disk before this returns.
    pub(crate) fn submit(
        &self,
        container: &str,
        identity: &Identity,
        text: &str,
    ) -> Result<Entry, SubmitError> {
        let id = new_id().map_err(SubmitError::Randomness)?;
        let scope = Scope::of(identity);
        validate(&id, &scope, text)?;
        let store = self.store();
        let (own, all) = store.waiting(container)?;
        if own >= MAX_WAITING {
            let message = format!(
                "{MAX_WAITING} rule requests of this container wait for an operator already"
            );
            return Err(SubmitError::Full(message));
        }
        if all >= MAX_WAITING_IN_ALL {
            return Err(SubmitError::Full(
                "too many rule requests wait for an operator".to_owned(),
            ));
        }
        Ok(store.add(&id, container, &scope, text)?)
    }

    /// A request of this very container.
    pub(crate) fn own(&self, container: &str, id: &str) -> Result<Option<Entry>, RequestsError> {
        Ok(self.find(id)?.filter(|entry| entry.container == container))
    }

    pub(crate) fn find(&self, id: &str) -> Result<Option<Entry>, RequestsError> {
        self.store().find(id)
    }

    /// Every request, or those of one status, the newest first.
    pub(crate) fn list(&self, status: Option<Status>) -> Result<Vec<Entry>, RequestsError> {
        self.store().list(status)
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file as an approval would write it.
pub(crate) fn confined(entry: &Entry, widen: bool) -> Result<SourceFile, LoadErrors> {
    rewritten(&entry.id, &entry.scope, &entry.rule_file, widen)
}

fn rewritten(id: &str, scope: &Scope, text: &str, widen: bool) -> Result<SourceFile, LoadErrors> {
    let file = SourceFile { name: format!("{id}.yaml"), text: text.to_owned() };
    let (scope, floor) = if widen { (None, None) } else { (scope.condition(), Some(FLOOR)) };
    confine(&file, &Confinement { prefix: &format!("{id}/"), scope, floor })
}

/// The same mistakes as those of a rule file on disk, and then those of the file as it would be written.
fn validate(id: &str, scope: &Scope, text: &str) -> Result<(), SubmitError> {
    let invalid = |errors: &LoadErrors| SubmitError::Invalid(told(errors));
    let file = SourceFile { name: "rule_file".to_owned(), text: text.to_owned() };
    let engine = Engine::load(&[file]).map_err(|errors| invalid(&errors))?;
    if engine.rules().is_empty() {
        return Err(SubmitError::Invalid("line 1: the file has no rules".to_owned()));
    }
    rewritten(id, scope, text, false).map_err(|errors| invalid(&errors))?;
    Ok(())
}

/// Mistakes on one line: where, what, and what would be right.
fn told(errors: &LoadErrors) -> String {
    let each = errors.iter().take(MAX_TOLD).map(|error| {
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("line {}: {}{hint}", error.line, error.message)
    });
    let mut text = each.collect::<Vec<_>>().join("; ");
    let more = errors.iter().count().saturating_sub(MAX_TOLD);
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

fn new_id() -> std::io::Result<String> {
    let mut bytes = [0_u8; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("rr-{digits}"))
}

#[cfg(test)]
#[path = "tests/requests.rs"]
mod tests;
