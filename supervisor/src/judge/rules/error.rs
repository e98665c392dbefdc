//! Why rules cannot be loaded, one variant a step.

use std::io;
use std::path::PathBuf;

/// Rules could not be loaded; what was in force stays.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RulesError {
    #[error("cannot read rules from {path}: {cause}", path = path.display())]
    Reach { path: PathBuf, cause: io::Error },
    #[error("cannot list the rule directory {path}: {cause}", path = path.display())]
    List { path: PathBuf, cause: io::Error },
    #[error("no rule files (*.yaml, *.yml) in {path}", path = path.display())]
    Empty { path: PathBuf },
    #[error(
        "everybody can write to the directory {path} and put rules of their own in force; next: chmod o-w {path}",
        path = path.display()
    )]
    OpenDirectory { path: PathBuf },
    #[error("cannot open the rule file {file}: {cause}")]
    Open { file: String, cause: io::Error },
    #[error(
        "the rule file {file} is a symbolic link, and whoever can change where it leads could change the rules; \
         put the file itself there"
    )]
    Link { file: String },
    #[error("{file} is not a regular file; rules are read from regular files only")]
    Irregular { file: String },
    #[error("everybody can write to the rule file {file}; next: chmod o-w {file}")]
    OpenFile { file: String },
    #[error(
        "the rule file {file} belongs to user {owner}, in a directory where everybody can put files; \
         move the rules to a directory of their own"
    )]
    Foreign { file: String, owner: u32 },
    #[error(
        "the rule file {file} is larger than {} bytes, which is the limit",
        policy::MAX_FILE_BYTES
    )]
    TooLarge { file: String },
    #[error("cannot read the rule file {file}: {cause}")]
    Read { file: String, cause: io::Error },
    #[error("the rule file {file} is not UTF-8: a byte at offset {offset} is not text")]
    NotText { file: String, offset: usize },
    #[error("{file} changes while it is read; the rules are read again when it rests")]
    Changing { file: String },
    #[error("{path} has more than {} rule files, which is the limit", policy::MAX_FILES, path = path.display())]
    TooMany { path: PathBuf },
    #[error(
        "with {file} the rule files pass {} bytes, which is the limit",
        policy::MAX_TOTAL_BYTES
    )]
    TooMuch { file: String },
    #[error("{0}")]
    Invalid(policy::LoadErrors),
}

impl RulesError {
    /// Whether somebody is at work on the files just now.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Changing { .. } => true,
            Self::Open { cause, .. } => cause.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }
}
