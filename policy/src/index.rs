//! From facts to the rules that can match, without asking the others. A key is found by its hash:
//! two that collide give one candidate too many, which its condition then turns away.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use crate::decide::Rule;
use crate::facts::{ActionType, Facts};
use crate::guard::{Key, excludes, guard};
use crate::vocabulary::{FACTS, Getter};

/// Lists that one question can bring together; past that every rule is asked.
const MAX_LISTS: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Index {
    tables: Vec<Table>,
}

/// The rules for one action type.
#[derive(Clone, Debug, Default)]
struct Table {
    /// Rules that have no key.
    always: Vec<u32>,
    facts: BTreeMap<usize, FactTable>,
}

/// The keys on one fact.
#[derive(Clone, Debug, Default)]
struct FactTable {
    equal: Lists,
    under: Lists,
    prefixes: Lists,
    prefix_lengths: Vec<usize>,
    suffixes: Lists,
    suffix_lengths: Vec<usize>,
}

type Lists = HashMap<u64, Vec<u32>, BuildHasherDefault<Itself>>;

/// Keys of the tables are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = Fnv::of(bytes.iter().copied()).0;
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Clone, Copy, Debug)]
struct Fnv(u64);

impl Fnv {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        bytes.fold(Self::EMPTY, Self::with)
    }

    fn with(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    fn with_component(self, part: &str) -> Self {
        part.bytes().fold(self.with(b'/'), Self::with)
    }
}

fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

impl Index {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let table = |action: ActionType| {
            let mut table = Table::default();
            for (at, rule) in (0..).zip(rules) {
                if !excludes(&rule.matcher, action.as_str()) {
                    table.add(at, guard(&rule.matcher));
                }
            }
            table.finish();
            table
        };
        Self { tables: ActionType::ALL.map(table).to_vec() }
    }

    /// The rules that can match, in their order; `None`: too many lists, ask every rule.
    pub(crate) fn candidates(&self, facts: &Facts) -> Option<Candidates<'_>> {
        let at = ActionType::ALL.iter().position(|action| *action == facts.action_type)?;
        let table = self.tables.get(at)?;
        let mut found = Candidates { lists: [&[]; MAX_LISTS], used: 0, full: false };
        found.gather(Some(&table.always));
        for (fact, keys) in &table.facts {
            match FACTS.get(*fact)?.get {
                Getter::Str(get) => keys.look_up(get(facts), &mut found),
                Getter::Int(get) => {
                    found.gather(keys.equal.get(&Fnv::of(get(facts).to_le_bytes().into_iter()).0));
                }
                Getter::List(_) | Getter::Map(_) => return None,
            }
        }
        (!found.full).then_some(found)
    }
}

impl Table {
    fn add(&mut self, rule: u32, keys: Option<Vec<Key>>) {
        let Some(keys) = keys else { return self.always.push(rule) };
        for key in keys {
            let (fact, list) = match &key {
                Key::Equal(fact, text) => {
                    (*fact, self.of(*fact).equal.entry(Fnv::of(text.bytes()).0))
                }
                Key::Number(fact, number) => {
                    let hash = Fnv::of(number.to_le_bytes().into_iter()).0;
                    (*fact, self.of(*fact).equal.entry(hash))
                }
                Key::Under(fact, dir) => {
                    let hash = components(dir).fold(Fnv::EMPTY, Fnv::with_component).0;
                    (*fact, self.of(*fact).under.entry(hash))
                }
                Key::Prefix(fact, text) => {
                    let keys = self.of(*fact);
                    keys.prefix_lengths.push(text.len());
                    (*fact, keys.prefixes.entry(Fnv::of(text.bytes()).0))
                }
                Key::Suffix(fact, text) => {
                    let keys = self.of(*fact);
                    keys.suffix_lengths.push(text.len());
                    (*fact, keys.suffixes.entry(Fnv::of(text.bytes().rev()).0))
                }
            };
            debug_assert!(fact < FACTS.len());
            let list = list.or_default();
            if list.last() != Some(&rule) {
                list.push(rule);
            }
        }
    }

    fn of(&mut self, fact: usize) -> &mut FactTable {
        self.facts.entry(fact).or_default()
    }

    fn finish(&mut self) {
        for keys in self.facts.values_mut() {
            for lengths in [&mut keys.prefix_lengths, &mut keys.suffix_lengths] {
                lengths.sort_unstable();
                lengths.dedup();
            }
        }
    }
}

impl FactTable {
    fn look_up<'i>(&'i self, text: &str, found: &mut Candidates<'i>) {
        if !self.equal.is_empty() {
            found.gather(self.equal.get(&Fnv::of(text.bytes()).0));
        }
        if !self.under.is_empty() {
            let mut hash = Fnv::EMPTY;
            found.gather(self.under.get(&hash.0));
            for part in components(text) {
                hash = hash.with_component(part);
                found.gather(self.under.get(&hash.0));
            }
        }
        at_lengths(&self.prefixes, &self.prefix_lengths, text.bytes(), found);
        at_lengths(&self.suffixes, &self.suffix_lengths, text.bytes().rev(), found);
    }
}

/// Looks up the hash of the first bytes at every length that a key has.
fn at_lengths<'i>(
    lists: &'i Lists,
    lengths: &[usize],
    mut bytes: impl ExactSizeIterator<Item = u8>,
    found: &mut Candidates<'i>,
) {
    let (mut hash, mut read, whole) = (Fnv::EMPTY, 0, bytes.len());
    for length in lengths.iter().take_while(|length| **length <= whole) {
        hash = bytes.by_ref().take(length - read).fold(hash, Fnv::with);
        read = *length;
        found.gather(lists.get(&hash.0));
    }
}

/// Ordered lists of rules, merged as they are read.
#[derive(Debug)]
pub(crate) struct Candidates<'i> {
    lists: [&'i [u32]; MAX_LISTS],
    used: usize,
    full: bool,
}

impl<'i> Candidates<'i> {
    fn gather(&mut self, list: Option<&'i Vec<u32>>) {
        let Some(list) = list.filter(|list| !list.is_empty()) else { return };
        match self.lists.get_mut(self.used) {
            Some(slot) => {
                *slot = list;
                self.used += 1;
            }
            None => self.full = true,
        }
    }
}

impl Iterator for Candidates<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let lists = self.lists.get_mut(..self.used)?;
        let next = lists.iter().filter_map(|list| list.first().copied()).min()?;
        for list in lists {
            if let Some((first, rest)) = list.split_first()
                && *first == next
            {
                *list = rest;
            }
        }
        usize::try_from(next).ok()
    }
}

#[cfg(test)]
#[path = "tests/index.rs"]
mod tests;
