//! Evaluation of a compiled condition: bounded in steps, free of allocation.

use std::cmp::Ordering;

use crate::Facts;
use crate::compile::{Bool, Int, Loop, Str, Strings, TextTest};
use crate::functions::under;
use crate::parse::Operator;

/// How many nodes one condition may visit. A rule over long lists must not hold up a system call.
pub(crate) const MAX_STEPS: u32 = 200_000;

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
}

/// Whether a condition holds for these facts.
pub(crate) fn holds(condition: &Bool, facts: &Facts) -> Result<bool, Fault> {
    Evaluation { facts, variables: [""; MAX_LOOPS], steps: 0 }.bool(condition)
}

struct Evaluation<'a> {
    facts: &'a Facts,
    variables: [&'a str; MAX_LOOPS],
    steps: u32,
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

    fn each(&mut self, over: &'a Loop, deciding: bool) -> Result<bool, Fault> {
        let mut fault = None;
        for index in 0..self.length(&over.over) {
            let item = self.item(&over.over, index)?;
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
            Bool::InStrings(text, list) => self.in_strings(text, list),
            Bool::InInts(number, list) => {
                let number = self.int(number)?;
                for item in list.iter() {
                    if self.int(item)? == number {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
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
            | Bool::Exists(_)
            | Bool::All(_) => Ok(false),
        }
    }

    fn same_list(&mut self, a: &'a Strings, b: &'a Strings) -> Result<bool, Fault> {
        if self.length(a) != self.length(b) {
            return Ok(false);
        }
        for index in 0..self.length(a) {
            self.step()?;
            if self.item(a, index)? != self.item(b, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn in_strings(&mut self, text: &'a Str, list: &'a Strings) -> Result<bool, Fault> {
        let text = self.str(text)?;
        for index in 0..self.length(list) {
            self.step()?;
            if self.item(list, index)? == text {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn int(&mut self, node: &'a Int) -> Result<i64, Fault> {
        self.step()?;
        match node {
            Int::Literal(value) => Ok(*value),
            Int::Shared(inner) => self.int(inner),
            Int::Fact(get, _) => Ok(get(self.facts)),
            Int::SizeOfText(text) => Ok(count(self.str(text)?.chars().count())),
            Int::SizeOfList(list) => Ok(count(self.length(list))),
            Int::SizeOfMap(map) => Ok(count(map(self.facts).len())),
            Int::Choice(test, pair) => {
                let chosen = usize::from(!self.bool(test)?);
                self.int(&pair[chosen])
            }
        }
    }

    fn str(&mut self, node: &'a Str) -> Result<&'a str, Fault> {
        self.step()?;
        match node {
            Str::Literal(text) => Ok(text),
            Str::Shared(inner) => self.str(inner),
            Str::Fact(get, _) => Ok(get(self.facts)),
            Str::Variable(slot) => Ok(self.variables.get(*slot).copied().unwrap_or_default()),
            Str::Entry(map, key) => {
                let key = self.str(key)?;
                Ok(map(self.facts).get(key).map(String::as_str).unwrap_or_default())
            }
            Str::Item(list, index) => {
                let index = self.int(index)?;
                let missing = Fault::NoItem { index, length: self.length(list) };
                match usize::try_from(index) {
                    Ok(index) if index < self.length(list) => self.item(list, index),
                    _ => Err(missing),
                }
            }
            Str::After(pair) => {
                let (text, prefix) = (self.str(&pair[0])?, self.str(&pair[1])?);
                Ok(text.strip_prefix(prefix).unwrap_or_default())
            }
            Str::Choice(test, pair) => {
                let chosen = usize::from(!self.bool(test)?);
                self.str(&pair[chosen])
            }
        }
    }

    fn length(&self, list: &Strings) -> usize {
        match list {
            Strings::Fact(get) => get(self.facts).len(),
            Strings::Items(items) => items.len(),
        }
    }

    fn item(&mut self, list: &'a Strings, index: usize) -> Result<&'a str, Fault> {
        match list {
            Strings::Fact(get) => {
                Ok(get(self.facts).get(index).map(String::as_str).unwrap_or_default())
            }
            Strings::Items(items) => items.get(index).map_or(Ok(""), |item| self.str(item)),
        }
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
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
