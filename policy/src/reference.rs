//! The language of rules as people look it up, from the tables that the engine itself uses.

mod language;
mod limits;
mod refusals;
mod table;

use crate::facts::Facts;
use crate::schema::keys;
use crate::source::{EXAMPLE_KEYS, FILE_KEYS, REQUIRED_KEYS, RULE_KEYS};
use crate::vocabulary::{FACTS, Fact, Slot};
use table::{code, table};

/// One fact, described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactDoc {
    /// The dotted name that conditions and examples use.
    pub name: &'static str,
    /// `string`, `number`, `list of strings` or `map`.
    pub kind: &'static str,
    /// What it is, as a sentence.
    pub doc: &'static str,
    /// A value of it, as an example in a rule file would have it.
    pub example: &'static str,
}

/// Every fact, in the order of the vocabulary.
#[must_use]
pub fn facts_reference() -> Vec<FactDoc> {
    FACTS.iter().map(described).collect()
}

fn described(fact: &Fact) -> FactDoc {
    let kind = match (fact.slot)(&mut Facts::default()) {
        Slot::Str(_) | Slot::Source(_) | Slot::Action(_) => "string",
        Slot::Int(_) => "number",
        Slot::List(_) => "list of strings",
        Slot::Map(_) => "map",
    };
    FactDoc { name: fact.name, kind, doc: fact.doc, example: fact.example }
}

/// The format of rule files, every fact, the language of conditions and every limit, as Markdown.
#[must_use]
pub fn reference() -> String {
    let parts = [files(), facts(), language::section(), refusals::section(), limits::section()];
    parts.join("\n")
}

fn files() -> String {
    let about = |key: &str, value: &serde_json::Value| {
        let description = value["description"].as_str().unwrap_or_default();
        let default = value.get("default").map(|default| format!(" Default: {default}."));
        vec![code(key), format!("{description}{}", default.unwrap_or_default())]
    };
    let of_file = FILE_KEYS.iter().map(|key| about(key, &keys::of_file(key)));
    let of_rule = RULE_KEYS.iter().map(|key| {
        let mut row = about(key, &keys::of_rule(key));
        let needed = if REQUIRED_KEYS.contains(key) { "yes" } else { "" };
        row.insert(1, needed.to_owned());
        row
    });
    let of_examples = EXAMPLE_KEYS.iter().map(|key| about(key, &keys::of_examples(key)));
    format!(
        "## The file\n\n{}\n### A rule\n\n{}\n### Its examples\n\n{}",
        table(&["key", "meaning"], of_file),
        table(&["key", "required", "meaning"], of_rule),
        table(&["key", "meaning"], of_examples),
    )
}

fn facts() -> String {
    let rows = facts_reference().into_iter().map(|fact| {
        vec![code(fact.name), fact.kind.to_owned(), fact.doc.to_owned(), code(fact.example)]
    });
    format!(
        "## Facts\n\nA string that does not apply is `''`, a number 0, a list and a map are empty. \
         So is an entry that a map does not\nhave. None of that is an error.\n\n{}",
        table(&["fact", "type", "what it is", "as in an example"], rows)
    )
}

#[cfg(test)]
#[path = "tests/reference.rs"]
mod tests;
