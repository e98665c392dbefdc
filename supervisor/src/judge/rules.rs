//! The rules in force: read from files, validated whole, swapped atomically.

use std::io::{self, Read as _};
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
    Engine::load(&sources(paths)?).map_err(RulesError::Invalid)
}

/// The rule files at these paths, unread as rules; with no path, the built-in ones.
pub(crate) fn sources(paths: &[PathBuf]) -> Result<Vec<SourceFile>, RulesError> {
    if paths.is_empty() {
        return Ok(policy::default_rules());
    }
    let mut files = Vec::new();
    for path in paths {
        for file in rule_files(path)? {
            let source = read_source(&file);
            files.push(source.map_err(|cause| RulesError::Read { path: file, cause })?);
        }
    }
    Ok(files)
}

/// The path itself, or the rule files of the directory that it is.
pub(crate) fn rule_files(path: &Path) -> Result<Vec<PathBuf>, RulesError> {
    let failed = |cause| RulesError::Read { path: path.to_owned(), cause };
    if !path.metadata().map_err(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
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
    Ok(found)
}

/// One file with its name.
pub(crate) fn read_source(path: &Path) -> io::Result<SourceFile> {
    let text = read_text(std::fs::File::open(path)?)?;
    Ok(SourceFile { name: path.display().to_string(), text })
}

/// A whole text within the limit. What has no size beforehand, such as a pipe, has the same limit.
pub(crate) fn read_text(input: impl io::Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(policy::MAX_FILE_BYTES).unwrap_or(u64::MAX);
    input.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > policy::MAX_FILE_BYTES {
        let message = "a rule file may have 1 MiB at most";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        io::Error::new(io::ErrorKind::InvalidData, format!("byte {at} is not valid UTF-8"))
    })
}
