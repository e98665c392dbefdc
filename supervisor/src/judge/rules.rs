//! The rules in force: read from files, validated whole, swapped atomically.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use policy::{Engine, SourceFile};

/// Rules could not be loaded; what was in force stays.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RulesError {
    #[error("cannot read rules from {path}: {cause}")]
    Read { path: PathBuf, cause: io::Error },
    #[error("no rule files (*.yaml, *.yml) in {path}")]
    Empty { path: PathBuf },
    #[error("{0}")]
    Invalid(policy::LoadErrors),
}

/// One validated set.
#[derive(Debug)]
pub(crate) struct Ruleset {
    pub(crate) engine: Engine,
    pub(crate) generation: u64,
}

/// Where rules come from, and the set in force.
#[derive(Debug)]
pub(crate) struct Rules {
    paths: Vec<PathBuf>,
    current: ArcSwap<Ruleset>,
}

impl Rules {
    /// Loads from files and directories; with none, the built-in default set.
    pub(crate) fn load(paths: &[PathBuf]) -> Result<Self, RulesError> {
        let engine = read(paths)?;
        let current = ArcSwap::from_pointee(Ruleset { engine, generation: 1 });
        Ok(Self { paths: paths.to_vec(), current })
    }

    pub(crate) fn current(&self) -> arc_swap::Guard<Arc<Ruleset>> {
        self.current.load()
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Validates everything anew, then swaps. On an error the old set stays.
    pub(crate) fn reload(&self) -> Result<u64, RulesError> {
        let engine = read(&self.paths)?;
        let generation = self.current.load().generation + 1;
        self.current.store(Arc::new(Ruleset { engine, generation }));
        Ok(generation)
    }
}

fn read(paths: &[PathBuf]) -> Result<Engine, RulesError> {
    let files = if paths.is_empty() {
        policy::default_rules()
    } else {
        let mut files = Vec::new();
        for path in paths {
            read_path(path, &mut files)?;
        }
        files
    };
    Engine::load(&files).map_err(RulesError::Invalid)
}

fn read_path(path: &Path, files: &mut Vec<SourceFile>) -> Result<(), RulesError> {
    let failed = |cause| RulesError::Read { path: path.to_owned(), cause };
    if !path.metadata().map_err(failed)?.is_dir() {
        files.push(read_file(path).map_err(failed)?);
        return Ok(());
    }
    let mut found = Vec::new();
    for entry in path.read_dir().map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let is_rules = matches!(file.extension().and_then(|e| e.to_str()), Some("yaml" | "yml"));
        let hidden = file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_rules && !hidden {
            found.push(file);
        }
    }
    if found.is_empty() {
        return Err(RulesError::Empty { path: path.to_owned() });
    }
    found.sort();
    for file in found {
        let source = read_file(&file);
        files.push(source.map_err(|cause| RulesError::Read { path: file.clone(), cause })?);
    }
    Ok(())
}

fn read_file(path: &Path) -> io::Result<SourceFile> {
    let size = path.metadata()?.len();
    if size > 1 << 20 {
        return Err(io::Error::other("a rule file may have 1 MiB at most"));
    }
    Ok(SourceFile { name: path.display().to_string(), text: std::fs::read_to_string(path)? })
}
