//! The facts as people look them up.

use crate::facts::Facts;
use crate::vocabulary::{FACTS, Fact, Slot};

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

#[cfg(test)]
#[path = "tests/reference.rs"]
mod tests;
