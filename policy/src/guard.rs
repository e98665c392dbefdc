//! What must hold for a rule to match, lifted from its condition: one of a few keys.

use crate::compile::{Bool, Int, Str, Strings, TextTest};
use crate::parse::Operator;

/// Facts that tell few things apart: a key on one of them selects little.
const COARSE: &[&str] = &[
    "action_type",
    "source",
    "file.operation",
    "network.protocol",
    "network.family",
    "network.class",
];

/// One test of a fact against something known at load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Equal(usize, Box<str>),
    Under(usize, Box<str>),
    Prefix(usize, Box<str>),
    Suffix(usize, Box<str>),
    Number(usize, i64),
}

impl Key {
    /// How little it selects; less is better.
    fn breadth(&self) -> usize {
        match self {
            Self::Equal(fact, _) if is_coarse(*fact) => 9,
            Self::Under(_, dir) if dir.trim_matches('/').is_empty() => 8,
            Self::Prefix(_, text) | Self::Suffix(_, text) if text.is_empty() => 8,
            Self::Equal(..) => 1,
            Self::Under(..) | Self::Prefix(..) | Self::Suffix(..) => 2,
            Self::Number(..) => 3,
        }
    }
}

fn is_coarse(fact: usize) -> bool {
    crate::vocabulary::FACTS.get(fact).is_some_and(|fact| COARSE.contains(&fact.name))
}

/// Keys of which one must match, or the condition is false and nothing in it can fail first.
/// `None`: nothing can be lifted.
pub(crate) fn guard(node: &Bool) -> Option<Vec<Key>> {
    match node {
        Bool::Literal(false) => Some(Vec::new()),
        Bool::Shared(inner) => guard(inner),
        // Only tests that come before anything whose cost the facts decide: see `static_first`.
        Bool::And(items) => {
            let tests = items.iter().filter(|item| is_static(item)).filter_map(guard);
            tests.min_by_key(|keys| (keys.iter().map(Key::breadth).max(), keys.len()))
        }
        Bool::Or(items) => {
            let keys: Option<Vec<Vec<Key>>> = items.iter().map(guard).collect();
            Some(keys?.into_iter().flatten().collect())
        }
        Bool::CompareStr(Operator::Eq, a, b) => {
            let (fact, text) = fact_and_text(a, b).or_else(|| fact_and_text(b, a))?;
            Some(vec![Key::Equal(fact, text)])
        }
        Bool::CompareInt(Operator::Eq, a, b) => {
            let (fact, number) = fact_and_number(a, b).or_else(|| fact_and_number(b, a))?;
            Some(vec![Key::Number(fact, number)])
        }
        Bool::InStrings(fact, Strings::Items(items)) => {
            let key = |item| fact_and_text(fact, item).map(|(fact, text)| Key::Equal(fact, text));
            items.iter().map(key).collect()
        }
        Bool::InInts(fact, items) => {
            let key = |item| fact_and_number(fact, item).map(|(fact, n)| Key::Number(fact, n));
            items.iter().map(key).collect()
        }
        Bool::Text(test, a, b) => {
            let (fact, text) = fact_and_text(a, b)?;
            match test {
                TextTest::StartsWith => Some(vec![Key::Prefix(fact, text)]),
                TextTest::EndsWith => Some(vec![Key::Suffix(fact, text)]),
                TextTest::Under => Some(vec![Key::Under(fact, text)]),
                TextTest::Contains => None,
            }
        }
        _ => None,
    }
}

/// Puts the tests whose cost is known at load before those over lists of facts, so that a false
/// one ends a condition before a long list can use up its steps.
pub(crate) fn static_first(items: Vec<Bool>) -> Vec<Bool> {
    let (mut first, then): (Vec<Bool>, Vec<Bool>) = items.into_iter().partition(is_static);
    first.extend(then);
    first
}

/// Whether the steps that a test takes are the same for all facts.
fn is_static(node: &Bool) -> bool {
    match node {
        Bool::Exists(_) | Bool::All(_) | Bool::SameList(..) => false,
        Bool::InStrings(_, Strings::Fact(_)) => false,
        Bool::InStrings(text, Strings::Items(items)) => {
            is_plain(text) && items.iter().all(is_plain)
        }
        Bool::Shared(inner) => is_static(inner),
        Bool::Not(inner) => is_static(inner),
        Bool::And(items) | Bool::Or(items) => items.iter().all(is_static),
        Bool::Choice(three) => three.iter().all(is_static),
        Bool::SameTruth(pair) => pair.iter().all(is_static),
        // A choice inside a text or a number may hold any test.
        Bool::CompareStr(_, a, b) | Bool::Text(_, a, b) => is_plain(a) && is_plain(b),
        Bool::CompareInt(_, a, b) => is_plain_number(a) && is_plain_number(b),
        Bool::InInts(number, items) => is_plain_number(number) && items.iter().all(is_plain_number),
        Bool::HasKey(_, text)
        | Bool::Matches(text, _)
        | Bool::Glob(text, _)
        | Bool::Cidr(text, _)
        | Bool::Host(text, _) => is_plain(text),
        Bool::Literal(_) => true,
    }
}

fn is_plain(text: &Str) -> bool {
    match text {
        Str::Literal(_) | Str::Fact(..) | Str::Variable(_) => true,
        Str::Shared(inner) => is_plain(inner),
        Str::Entry(_, key) => is_plain(key),
        Str::After(pair) => pair.iter().all(is_plain),
        Str::Item(_, at) => is_plain_number(at),
        Str::Choice(..) => false,
    }
}

fn is_plain_number(number: &Int) -> bool {
    match number {
        Int::Shared(inner) => is_plain_number(inner),
        Int::SizeOfText(text) => is_plain(text),
        Int::Choice(..) => false,
        Int::Literal(_) | Int::Fact(..) | Int::SizeOfList(_) | Int::SizeOfMap(_) => true,
    }
}

fn fact_and_text(fact: &Str, text: &Str) -> Option<(usize, Box<str>)> {
    match (fact, text) {
        (Str::Shared(inner), _) => fact_and_text(inner, text),
        (_, Str::Shared(inner)) => fact_and_text(fact, inner),
        (Str::Fact(_, id), Str::Literal(text)) => Some((*id, (&**text).into())),
        _ => None,
    }
}

fn fact_and_number(fact: &Int, number: &Int) -> Option<(usize, i64)> {
    match (fact, number) {
        (Int::Shared(inner), _) => fact_and_number(inner, number),
        (_, Int::Shared(inner)) => fact_and_number(fact, inner),
        (Int::Fact(_, id), Int::Literal(number)) => Some((*id, *number)),
        _ => None,
    }
}

/// Whether a condition is certainly false for every question of this action type.
pub(crate) fn excludes(node: &Bool, action: &str) -> bool {
    match node {
        Bool::And(items) => {
            items.iter().filter(|item| is_static(item)).any(|i| excludes(i, action))
        }
        Bool::Shared(inner) => excludes(inner, action),
        _ => guard(node).is_some_and(|keys| keys.iter().all(|key| speaks_of_another(key, action))),
    }
}

fn speaks_of_another(key: &Key, action: &str) -> bool {
    let Key::Equal(fact, text) = key else { return false };
    let name = crate::vocabulary::FACTS.get(*fact).map(|fact| fact.name);
    name == Some("action_type") && **text != *action
}
