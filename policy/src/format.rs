//! The canonical layout of a rule file: one order, one indent, one way to quote. Comments stay.

mod arrange;
mod comments;
mod meaning;
mod scalar;
mod shape;
mod tree;
mod write;

pub(crate) use scalar::double_quoted;

use crate::error::{Diagnostic, LoadErrors, Place};
use crate::source::read_file;
use crate::yaml::{Value, read};

use meaning::meaning;
use tree::{Comment, comments_of};

/// How wide a line may get before a layout with more lines is chosen.
const WIDTH: usize = 100;

/// Writes a rule file in its canonical layout. What it means does not change, and no comment is
/// lost. Whether the rules are right is not asked: that is what loading them tells.
///
/// # Errors
/// The file is no YAML that rules may be written in, or a comment has no place in the layout.
pub fn format(name: &str, text: &str) -> Result<String, LoadErrors> {
    let refuse = |line: usize, message: &str, hint: &str| {
        let place = Place { line: u32::try_from(line).unwrap_or(u32::MAX), column: 1 };
        let diagnostic = Diagnostic::new(name, text, place, message);
        LoadErrors::new(vec![diagnostic.with_hint(Some(hint.to_owned()))])
    };
    let before = read(name, text).map_err(|diagnostic| LoadErrors::new(vec![diagnostic]))?;
    if !matches!(&before.value, Value::Map(entries) if !entries.is_empty()) {
        let diagnostics = read_file(name, text).err().unwrap_or_default();
        return Err(LoadErrors::new(diagnostics));
    }
    let source = unix(text);
    let unknown = || refuse(1, "the layout of this file is not understood", REPORT);
    let (mut root, notes) = tree::read(&source, &before).ok_or_else(unknown)?;
    let kept = texts(&notes);
    let head = comments::attach(&mut root, notes).map_err(|clash| {
        let hint = "put one of them on a line of its own, above";
        refuse(clash.line, "this comment and an earlier one would stand on one line", hint)
    })?;
    arrange::arrange(&mut root, 0, shape::Shape::File);
    let formatted = write::write(&head, &root);
    // A formatter that is wrong must not be able to change a policy.
    let changed = || refuse(1, "formatting would change what this file means", REPORT);
    let after = read(name, &formatted).map_err(|_| changed())?;
    if meaning(&after) != meaning(&before) {
        return Err(changed());
    }
    let lost = || refuse(1, "formatting would lose a comment of this file", REPORT);
    if comments_of(&formatted).map(|found| texts(&found)) != Some(kept) {
        return Err(lost());
    }
    Ok(formatted)
}

const REPORT: &str = "the file is left as it is; please report this as a mistake of the formatter";

/// The text with one kind of line break, and without a byte order mark.
fn unix(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The texts of comments, whatever their order.
fn texts(comments: &[Comment]) -> Vec<String> {
    let mut texts: Vec<String> = comments.iter().map(|comment| comment.text.clone()).collect();
    texts.sort_unstable();
    texts
}

#[cfg(test)]
#[path = "tests/format.rs"]
mod tests;
