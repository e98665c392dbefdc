//! Numbers, texts, lists and maps of a condition.

use super::{Evaluation, Fault, Item};
use crate::compile::{Int, Key, Keys, Lookup, Plain, Str, Strings, Value};

impl<'a> Evaluation<'a> {
    /// A written list is built before it is used: an item that fails, fails the list.
    pub(super) fn build(&mut self, list: &'a Strings) -> Result<(), Fault> {
        match list {
            Strings::Fact(..) => {}
            Strings::Items(items) => {
                let safe = |item: &&Str| matches!(item, Str::Literal(_) | Str::Fact(..));
                for item in items.iter().filter(|item| !safe(item)) {
                    self.str(item)?;
                }
            }
            Strings::Join(lists) => {
                for list in lists.iter() {
                    self.step()?;
                    self.build(list)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn same_list(&mut self, a: &'a Strings, b: &'a Strings) -> Result<bool, Fault> {
        self.build(a)?;
        self.build(b)?;
        let length = self.length(a)?;
        if length != self.length(b)? {
            return Ok(false);
        }
        for index in 0..length {
            self.step()?;
            if self.item(a, index)? != self.item(b, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn in_strings(&mut self, text: &'a Str, list: &'a Strings) -> Result<bool, Fault> {
        let text = self.str(text)?;
        self.build(list)?;
        self.contains(list, text)
    }

    fn contains(&mut self, list: &'a Strings, text: &str) -> Result<bool, Fault> {
        match list {
            Strings::Fact(get, _) => {
                for item in get(self.facts) {
                    self.step()?;
                    if item == text {
                        return Ok(true);
                    }
                }
            }
            Strings::Items(items) => {
                for item in items.iter() {
                    if self.str(item)? == text {
                        return Ok(true);
                    }
                }
            }
            Strings::Join(lists) => {
                for list in lists.iter() {
                    self.step()?;
                    if self.contains(list, text)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    pub(super) fn in_ints(&mut self, number: &'a Int, list: &'a [Int]) -> Result<bool, Fault> {
        let number = self.int(number)?;
        let mut found = false;
        for item in list {
            found |= self.int(item)? == number;
        }
        Ok(found)
    }

    pub(super) fn in_plains(&mut self, value: &'a Plain, list: &'a [Plain]) -> Result<bool, Fault> {
        let value = self.plain(value)?;
        let mut found = false;
        for item in list {
            found |= self.plain(item)? == value;
        }
        Ok(found)
    }

    pub(super) fn int(&mut self, node: &'a Int) -> Result<i64, Fault> {
        self.step()?;
        match node {
            Int::Literal(value) => Ok(*value),
            Int::Shared(inner) => self.int(inner),
            Int::Fact(get, _) => Ok(get(self.facts)),
            Int::Variable(slot) => match self.variables.get(*slot) {
                Some(Item::Int(value)) => Ok(*value),
                _ => Ok(0),
            },
            Int::SizeOfText(text) => Ok(count(self.str(text)?.chars().count())),
            Int::SizeOfList(list) => {
                self.build(list)?;
                Ok(count(self.length(list)?))
            }
            Int::SizeOfMap(map) => Ok(count(map(self.facts).len())),
            Int::SizeOfBytes(plain) => match self.plain(plain)? {
                Value::Bytes(bytes) => Ok(count(bytes.len())),
                _ => Ok(0),
            },
            Int::Item(list, at) => {
                for item in list.iter() {
                    self.int(item)?;
                }
                let at = self.int(at)?;
                let item = within(at, list.len())?;
                list.get(item).map_or(Ok(0), |item| self.int(item))
            }
            Int::Choice(test, pair) => {
                let chosen = usize::from(!self.bool(test)?);
                self.int(&pair[chosen])
            }
            Int::Lookup(lookup) => {
                let chosen = self.look_up(lookup)?;
                self.int(chosen)
            }
        }
    }

    pub(super) fn str(&mut self, node: &'a Str) -> Result<&'a str, Fault> {
        self.step()?;
        match node {
            Str::Literal(text) => Ok(text),
            Str::Shared(inner) => self.str(inner),
            Str::Fact(get, _) => Ok(get(self.facts)),
            Str::Variable(slot) => match self.variables.get(*slot) {
                Some(Item::Str(text)) => Ok(text),
                _ => Ok(""),
            },
            Str::Entry(map, key) => {
                let key = self.str(key)?;
                Ok(map(self.facts).get(key).map(String::as_str).unwrap_or_default())
            }
            Str::Item(list, at) => {
                self.build(list)?;
                let at = self.int(at)?;
                let item = within(at, self.length(list)?)?;
                self.item(list, item)
            }
            Str::After(pair) => {
                let (text, prefix) = (self.str(&pair[0])?, self.str(&pair[1])?);
                Ok(text.strip_prefix(prefix).unwrap_or_default())
            }
            Str::Join(parts) => self.join(parts),
            Str::Choice(test, pair) => {
                let chosen = usize::from(!self.bool(test)?);
                self.str(&pair[chosen])
            }
            Str::Lookup(lookup) => {
                let chosen = self.look_up(lookup)?;
                self.str(chosen)
            }
        }
    }

    fn join(&mut self, parts: &'a [Str]) -> Result<&'a str, Fault> {
        let joined = self.joined;
        let mut text = joined.begin();
        for part in parts {
            text.push(self.str(part)?)?;
        }
        text.finish()
    }

    pub(super) fn plain(&mut self, node: &'a Plain) -> Result<&'a Value, Fault> {
        self.step()?;
        match node {
            Plain::Literal(value) => Ok(value),
            Plain::Variable(slot, _) => match self.variables.get(*slot) {
                Some(Item::Value(value)) => Ok(value),
                _ => Ok(&Value::Null),
            },
            Plain::Item(list, at) => {
                for item in list.iter() {
                    self.plain(item)?;
                }
                let at = self.int(at)?;
                let item = within(at, list.len())?;
                list.get(item).map_or(Ok(&Value::Null), |item| self.plain(item))
            }
            Plain::Choice(test, pair) => {
                let chosen = usize::from(!self.bool(test)?);
                self.plain(&pair[chosen])
            }
            Plain::Lookup(lookup) => {
                let chosen = self.look_up(lookup)?;
                self.plain(chosen)
            }
        }
    }

    pub(super) fn look_up<T>(&mut self, lookup: &'a Lookup<T>) -> Result<&'a T, Fault> {
        let at = self.position(&lookup.key, &lookup.keys)?;
        at.and_then(|at| lookup.values.get(at)).ok_or(Fault::NoEntry)
    }

    pub(super) fn position(
        &mut self,
        key: &'a Key,
        keys: &'a Keys,
    ) -> Result<Option<usize>, Fault> {
        Ok(match (key, keys) {
            (Key::Str(text), Keys::Strs(keys)) => {
                let text = self.str(text)?;
                keys.binary_search_by(|key| (**key).cmp(text)).ok()
            }
            (Key::Int(number), Keys::Ints(keys)) => keys.binary_search(&self.int(number)?).ok(),
            _ => None,
        })
    }

    /// Joined lists are walked, so each of them is a step.
    pub(super) fn length(&mut self, list: &Strings) -> Result<usize, Fault> {
        match list {
            Strings::Fact(get, _) => Ok(get(self.facts).len()),
            Strings::Items(items) => Ok(items.len()),
            Strings::Join(lists) => {
                let mut length = 0;
                for list in lists.iter() {
                    self.step()?;
                    length += self.length(list)?;
                }
                Ok(length)
            }
        }
    }

    pub(super) fn item(&mut self, list: &'a Strings, index: usize) -> Result<&'a str, Fault> {
        match list {
            Strings::Fact(get, _) => {
                Ok(get(self.facts).get(index).map(String::as_str).unwrap_or_default())
            }
            Strings::Items(items) => items.get(index).map_or(Ok(""), |item| self.str(item)),
            Strings::Join(lists) => {
                let mut index = index;
                for list in lists.iter() {
                    self.step()?;
                    let length = self.length(list)?;
                    if index < length {
                        return self.item(list, index);
                    }
                    index -= length;
                }
                Ok("")
            }
        }
    }
}

/// An index as a place in a list of that length.
fn within(index: i64, length: usize) -> Result<usize, Fault> {
    let place = usize::try_from(index).ok().filter(|place| *place < length);
    place.ok_or(Fault::NoItem { index, length })
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
