//! Which fact a test is about.

use crate::compile::{Bool, Int, Str, Strings};

/// The one fact that a test reads, if it reads one and nothing else that facts decide.
pub(super) fn single_fact(node: &Bool) -> Option<usize> {
    let mut facts = Vec::new();
    let known = match node {
        Bool::CompareStr(_, a, b) | Bool::Text(_, a, b) => {
            [a, b].iter().all(|t| text(t, &mut facts))
        }
        Bool::CompareInt(_, a, b) => [a, b].iter().all(|n| number(n, &mut facts)),
        Bool::InStrings(a, Strings::Items(items)) => {
            text(a, &mut facts) && items.iter().all(|item| text(item, &mut facts))
        }
        Bool::InInts(a, items) => {
            number(a, &mut facts) && items.iter().all(|item| number(item, &mut facts))
        }
        Bool::Matches(a, _) | Bool::Glob(a, _) | Bool::Cidr(a, _) | Bool::Host(a, _) => {
            text(a, &mut facts)
        }
        _ => false,
    };
    let fact = facts.first().copied().filter(|_| known)?;
    facts.iter().all(|other| *other == fact).then_some(fact)
}

fn text(text_node: &Str, facts: &mut Vec<usize>) -> bool {
    match text_node {
        Str::Literal(_) => true,
        Str::Shared(inner) => text(inner, facts),
        Str::Fact(_, fact) => {
            facts.push(*fact);
            true
        }
        _ => false,
    }
}

fn number(node: &Int, facts: &mut Vec<usize>) -> bool {
    match node {
        Int::Literal(_) => true,
        Int::Shared(inner) => number(inner, facts),
        Int::Fact(_, fact) => {
            facts.push(*fact);
            true
        }
        _ => false,
    }
}

/// Whether nothing can fail on the way to a text.
pub(super) fn is_certain(text: &Str) -> bool {
    match text {
        Str::Literal(_) | Str::Fact(..) => true,
        Str::Shared(inner) => is_certain(inner),
        Str::Entry(_, key) => is_certain(key),
        Str::After(pair) => pair.iter().all(is_certain),
        _ => false,
    }
}

/// Whether a condition has an answer for all facts.
pub(in crate::lint) fn cannot_fail(node: &Bool) -> bool {
    match node {
        Bool::Literal(_) => true,
        Bool::Shared(inner) => cannot_fail(inner),
        Bool::Not(inner) => cannot_fail(inner),
        Bool::And(items) | Bool::Or(items) => items.iter().all(cannot_fail),
        Bool::CompareStr(_, a, b) | Bool::Text(_, a, b) => is_certain(a) && is_certain(b),
        Bool::CompareInt(_, a, b) => [a, b].iter().all(|n| number(n, &mut Vec::new())),
        Bool::InStrings(text, Strings::Items(items)) => {
            is_certain(text) && items.iter().all(is_certain)
        }
        Bool::InInts(a, items) => {
            number(a, &mut Vec::new()) && items.iter().all(|n| number(n, &mut Vec::new()))
        }
        Bool::Matches(text, _) | Bool::Glob(text, _) | Bool::Host(text, _) => is_certain(text),
        _ => false,
    }
}
