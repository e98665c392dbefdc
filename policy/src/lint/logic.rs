//! What a condition means, as far as that can be told without facts: alternatives of tests, and
//! which test follows from which. What is not understood follows from nothing but itself.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

use super::bare;
use crate::compile::{Bool, Int, Str, TextTest};
use crate::eval::holds;
use crate::facts::Facts;
use crate::functions::components;
use crate::guard::{Key, keys};
use crate::parse::Operator;
use crate::vocabulary::{FACTS, Slot};

mod reads;

pub(super) use reads::cannot_fail;

use reads::{is_certain, single_fact};

/// Alternatives that a condition may have; one with more is left alone.
const MAX_BRANCHES: usize = 64;

/// Keys that a test may have; they are compared each with each.
const MAX_KEYS: usize = 1_024;

/// A condition as alternatives of tests that must all hold.
pub(super) struct Meaning<'c> {
    branches: Vec<Vec<Test<'c>>>,
}

/// One test, or its contrary.
#[derive(Clone)]
struct Test<'c> {
    node: &'c Bool,
    positive: bool,
    /// The same test reads the same; what it reads can be long.
    text: [u8; 32],
    /// Where one of these matches, the test holds, and only there.
    keys: Option<std::sync::Arc<[Key]>>,
}

impl<'c> Meaning<'c> {
    /// The meaning of a condition, or none if it has too many alternatives.
    pub(super) fn of(condition: &'c Bool) -> Option<Self> {
        let mut branches = expand(condition, true)?;
        branches.retain(|branch| !is_contradiction(branch));
        Some(Self { branches })
    }

    pub(super) fn is_never(&self) -> bool {
        self.branches.is_empty()
    }

    pub(super) fn is_always(&self) -> bool {
        let alone = |branch: &&Vec<Test<'_>>| branch.len() == 1;
        let contrary = |a: &Test<'_>, b: &Test<'_>| a.text == b.text && a.positive != b.positive;
        let mut single = self.branches.iter().filter(alone).flatten();
        self.branches.iter().any(Vec::is_empty)
            || single.any(|a| self.branches.iter().filter(alone).flatten().any(|b| contrary(a, b)))
    }

    /// Whether another condition holds wherever this one does.
    pub(super) fn implies(&self, other: &Meaning<'_>) -> bool {
        self.branches.iter().all(|branch| {
            other.branches.iter().any(|wanted| {
                wanted.iter().all(|test| branch.iter().any(|known| known.implies(test)))
            })
        })
    }
}

/// Alternatives of tests; `positive` false asks for the contrary.
fn expand(node: &Bool, positive: bool) -> Option<Vec<Vec<Test<'_>>>> {
    match (bare(node), positive) {
        (Bool::Literal(value), _) if *value == positive => Some(vec![Vec::new()]),
        (Bool::Literal(_), _) => Some(Vec::new()),
        (Bool::Not(inner), _) => expand(inner, !positive),
        (Bool::And(items), true) | (Bool::Or(items), false) => {
            let mut all = vec![Vec::new()];
            for item in items {
                let each = expand(item, positive)?;
                if all.len() * each.len() > MAX_BRANCHES {
                    return None;
                }
                let joined = |a: &Vec<_>| each.iter().map(|b| [a.as_slice(), b].concat()).collect();
                all = all.iter().flat_map(|a| -> Vec<Vec<Test<'_>>> { joined(a) }).collect();
            }
            Some(all)
        }
        (Bool::Or(items), true) | (Bool::And(items), false) => {
            let each: Option<Vec<_>> = items.iter().map(|item| expand(item, positive)).collect();
            let all: Vec<_> = each?.into_iter().flatten().collect();
            (all.len() <= MAX_BRANCHES).then_some(all)
        }
        (node, _) if is_trivial(node) => Some(if positive { vec![Vec::new()] } else { Vec::new() }),
        (node, positive) => Some(vec![vec![Test::new(node, positive)]]),
    }
}

/// A test that every text passes, of a text that is always there.
fn is_trivial(node: &Bool) -> bool {
    let (of, trivial) = match node {
        Bool::Text(TextTest::Under, ..) => return false,
        Bool::Text(_, of, Str::Literal(text)) => (of, text.is_empty()),
        Bool::Glob(of, glob) => (of, glob.is_everything()),
        Bool::Matches(of, pattern) => (of, pattern.is_everything()),
        _ => return false,
    };
    trivial && is_certain(of)
}

/// What a test reads, in short.
fn digest(node: &Bool) -> [u8; 32] {
    struct Hashing(Sha256);
    impl Write for Hashing {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }
    let mut hashing = Hashing(Sha256::new());
    // Hashing cannot fail.
    let _ = write!(hashing, "{node:?}");
    hashing.0.finalize().into()
}

impl<'c> Test<'c> {
    fn new(node: &'c Bool, positive: bool) -> Self {
        // `!=` is the contrary of `==`.
        let (text, positive) = match node {
            Bool::CompareStr(Operator::Ne, a, b) => {
                (digest(&Bool::CompareStr(Operator::Eq, a.clone(), b.clone())), !positive)
            }
            Bool::CompareInt(Operator::Ne, a, b) => {
                (digest(&Bool::CompareInt(Operator::Eq, a.clone(), b.clone())), !positive)
            }
            node => (digest(node), positive),
        };
        let keys = match node {
            // Its key is only what a match begins with.
            Bool::Glob(..) => None,
            node => keys(node).filter(|keys| keys.len() <= MAX_KEYS).map(Into::into),
        };
        Self { node, positive, text, keys }
    }

    fn implies(&self, other: &Test<'_>) -> bool {
        match (self.positive, other.positive) {
            (true, true) => self.text == other.text || self.entails(other),
            (false, false) => self.text == other.text || other.entails(self),
            (true, false) => self.excludes(other),
            (false, true) => false,
        }
    }

    /// Both taken as they are written: wherever this holds, so does the other.
    fn entails(&self, other: &Test<'_>) -> bool {
        if let Some(answers) = self.answers(other) {
            return answers.iter().all(|answer| *answer == Some(true));
        }
        let (Some(mine), Some(theirs)) = (&self.keys, &other.keys) else { return false };
        mine.iter().all(|key| theirs.iter().any(|wider| covers(wider, key)))
    }

    /// Both taken as they are written: wherever this holds, the other does not.
    fn excludes(&self, other: &Test<'_>) -> bool {
        if let Some(answers) = self.answers(other).or_else(|| other.answers(self)) {
            return answers.iter().all(|answer| *answer == Some(false));
        }
        let (Some(mine), Some(theirs)) = (&self.keys, &other.keys) else { return false };
        mine.iter().all(|a| theirs.iter().all(|b| are_apart(a, b)))
    }

    /// What the other test says about every value that this one leaves, where both are about one
    /// fact and this one leaves few.
    fn answers(&self, other: &Test<'_>) -> Option<Vec<Option<bool>>> {
        let fact = single_fact(other.node)?;
        let negated = matches!(
            other.node,
            Bool::CompareStr(Operator::Ne, ..) | Bool::CompareInt(Operator::Ne, ..)
        );
        let answer = |key: &Key| {
            let mut facts = Facts::default();
            match (key, (FACTS.get(fact)?.slot)(&mut facts)) {
                (Key::Equal(of, text), Slot::Str(slot)) if *of == fact => {
                    slot.push_str(text);
                }
                (Key::Equal(of, text), Slot::Action(slot)) if *of == fact => {
                    *slot = text.parse().ok()?;
                }
                (Key::Equal(of, text), Slot::Source(slot)) if *of == fact => {
                    *slot = text.parse().ok()?;
                }
                (Key::Number(of, number), Slot::Int(slot)) if *of == fact => *slot = *number,
                _ => return None,
            }
            Some(holds(other.node, &facts).ok().map(|held| held != negated))
        };
        self.keys.as_ref()?.iter().map(answer).collect()
    }
}

/// Whether what one key selects is all selected by another.
fn covers(wider: &Key, key: &Key) -> bool {
    match (wider, key) {
        (Key::Under(a, above), Key::Under(b, dir)) => a == b && lies_under(dir, above),
        (Key::Prefix(a, short), Key::Prefix(b, long)) => a == b && long.starts_with(&**short),
        (Key::Suffix(a, short), Key::Suffix(b, long)) => a == b && long.ends_with(&**short),
        (Key::Cidr(a, wide), Key::Cidr(b, narrow)) => a == b && wide.covers(*narrow),
        (Key::Host(a, domain, true), Key::Host(b, name, below)) => {
            let head = name.strip_suffix(&**domain);
            let lies_below = head.is_some_and(|head| head.ends_with('.'));
            a == b && (lies_below || (*below && name == domain))
        }
        (wider, key) => wider == key,
    }
}

/// Whether nothing is selected by both keys.
fn are_apart(a: &Key, b: &Key) -> bool {
    match (a, b) {
        (Key::Under(x, one), Key::Under(y, other)) => {
            x == y && !lies_under(one, other) && !lies_under(other, one)
        }
        (Key::Prefix(x, one), Key::Prefix(y, other)) => {
            x == y && !one.starts_with(&**other) && !other.starts_with(&**one)
        }
        (Key::Suffix(x, one), Key::Suffix(y, other)) => {
            x == y && !one.ends_with(&**other) && !other.ends_with(&**one)
        }
        (Key::Cidr(x, one), Key::Cidr(y, other)) => {
            // A v4 address may be written as v6, so networks of both versions can meet.
            x == y && one.parts().0 == other.parts().0 && !one.covers(*other) && !other.covers(*one)
        }
        _ => false,
    }
}

fn lies_under(dir: &str, above: &str) -> bool {
    let mut parts = components(dir);
    // Nothing is under the empty text.
    !above.is_empty()
        && components(above).all(|wanted| parts.next() == Some(wanted))
        && dir.starts_with('/') == above.starts_with('/')
}

/// Whether the tests of one alternative exclude each other.
fn is_contradiction(branch: &[Test<'_>]) -> bool {
    let opposed = |(at, a): (usize, &Test<'_>)| {
        branch.iter().skip(at + 1).any(|b| match (a.positive, b.positive) {
            (true, true) => a.excludes(b) || b.excludes(a),
            (true, false) => a.text == b.text || a.entails(b),
            (false, true) => a.text == b.text || b.entails(a),
            (false, false) => false,
        })
    };
    branch.iter().enumerate().any(opposed) || has_empty_range(branch)
}

/// Whether comparisons of one number leave no number.
fn has_empty_range(branch: &[Test<'_>]) -> bool {
    FACTS.iter().enumerate().any(|(fact, _)| {
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        for (from, to) in branch.iter().filter_map(|test| range(test, fact)) {
            (low, high) = (low.max(from), high.min(to));
        }
        low > high
    })
}

/// The numbers that a comparison with a literal leaves.
fn range(test: &Test<'_>, fact: usize) -> Option<(i64, i64)> {
    let Bool::CompareInt(operator, Int::Fact(_, of), Int::Literal(number)) = test.node else {
        return None;
    };
    let written = if *operator == Operator::Ne { !test.positive } else { test.positive };
    let number = *number;
    let range = match (operator, written) {
        (Operator::Eq, true) => (number, number),
        (Operator::Lt, true) | (Operator::Ge, false) => (i64::MIN, number.checked_sub(1)?),
        (Operator::Le, true) | (Operator::Gt, false) => (i64::MIN, number),
        (Operator::Gt, true) | (Operator::Le, false) => (number.checked_add(1)?, i64::MAX),
        (Operator::Ge, true) | (Operator::Lt, false) => (number, i64::MAX),
        _ => return None,
    };
    (*of == fact).then_some(range)
}

#[cfg(test)]
#[path = "../tests/lint_logic.rs"]
mod tests;
