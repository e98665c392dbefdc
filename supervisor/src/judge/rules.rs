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

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use policy::{Engine, SourceFile};

use crate::record::decision::PolicyRecord;

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
    current: ArcSwap<Ruleset>,
    last: Mutex<LastLoad>,
    /// Held over a whole reload: one at a time.
    reloading: Mutex<()>,
    watched: AtomicBool,
}

impl Rules {
    /// Loads from files and directories; with none, the built-in default set.
    pub(crate) fn load(paths: &[PathBuf]) -> Result<Self, RulesError> {
        let engine = read(paths)?;
        let current = Ruleset { engine, generation: 1, places: places(paths) };
        Ok(Self {
            paths: paths.to_vec(),
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

    pub(crate) fn last(&self) -> LastLoad {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a change of the files is noticed without being told.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }
}

fn read(paths: &[PathBuf]) -> Result<Engine, RulesError> {
    Engine::load(&sources(paths)?).map_err(RulesError::Invalid)
}

/// The rule files at these paths, unread as rules; with no path, the built-in ones.
pub(crate) fn sources(paths: &[PathBuf]) -> Result<Vec<SourceFile>, RulesError> {
    if paths.is_empty() { Ok(policy::default_rules()) } else { files::gather(paths) }
}

fn places(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> =
        paths.iter().flat_map(|path| super::guard::names(path)).collect();
    places.sort();
    places.dedup();
    places
}
