//! A fact set by its dotted name, as a person writes it on a command line.

use crate::error::nearest;
use crate::facts::{ActionType, Facts, UnknownName};
use crate::vocabulary::{FACTS, Fact, Slot};

/// Why a fact cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactError {
    /// No fact has that name.
    #[error("there is no fact named `{}`{}", .name.escape_debug(), proposal(.suggestion.as_deref()))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The nearest name that exists, if any is near.
        suggestion: Option<String>,
    },
    /// The fact is a number, and the value is not.
    #[error("`{name}` is a number, and {value:?} is not")]
    Number {
        /// The fact.
        name: &'static str,
        /// The value that was given.
        value: String,
    },
    /// The fact is a map, and no entry of it was named.
    #[error("`{name}` is a map: name an entry of it, as in `{name}.KEY`")]
    Entry {
        /// The fact.
        name: &'static str,
    },
    /// The fact takes one of a few words, and the value is none of them.
    #[error(transparent)]
    Word(#[from] UnknownName),
}

fn proposal(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Sets one fact from text. A list grows by one item at each call; an entry of a map is named after
/// the map, as in `container.labels.team`.
///
/// # Errors
/// The name stands for no fact, or the value does not fit it.
pub fn set_fact(facts: &mut Facts, name: &str, value: &str) -> Result<(), FactError> {
    let (fact, entry) = find(name).ok_or_else(|| unknown(name))?;
    match ((fact.slot)(facts), entry) {
        (Slot::Map(map), Some(key)) => {
            map.insert(key.to_owned(), value.to_owned());
        }
        (Slot::Map(_), None) => return Err(FactError::Entry { name: fact.name }),
        (Slot::Str(text), _) => value.clone_into(text),
        (Slot::List(list), _) => list.push(value.to_owned()),
        (Slot::Int(number), _) => {
            let wrong = |_| FactError::Number { name: fact.name, value: value.to_owned() };
            *number = value.parse().map_err(wrong)?;
        }
        (Slot::Source(source), _) => *source = value.parse()?,
        (Slot::Action(action), _) => *action = value.parse()?,
    }
    Ok(())
}

/// The fact of that name, or the map that the name begins with and the key that is left.
fn find(name: &str) -> Option<(&'static Fact, Option<&str>)> {
    FACTS.iter().find_map(|fact| {
        let rest = name.strip_prefix(fact.name)?;
        let is_map = matches!(fact.get, crate::vocabulary::Getter::Map(_));
        match rest.strip_prefix('.') {
            None => rest.is_empty().then_some((fact, None)),
            Some("") => None,
            Some(key) => is_map.then_some((fact, Some(key))),
        }
    })
}

fn unknown(name: &str) -> FactError {
    let names: Vec<&str> = FACTS.iter().map(|fact| fact.name).collect();
    let suggestion = nearest(name, &names).map(str::to_owned);
    FactError::Unknown { name: name.to_owned(), suggestion }
}

/// Fills in what both doors always set from the target, where it is not given.
pub fn complete(facts: &mut Facts) {
    let slot = match facts.action_type {
        ActionType::FileAccess => &mut facts.file.path,
        ActionType::ShellExec => &mut facts.exec.path,
        ActionType::NetworkCall | ActionType::ToolExec => return,
    };
    if slot.is_empty() {
        slot.clone_from(&facts.target);
    }
}

#[cfg(test)]
#[path = "tests/assign.rs"]
mod tests;
