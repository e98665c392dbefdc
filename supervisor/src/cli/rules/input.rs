//! Files that commands about rules work on without putting them in force.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use policy::SourceFile;

use super::Fault;
use crate::judge::rules::is_rule_name;

/// The path itself, or the rule files of the directory that it is.
pub(super) fn rule_files(path: &Path) -> Result<Vec<PathBuf>, Fault> {
    let failed = || format!("cannot read rules from {}", path.display());
    if !path.metadata().with_context(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in path.read_dir().with_context(failed)? {
        let entry = entry.with_context(failed)?;
        if is_rule_name(&entry.file_name()) {
            found.push(entry.path());
        }
    }
    if found.is_empty() {
        let message = format!("no rule files (*.yaml, *.yml) in {}", path.display());
        return Err(Fault::Invalid(message));
    }
    found.sort();
    Ok(found)
}

/// One file with its name.
pub(super) fn read_source(path: &Path) -> Result<SourceFile, Fault> {
    let name = path.display().to_string();
    let text = std::fs::File::open(path).and_then(read_text);
    text.map(|text| SourceFile { name: name.clone(), text }).map_err(|cause| fault(&name, cause))
}

/// A whole text within the limit. What has no size beforehand, such as a pipe, has the same limit.
pub(super) fn read_text(input: impl io::Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(policy::MAX_FILE_BYTES).unwrap_or(u64::MAX);
    input.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > policy::MAX_FILE_BYTES {
        let message = "it is larger than 1 MiB, which is the limit";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("it is not UTF-8: a byte at offset {at} is not text");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// What cannot be a rule file is invalid; what cannot be read is a failure.
pub(super) fn fault(name: &str, cause: io::Error) -> Fault {
    use io::ErrorKind::{FileTooLarge, InvalidData};
    let message = format!("cannot read {name}");
    match cause.kind() {
        FileTooLarge | InvalidData => Fault::Invalid(format!("{message}: {cause}")),
        _ => Fault::Failed(anyhow::Error::new(cause).context(message)),
    }
}
