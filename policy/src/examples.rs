//! Examples: what a rule's author says it matches, checked whenever the rule is loaded.

use crate::assign::complete;
use crate::compile::Bool;
use crate::error::{Diagnostic, did_you_mean};
use crate::eval::holds;
use crate::facts::{ActionType, Facts, Source};
use crate::load::SourceFile;
use crate::source::RawRule;
use crate::vocabulary::{Slot, fact, fields_of, first_names, is_group, member};
use crate::yaml::{At, Key, Node, Value};

/// Runs every example of a rule against its own condition.
pub(crate) fn check_examples(
    file: &SourceFile,
    rule: &RawRule,
    condition: &Bool,
) -> Vec<Diagnostic> {
    let expected = rule.matches.iter().map(|node| (node, true));
    let expected = expected.chain(rule.no_match.iter().map(|node| (node, false)));
    let mut diagnostics = Vec::new();
    for (node, wanted) in expected {
        let (at, message, hint) = match facts_of(node) {
            Err(mistake) => (mistake.at, mistake.message, mistake.hint),
            Ok(facts) => match holds(condition, &facts) {
                Ok(found) if found == wanted => continue,
                Ok(true) => {
                    (node.at, format!("rule `{}` matches this example", rule.id.value), None)
                }
                Ok(false) => {
                    (node.at, format!("rule `{}` does not match this example", rule.id.value), None)
                }
                Err(fault) => (
                    node.at,
                    format!("rule `{}` fails on this example", rule.id.value),
                    Some(fault.to_string()),
                ),
            },
        };
        let diagnostic = Diagnostic::new(&file.name, &file.text, at.place, message);
        diagnostics.push(diagnostic.with_hint(hint));
    }
    diagnostics
}

/// What is wrong with the facts of an example or of a case.
pub(crate) struct Mistake {
    pub(crate) at: At,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Mistake {
    fn new(at: At, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: None }
    }

    fn nearest(at: At, message: String, given: &str, known: &[&str]) -> Self {
        let listed = || format!("there are {}", known.join(", "));
        let hint = Some(did_you_mean(given, known).unwrap_or_else(listed));
        Self { at, message, hint }
    }
}

/// The facts that an example describes.
pub(crate) fn facts_of(node: &Node) -> Result<Facts, Mistake> {
    let Value::Map(entries) = &node.value else {
        return Err(Mistake::new(node.at, "an example must be a mapping of facts"));
    };
    let mut facts = Facts::default();
    for (key, node) in entries {
        match fact(&key.text) {
            Some(fact) => set(&key.text, (fact.slot)(&mut facts), node)?,
            None if is_group(&key.text) => set_group(&mut facts, key, node)?,
            None => {
                let message = format!("there is no fact named `{}`", key.text.escape_debug());
                return Err(Mistake::nearest(key.at, message, &key.text, &first_names()));
            }
        }
    }
    // What follows from the target an author need not repeat.
    complete(&mut facts);
    Ok(facts)
}

fn set_group(facts: &mut Facts, group: &Key, node: &Node) -> Result<(), Mistake> {
    let Value::Map(entries) = &node.value else {
        let message = format!("`{}` must be a mapping of facts", group.text);
        return Err(Mistake::new(node.at, message));
    };
    for (key, node) in entries {
        let Some(fact) = member(&group.text, &key.text) else {
            let message = format!("`{}` has no field `{}`", group.text, key.text.escape_debug());
            return Err(Mistake::nearest(key.at, message, &key.text, &fields_of(&group.text)));
        };
        set(fact.name, (fact.slot)(facts), node)?;
    }
    Ok(())
}

fn set(name: &str, slot: Slot<'_>, node: &Node) -> Result<(), Mistake> {
    match (slot, &node.value) {
        (Slot::Str(slot), Value::Str(text)) => *slot = text.clone(),
        (Slot::Int(slot), Value::Int(number)) => *slot = *number,
        (Slot::List(slot), Value::List(items)) => {
            *slot = items.iter().map(|item| text(name, item)).collect::<Result<_, _>>()?;
        }
        (Slot::Map(slot), Value::Map(entries)) => {
            for (key, node) in entries {
                slot.insert(key.text.clone(), text(name, node)?);
            }
        }
        (Slot::Action(slot), Value::Str(word)) => *slot = parse::<ActionType>(node, word)?,
        (Slot::Source(slot), Value::Str(word)) => *slot = parse::<Source>(node, word)?,
        (_, other) => {
            let message = format!("`{name}` cannot be {}", other.name());
            return Err(Mistake::new(node.at, message));
        }
    }
    Ok(())
}

fn parse<T: std::str::FromStr<Err = crate::UnknownName>>(
    node: &Node,
    word: &str,
) -> Result<T, Mistake> {
    word.parse().map_err(|error: crate::UnknownName| Mistake::new(node.at, error.to_string()))
}

fn text(name: &str, node: &Node) -> Result<String, Mistake> {
    match &node.value {
        Value::Str(text) => Ok(text.clone()),
        other => {
            Err(Mistake::new(node.at, format!("`{name}` holds texts, here is {}", other.name())))
        }
    }
}
