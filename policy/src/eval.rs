//! Evaluation of a compiled condition: bounded in steps, free of allocation.

use std::cmp::Ordering;

use crate::Facts;
use crate::compile::{Bool, List, Loop, TextTest, Value};
use crate::functions::under;
use crate::parse::Operator;

mod joined;
mod values;

use joined::Joined;
pub(crate) use joined::MAX_BYTES as MAX_JOINED_BYTES;

/// How many nodes one condition may visit. A rule over long lists must not hold up a system call.
pub(crate) const MAX_STEPS: u32 = 300_000;

/// How many of them a condition may have as it is written. Evaluation may take twice as many, since
/// a written list is built before it is looked through. The rest is for lists of facts.
pub(crate) const MAX_WRITTEN_STEPS: u32 = MAX_STEPS / 3;

/// How many `exists` and `all` may stand inside each other.
pub(crate) const MAX_LOOPS: usize = 8;

/// Why a condition has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// The step budget is used up. Unlike the others this one is never hidden by `&&` or `||`,
    /// which would go on evaluating.
    #[error("the condition takes more than {MAX_STEPS} steps")]
    Exhausted,
    /// A list has no such item.
    #[error("there is no item {index} in a list of {length}")]
    NoItem { index: i64, length: usize },
    /// A text that should be an address is none.
    #[error("`cidr` was asked about something that is not an IP address")]
    NotAnAddress,
    /// A written map has no such key.
    #[error("the map has no such key")]
    NoEntry,
    /// Texts were joined into too long a one.
    #[error("`+` makes a text of more than {} bytes", joined::MAX_BYTES)]
    TooLong,
}

/// Whether a condition holds for these facts.
pub(crate) fn holds(condition: &Bool, facts: &Facts) -> Result<bool, Fault> {
    let joined = Joined::default();
    let variables = [Item::Str(""); MAX_LOOPS];
    Evaluation { facts, variables, steps: 0, joined: &joined }.bool(condition)
}

struct Evaluation<'a> {
    facts: &'a Facts,
    variables: [Item<'a>; MAX_LOOPS],
    steps: u32,
    joined: &'a Joined,
}

/// What a loop variable holds.
#[derive(Clone, Copy, Debug)]
enum Item<'a> {
    Str(&'a str),
    Int(i64),
    Value(&'a Value),
}

impl<'a> Evaluation<'a> {
    fn step(&mut self) -> Result<(), Fault> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Fault::Exhausted) } else { Ok(()) }
    }

    fn bool(&mut self, node: &'a Bool) -> Result<bool, Fault> {
        self.step()?;
        match node {
            Bool::Literal(value) => Ok(*value),
            Bool::Shared(inner) => self.bool(inner),
            Bool::Not(inner) => Ok(!self.bool(inner)?),
            Bool::And(items) => self.fold(items, false),
            Bool::Or(items) => self.fold(items, true),
            Bool::Choice(three) => {
                let [test, then, other] = three.as_ref();
                if self.bool(test)? { self.bool(then) } else { self.bool(other) }
            }
            Bool::Lookup(lookup) => {
                let chosen = self.look_up(lookup)?;
                self.bool(chosen)
            }
            Bool::Exists(over) => self.each(over, true),
            Bool::All(over) => self.each(over, false),
            other => self.test(other),
        }
    }

    /// `&&` and `||` as CEL defines them: the deciding value wins over an error on either side.
    fn fold(&mut self, items: &'a [Bool], deciding: bool) -> Result<bool, Fault> {
        let mut fault = None;
        for item in items {
            match self.bool(item) {
                Ok(value) if value == deciding => return Ok(deciding),
                Err(Fault::Exhausted) => return Err(Fault::Exhausted),
                Err(other) => fault = fault.or(Some(other)),
                Ok(_) => {}
            }
        }
        fault.map_or(Ok(!deciding), Err)
    }

    /// A definition counts its variables anew, so a loop in it may use the place of a loop around
    /// it, and leaves it as it was.
    fn each(&mut self, over: &'a Loop, deciding: bool) -> Result<bool, Fault> {
        self.build_list(&over.over)?;
        let around = self.variables.get(over.slot).copied();
        let answer = self.walk(over, deciding);
        if let (Some(variable), Some(around)) = (self.variables.get_mut(over.slot), around) {
            *variable = around;
        }
        answer
    }

    fn walk(&mut self, over: &'a Loop, deciding: bool) -> Result<bool, Fault> {
        let mut fault = None;
        for index in 0..self.items(&over.over)? {
            let item = match &over.over {
                List::Strings(list) => self.item(list, index).map(Item::Str),
                List::Ints(list) => list.get(index).map_or(Ok(0), |i| self.int(i)).map(Item::Int),
                List::Plains(list) => list
                    .get(index)
                    .map_or(Ok(&Value::Null), |plain| self.plain(plain))
                    .map(Item::Value),
            }?;
            if let Some(variable) = self.variables.get_mut(over.slot) {
                *variable = item;
            }
            match self.bool(&over.body) {
                Ok(value) if value == deciding => return Ok(deciding),
                Err(Fault::Exhausted) => return Err(Fault::Exhausted),
                Err(other) => fault = fault.or(Some(other)),
                Ok(_) => {}
            }
        }
        fault.map_or(Ok(!deciding), Err)
    }

    fn build_list(&mut self, list: &'a List) -> Result<(), Fault> {
        match list {
            List::Strings(list) => self.build(list),
            List::Ints(list) => list.iter().try_for_each(|item| self.int(item).map(drop)),
            List::Plains(list) => list.iter().try_for_each(|item| self.plain(item).map(drop)),
        }
    }

    fn items(&mut self, list: &List) -> Result<usize, Fault> {
        match list {
            List::Strings(list) => self.length(list),
            List::Ints(list) => Ok(list.len()),
            List::Plains(list) => Ok(list.len()),
        }
    }

    fn test(&mut self, node: &'a Bool) -> Result<bool, Fault> {
        match node {
            Bool::SameTruth(pair) => Ok(self.bool(&pair[0])? == self.bool(&pair[1])?),
            Bool::SameList(a, b) => self.same_list(a, b),
            Bool::CompareStr(operator, a, b) => {
                let (a, b) = (self.str(a)?, self.str(b)?);
                // Equality first: it need not know which text sorts before the other.
                Ok(match operator {
                    Operator::Eq => a == b,
                    Operator::Ne => a != b,
                    _ => compares(*operator, a.cmp(b)),
                })
            }
            Bool::CompareInt(operator, a, b) => {
                Ok(compares(*operator, self.int(a)?.cmp(&self.int(b)?)))
            }
            Bool::ComparePlain(operator, a, b) => {
                let (a, b) = (self.plain(a)?, self.plain(b)?);
                Ok(match operator {
                    Operator::Ne => a != b,
                    Operator::Eq | Operator::In => a == b,
                    _ => a.partial_cmp(b).is_some_and(|ordering| compares(*operator, ordering)),
                })
            }
            Bool::InStrings(text, list) => self.in_strings(text, list),
            Bool::InInts(number, list) => self.in_ints(number, list),
            Bool::InPlains(value, list) => self.in_plains(value, list),
            Bool::InKeys(key, keys) => Ok(self.position(key, keys)?.is_some()),
            Bool::HasKey(map, key) => Ok(map(self.facts).contains_key(self.str(key)?)),
            Bool::Text(test, a, b) => Ok(text_test(*test, self.str(a)?, self.str(b)?)),
            Bool::Matches(text, pattern) => Ok(pattern.is_match(self.str(text)?)),
            Bool::Glob(text, glob) => Ok(glob.is_match(self.str(text)?)),
            Bool::Host(text, pattern) => Ok(pattern.is_match(self.str(text)?)),
            Bool::Cidr(text, network) => match self.str(text)? {
                "" => Ok(false),
                ip => network.contains(ip).ok_or(Fault::NotAnAddress),
            },
            // These nest, and `bool` answers them before it comes here.
            Bool::Literal(_)
            | Bool::Shared(_)
            | Bool::Not(_)
            | Bool::And(_)
            | Bool::Or(_)
            | Bool::Choice(_)
            | Bool::Lookup(_)
            | Bool::Exists(_)
            | Bool::All(_) => Ok(false),
        }
    }
}

fn compares(operator: Operator, ordering: Ordering) -> bool {
    match operator {
        Operator::Eq | Operator::In => ordering.is_eq(),
        Operator::Ne => ordering.is_ne(),
        Operator::Lt => ordering.is_lt(),
        Operator::Le => ordering.is_le(),
        Operator::Gt => ordering.is_gt(),
        Operator::Ge => ordering.is_ge(),
    }
}

fn text_test(test: TextTest, text: &str, other: &str) -> bool {
    match test {
        TextTest::StartsWith => text.starts_with(other),
        TextTest::EndsWith => text.ends_with(other),
        TextTest::Contains => text.contains(other),
        TextTest::Under => under(text, other),
    }
}

#[cfg(test)]
#[path = "tests/oracle.rs"]
mod oracle;

#[cfg(test)]
#[path = "tests/eval_depth.rs"]
mod depth;
