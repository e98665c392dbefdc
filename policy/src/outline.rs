//! What a rule file says about a rule beyond what deciding needs: its examples, and the definitions
//! that its condition rests on.

use std::collections::{BTreeMap, BTreeSet};

use crate::SourceFile;
use crate::lex::{TokenKind, lex};
use crate::source::{RawFile, read_file};

/// One rule as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The rule's id.
    pub id: String,
    /// Named conditions that the rule uses, directly or not, in order of name.
    pub definitions: Vec<(String, String)>,
    /// How many examples it is to match.
    pub matches: usize,
    /// How many examples it is not to match.
    pub no_match: usize,
}

/// Every rule of these files; a file that does not load has none.
#[must_use]
pub fn outlines(files: &[SourceFile]) -> Vec<Outline> {
    let read = files.iter().filter_map(|file| read_file(&file.name, &file.text).ok());
    read.flat_map(|file| outlines_of(&file)).collect()
}

fn outlines_of(file: &RawFile) -> Vec<Outline> {
    let texts: BTreeMap<&str, &str> =
        file.definitions.iter().map(|(name, text)| (name.as_str(), text.value.as_str())).collect();
    let each = file.rules.iter().map(|rule| Outline {
        id: rule.id.value.clone(),
        definitions: used(&rule.condition.value, &texts),
        matches: rule.matches.len(),
        no_match: rule.no_match.len(),
    });
    each.collect()
}

fn used(condition: &str, texts: &BTreeMap<&str, &str>) -> Vec<(String, String)> {
    let mut found = BTreeSet::new();
    let mut left = vec![condition];
    while let Some(text) = left.pop() {
        for token in lex(text).unwrap_or_default() {
            let TokenKind::Definition(name) = token.kind else { continue };
            if let Some((name, text)) = texts.get_key_value(name.as_str())
                && found.insert(*name)
            {
                left.push(text);
            }
        }
    }
    let text = |name: &str| texts.get(name).copied().unwrap_or_default().to_owned();
    found.into_iter().map(|name| (name.to_owned(), text(name))).collect()
}

#[cfg(test)]
#[path = "tests/outline.rs"]
mod tests;
