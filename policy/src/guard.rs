//! What must hold for a rule to match, lifted from its condition: one of a few keys.

use crate::compile::{Bool, Int, Key as MapKey, Plain, Str, Strings, TextTest};
use crate::eval::holds;
use crate::facts::{ActionType, Facts, Source};
use crate::functions::Network;
use crate::parse::Operator;
use crate::vocabulary::FACTS;

/// Facts that tell few things apart: a key on one of them selects little.
const COARSE: &[&str] = &[
    "action_type",
    "source",
    "file.operation",
    "network.protocol",
    "network.family",
    "network.class",
];

/// Lists that a condition may look through before it is known to be false. Together with
/// [`MAX_LISTED`] this stays within the steps that a condition has left for lists, so that leaving
/// the rule out gives the same answer as asking it.
const MAX_SCANS: usize = 8;

/// Items of a list up to which its keys count.
pub(crate) const MAX_LISTED: usize = 8_192;

/// One test of a fact against something known at load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Equal(usize, Box<str>),
    Under(usize, Box<str>),
    Prefix(usize, Box<str>),
    Suffix(usize, Box<str>),
    /// A host name in lower case, and whether names below it are meant.
    Host(usize, Box<str>, bool),
    Cidr(usize, Network),
    Number(usize, i64),
    /// An item of a list.
    Member(usize, Box<str>),
}

impl Key {
    /// How little it selects; less is better.
    pub(crate) fn breadth(&self) -> usize {
        match self {
            Self::Equal(fact, _) if is_coarse(*fact) => 9,
            Self::Under(_, dir) if dir.trim_matches('/').is_empty() => 8,
            Self::Prefix(_, text) | Self::Suffix(_, text) if text.len() < 2 => 8,
            Self::Cidr(_, network) if network.is_everything() => 8,
            Self::Equal(..) => 1,
            Self::Under(..) | Self::Prefix(..) | Self::Suffix(..) | Self::Host(..) => 2,
            Self::Cidr(..) | Self::Member(..) => 3,
            Self::Number(..) => 4,
        }
    }
}

fn is_coarse(fact: usize) -> bool {
    FACTS.get(fact).is_some_and(|fact| COARSE.contains(&fact.name))
}

/// Keys of which one must match, or the condition is false.
struct Guard {
    keys: Vec<Key>,
    /// Lists that are looked through until that is known.
    scans: usize,
}

/// Every choice of keys of which one must match, or the condition is false and nothing in it can
/// fail first. None: nothing can be lifted.
pub(crate) fn guards(node: &Bool) -> Vec<Vec<Key>> {
    let found = match node {
        Bool::Shared(inner) => return guards(inner),
        Bool::And(items) => tests_of(items),
        node => find(node).into_iter().collect(),
    };
    found.into_iter().filter(|test| test.scans <= MAX_SCANS).map(|test| test.keys).collect()
}

fn find(node: &Bool) -> Option<Guard> {
    let scans = 0;
    match node {
        Bool::Shared(inner) => find(inner),
        Bool::And(items) => {
            let breadth = |test: &Guard| test.keys.iter().map(Key::breadth).max();
            tests_of(items).into_iter().min_by_key(|test| (breadth(test), test.keys.len()))
        }
        Bool::Or(items) => {
            let branches: Option<Vec<Guard>> = items.iter().map(find).collect();
            let branches = branches?;
            let scans = branches.iter().map(|branch| branch.scans).sum();
            Some(Guard { keys: branches.into_iter().flat_map(|b| b.keys).collect(), scans })
        }
        Bool::InStrings(text, Strings::Fact(_, fact)) => match bare(text) {
            Str::Literal(text) => {
                Some(Guard { keys: vec![Key::Member(*fact, (&**text).into())], scans: 1 })
            }
            _ => None,
        },
        _ => keys(node).map(|keys| Guard { keys, scans }),
    }
}

/// The tests of a chain that have keys, among those that come before anything unbounded.
fn tests_of(items: &[Bool]) -> Vec<Guard> {
    let mut found: Vec<Guard> = Vec::new();
    let mut before = 0;
    for item in items {
        let test = find(item).map(|test| Guard { scans: test.scans + before, ..test });
        found.extend(test.filter(|test| test.scans <= MAX_SCANS));
        match scans(item) {
            Some(scans) => before += scans,
            None => break,
        }
    }
    found
}

/// The keys of a single test.
pub(crate) fn keys(node: &Bool) -> Option<Vec<Key>> {
    match node {
        Bool::Literal(false) => Some(Vec::new()),
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
        Bool::Glob(text, glob) => Some(vec![Key::Prefix(fact_of(text)?, glob.literal_prefix()?)]),
        Bool::Host(text, pattern) => {
            let name = pattern.name().to_ascii_lowercase();
            Some(vec![Key::Host(fact_of(text)?, name.into(), pattern.is_below())])
        }
        Bool::Cidr(text, network) => Some(vec![Key::Cidr(fact_of(text)?, *network)]),
        _ => None,
    }
}

/// Puts tests whose cost is known at load first, then those that look through a list, then loops:
/// a false one ends a condition before a long list can use up its steps.
pub(crate) fn cheap_first(mut items: Vec<Bool>) -> Vec<Bool> {
    items.sort_by_key(|item| scans(item).unwrap_or(usize::MAX));
    items
}

/// How many lists of facts a test looks through at most; `None`: it loops.
fn scans(node: &Bool) -> Option<usize> {
    let all = |items: &[Bool]| items.iter().map(scans).sum();
    match node {
        Bool::Exists(_) | Bool::All(_) | Bool::SameList(..) => None,
        Bool::InStrings(_, Strings::Join(_)) => None,
        Bool::InStrings(text, Strings::Fact(..)) => is_plain(text).then_some(1),
        Bool::InStrings(text, Strings::Items(items)) => {
            (is_plain(text) && items.iter().all(is_plain)).then_some(0)
        }
        Bool::Shared(inner) => scans(inner),
        Bool::Not(inner) => scans(inner),
        Bool::And(items) | Bool::Or(items) => all(items),
        Bool::Choice(three) => all(three.as_slice()),
        Bool::SameTruth(pair) => all(pair.as_slice()),
        // A choice inside a text or a number may hold any test.
        Bool::CompareStr(_, a, b) | Bool::Text(_, a, b) => {
            (is_plain(a) && is_plain(b)).then_some(0)
        }
        Bool::CompareInt(_, a, b) => (is_plain_number(a) && is_plain_number(b)).then_some(0),
        Bool::InInts(number, items) => {
            (is_plain_number(number) && items.iter().all(is_plain_number)).then_some(0)
        }
        Bool::ComparePlain(_, a, b) => (is_plain_value(a) && is_plain_value(b)).then_some(0),
        Bool::InPlains(value, items) => {
            (is_plain_value(value) && items.iter().all(is_plain_value)).then_some(0)
        }
        Bool::InKeys(key, _) => is_plain_key(key).then_some(0),
        Bool::Lookup(lookup) => is_plain_key(&lookup.key).then_some(0),
        Bool::HasKey(_, text)
        | Bool::Matches(text, _)
        | Bool::Glob(text, _)
        | Bool::Cidr(text, _)
        | Bool::Host(text, _) => is_plain(text).then_some(0),
        Bool::Literal(_) => Some(0),
    }
}

fn is_plain(text: &Str) -> bool {
    match text {
        Str::Literal(_) | Str::Fact(..) | Str::Variable(_) => true,
        Str::Shared(inner) => is_plain(inner),
        Str::Entry(_, key) => is_plain(key),
        Str::After(pair) => pair.iter().all(is_plain),
        Str::Join(parts) => parts.iter().all(is_plain),
        Str::Item(Strings::Fact(..), at) => is_plain_number(at),
        Str::Lookup(lookup) => is_plain_key(&lookup.key),
        Str::Item(..) | Str::Choice(..) => false,
    }
}

fn is_plain_number(number: &Int) -> bool {
    match number {
        Int::Shared(inner) => is_plain_number(inner),
        Int::SizeOfText(text) => is_plain(text),
        Int::SizeOfBytes(value) => is_plain_value(value),
        Int::Lookup(lookup) => is_plain_key(&lookup.key),
        Int::SizeOfList(list) => is_plain_list(list),
        Int::Choice(..) | Int::Item(..) => false,
        Int::Literal(_) | Int::Fact(..) | Int::Variable(_) | Int::SizeOfMap(_) => true,
    }
}

/// Even its size takes all its items: one that fails, fails the list.
fn is_plain_list(list: &Strings) -> bool {
    match list {
        Strings::Fact(..) => true,
        Strings::Items(items) => items.iter().all(is_plain),
        Strings::Join(lists) => lists.iter().all(is_plain_list),
    }
}

fn is_plain_value(value: &Plain) -> bool {
    matches!(value, Plain::Literal(_) | Plain::Variable(..))
}

fn is_plain_key(key: &MapKey) -> bool {
    match key {
        MapKey::Str(text) => is_plain(text),
        MapKey::Int(number) => is_plain_number(number),
    }
}

/// The text itself, where a definition stands for it.
fn bare(text: &Str) -> &Str {
    match text {
        Str::Shared(inner) => bare(inner),
        text => text,
    }
}

fn fact_of(text: &Str) -> Option<usize> {
    match bare(text) {
        Str::Fact(_, fact) => Some(*fact),
        _ => None,
    }
}

fn fact_and_text(fact: &Str, text: &Str) -> Option<(usize, Box<str>)> {
    match bare(text) {
        Str::Literal(text) => Some((fact_of(fact)?, (&**text).into())),
        _ => None,
    }
}

fn fact_and_number(fact: &Int, number: &Int) -> Option<(usize, i64)> {
    match (fact, number) {
        (Int::Shared(inner), _) => fact_and_number(inner, number),
        (_, Int::Shared(inner)) => fact_and_number(fact, inner),
        (Int::Fact(_, fact), Int::Literal(number)) => Some((*fact, *number)),
        _ => None,
    }
}

/// Whether a condition is certainly false for every question of this kind through this door.
pub(crate) fn excludes(node: &Bool, action_type: ActionType, source: Source) -> bool {
    match node {
        Bool::And(items) => items
            .iter()
            .take_while(|item| scans(item) == Some(0))
            .any(|item| excludes(item, action_type, source)),
        Bool::Or(items) => items.iter().all(|item| excludes(item, action_type, source)),
        Bool::Shared(inner) => excludes(inner, action_type, source),
        node if speaks_of_the_door(node) => {
            holds(node, &Facts { action_type, source, ..Facts::default() }) == Ok(false)
        }
        _ => false,
    }
}

/// Whether a test is about `action_type` or `source` and literals alone.
fn speaks_of_the_door(node: &Bool) -> bool {
    let of_the_door = |text: &Str| match bare(text) {
        Str::Literal(_) => true,
        text => fact_of(text)
            .and_then(|fact| FACTS.get(fact))
            .is_some_and(|fact| matches!(fact.name, "action_type" | "source")),
    };
    match node {
        Bool::Literal(_) => true,
        Bool::Not(inner) => speaks_of_the_door(inner),
        Bool::CompareStr(_, a, b) => of_the_door(a) && of_the_door(b),
        Bool::InStrings(text, Strings::Items(items)) => {
            of_the_door(text) && items.iter().all(of_the_door)
        }
        _ => false,
    }
}
