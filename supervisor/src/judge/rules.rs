//! The rules in force: read from files, validated whole, swapped atomically.

mod change;
mod error;
mod files;
mod reload;
mod watch;

pub(crate) use error::RulesError;
pub(crate) use files::is_rule_name;
pub(crate) use reload::{ReloadError, Trigger, bounded};
pub(crate) use watch::Watch;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use policy::{Engine, SourceFile};

use crate::record::decision::PolicyRecord;

/// What is written instead of a path for the rules that Outcall ships with. A file or directory of
/// that name is reached as `./builtin`.
const BUILTIN: &str = "builtin";

/// The stack of a thread that loads rules. Conditions nest, and so does the loading of them, deeper
/// than a usual thread can bear in a build without optimisation.
pub(crate) const STACK_BYTES: usize = 8 << 20;

/// One validated set.
#[derive(Debug)]
pub(crate) struct Ruleset {
    pub(crate) engine: Engine,
    pub(crate) generation: u64,
    /// What it was read from, by the names given and by those found: nobody supervised changes it.
    pub(crate) places: Vec<PathBuf>,
}

impl Ruleset {
    /// How records name the set.
    pub(crate) fn policy(&self) -> PolicyRecord {
        PolicyRecord { digest: self.engine.digest().to_owned(), generation: self.generation }
    }
}

/// How the last load went.
#[derive(Clone, Debug)]
pub(crate) struct LastLoad {
    /// When the set in force was loaded.
    pub(crate) loaded_at: Timestamp,
    /// What is wrong with the files since then, if anything is.
    pub(crate) failure: Option<Failure>,
}

/// Why the files are not in force.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    /// The first reload that failed.
    pub(crate) since: Timestamp,
}

/// Where rules come from, and the set in force.
#[derive(Debug)]
pub(crate) struct Rules {
    paths: Vec<PathBuf>,
    /// Rule files of agents that an operator approved, in addition to those of the operator.
    approved: Option<PathBuf>,
    current: ArcSwap<Ruleset>,
    last: Mutex<LastLoad>,
    /// Held over a whole reload: one at a time.
    reloading: Mutex<()>,
    watched: AtomicBool,
}

impl Rules {
    /// Loads from files and directories, and from the built-in set where that is named; with no path
    /// it is meant.
    pub(crate) fn load(paths: &[PathBuf]) -> Result<Self, RulesError> {
        Self::load_with(paths, None)
    }

    /// The same with a directory of approved files.
    pub(crate) fn load_with(
        paths: &[PathBuf],
        approved: Option<&Path>,
    ) -> Result<Self, RulesError> {
        let engine = read(paths, approved)?;
        let places = places(paths.iter().map(PathBuf::as_path).chain(approved));
        let current = Ruleset { engine, generation: 1, places };
        Ok(Self {
            paths: paths.to_vec(),
            approved: approved.map(Path::to_owned),
            current: ArcSwap::from_pointee(current),
            last: Mutex::new(LastLoad { loaded_at: Timestamp::now(), failure: None }),
            reloading: Mutex::new(()),
            watched: AtomicBool::new(false),
        })
    }

    pub(crate) fn current(&self) -> arc_swap::Guard<Arc<Ruleset>> {
        self.current.load()
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Every file and directory that is read: the operator's, and the approved ones.
    pub(crate) fn all_paths(&self) -> impl Iterator<Item = &Path> {
        let all = self.paths.iter().chain(&self.approved).map(PathBuf::as_path);
        all.filter(|path| *path != Path::new(BUILTIN))
    }

    /// The mistakes that the set would have with one more file.
    pub(crate) fn trial(&self, file: SourceFile) -> Result<(), RulesError> {
        let mut files = gathered(&self.paths, self.approved.as_deref())?;
        files.push(file);
        Engine::load(&files).map(drop).map_err(RulesError::Invalid)
    }

    pub(crate) fn last(&self) -> LastLoad {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a change of the files is noticed without being told.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }
}

fn read(paths: &[PathBuf], approved: Option<&Path>) -> Result<Engine, RulesError> {
    Engine::load(&gathered(paths, approved)?).map_err(RulesError::Invalid)
}

fn gathered(paths: &[PathBuf], approved: Option<&Path>) -> Result<Vec<SourceFile>, RulesError> {
    let mut files = sources(paths)?;
    let Some(directory) = approved else { return Ok(files) };
    match files::gather(&[directory.to_owned()]) {
        Ok(more) => files.extend(more),
        // Nothing is approved yet.
        Err(RulesError::Empty { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(files)
}

/// The rule files at these paths, unread as rules. The built-in ones are there once, however often
/// they are named.
pub(crate) fn sources(paths: &[PathBuf]) -> Result<Vec<SourceFile>, RulesError> {
    let on_disk = on_disk(paths);
    let mut sources = files::gather(&on_disk)?;
    if paths.is_empty() || on_disk.len() < paths.len() {
        sources.extend(policy::default_rules());
    }
    Ok(sources)
}

/// The paths that lead to files.
fn on_disk(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter(|path| path.as_path() != Path::new(BUILTIN)).cloned().collect()
}

fn places<'p>(paths: impl Iterator<Item = &'p Path>) -> Vec<PathBuf> {
    let paths = paths.filter(|path| *path != Path::new(BUILTIN));
    let mut places: Vec<PathBuf> = paths.flat_map(super::guard::names).collect();
    places.sort();
    places.dedup();
    places
}

#[cfg(test)]
#[path = "rules/tests/sources.rs"]
mod tests;
