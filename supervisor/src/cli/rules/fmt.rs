//! `rules fmt`.

use std::path::{Path, PathBuf};

use super::input::{fault, read_text, rule_files};
use super::replace::Original;
use super::screen::{counted, one_line};
use super::{Fault, Outcome};
use crate::cli::arguments::rules::FmtArguments;
use crate::judge::rules::RulesError;

/// What `--check` says with when something would change.
const WOULD_CHANGE: u8 = 1;

pub(super) fn fmt(arguments: &FmtArguments) -> Result<Outcome, Fault> {
    let stdin = Path::new("-");
    if arguments.paths == [stdin] {
        return from_stdin(arguments.check);
    }
    if arguments.paths.iter().any(|path| path == stdin) {
        return Err(Fault::Usage("`-` stands alone: it reads stdin and writes stdout".to_owned()));
    }
    let drafts = drafts(&arguments.paths)?;
    let changed = drafts.iter().filter(|draft| draft.changes()).count();
    let mut text = String::new();
    for draft in drafts.iter().filter(|draft| draft.changes()) {
        let path = &draft.original.path;
        let word = if arguments.check { "would change" } else { "changed" };
        if !arguments.check {
            draft.original.replace(&draft.text).map_err(|cause| {
                anyhow::Error::new(cause).context(format!("cannot rewrite {}", path.display()))
            })?;
        }
        text += &format!("{word} {}\n", one_line(&path.display().to_string()));
    }
    let (count, same) = (counted(drafts.len(), "file"), drafts.len() - changed);
    let word = if arguments.check { "to change" } else { "changed" };
    text += &format!("{count}: {changed} {word}, {same} already canonical\n");
    let code = if arguments.check && changed > 0 { WOULD_CHANGE } else { 0 };
    Ok(Outcome { text, code })
}

fn from_stdin(check: bool) -> Result<Outcome, Fault> {
    let before = read_text(std::io::stdin().lock()).map_err(|cause| fault("stdin", cause))?;
    let after = policy::format("stdin", &before).map_err(RulesError::Invalid)?;
    if check {
        let code = if before == after { 0 } else { WOULD_CHANGE };
        return Ok(Outcome { text: String::new(), code });
    }
    Ok(Outcome { text: after, code: 0 })
}

/// A file and its canonical form.
struct Draft {
    original: Original,
    text: String,
}

impl Draft {
    fn changes(&self) -> bool {
        self.original.text != self.text
    }
}

/// All files are read and formatted before any is touched: a mistake in one changes none.
fn drafts(paths: &[PathBuf]) -> Result<Vec<Draft>, Fault> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut wrong = Vec::new();
    for path in paths {
        for path in rule_files(path)? {
            if drafts.iter().any(|draft| draft.original.path == path) {
                continue;
            }
            let name = path.display().to_string();
            let original = Original::read(&path).map_err(|cause| fault(&name, cause))?;
            match policy::format(&name, &original.text) {
                Ok(text) => drafts.push(Draft { original, text }),
                Err(errors) => wrong.push(errors.to_string()),
            }
        }
    }
    if wrong.is_empty() { Ok(drafts) } else { Err(Fault::Invalid(wrong.join("\n"))) }
}
