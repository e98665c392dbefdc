//! From facts to the rules that can match: a table for each action type and door, and in it lists
//! of rules by what their conditions ask of one fact.

mod keys;

use std::collections::{BTreeMap, HashMap};

use crate::decide::Rule;
use crate::facts::{ActionType, Facts, Source};
use crate::guard::{Key, MAX_LISTED, excludes, guards};
use crate::vocabulary::{FACTS, Getter};
use keys::FactTable;

/// Keys that all rules together may have. A definition of a thousand hosts has a thousand keys in
/// every rule that uses it; rules past that are asked every time.
const MAX_KEYS: usize = 1 << 18;

/// Lists that one question can bring together; past that every rule is asked.
const MAX_LISTS: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// By action type, then by door.
    tables: Vec<Table>,
    /// Every fact that is a list.
    lists: Vec<fn(&Facts) -> &[String]>,
}

/// The rules for one action type through one door.
#[derive(Clone, Debug, Default)]
struct Table {
    /// Rules that have no key.
    always: Vec<u32>,
    facts: Vec<(Getter, FactTable)>,
}

impl Index {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let keys = chosen(rules);
        let doors = ActionType::ALL
            .into_iter()
            .flat_map(|action| Source::ALL.into_iter().map(move |source| (action, source)));
        let table = |(action, source)| {
            let mut always = Vec::new();
            let mut facts: BTreeMap<usize, FactTable> = BTreeMap::new();
            for (at, (rule, keys)) in (0..).zip(rules.iter().zip(&keys)) {
                if excludes(&rule.matcher, action, source) {
                    continue;
                }
                match keys {
                    None => always.push(at),
                    Some(keys) => {
                        for key in keys {
                            facts.entry(key.fact()).or_default().add(key, at);
                        }
                    }
                }
            }
            let facts = facts.into_iter().filter_map(|(fact, mut table)| {
                table.finish();
                Some((FACTS.get(fact)?.get, table))
            });
            Table { always, facts: facts.collect() }
        };
        let lists = FACTS.iter().filter_map(|fact| match fact.get {
            Getter::List(get) => Some(get),
            _ => None,
        });
        Self { tables: doors.map(table).collect(), lists: lists.collect() }
    }

    /// The rules that can match, in their order; `None`: too many lists, ask every rule.
    pub(crate) fn candidates(&self, facts: &Facts) -> Option<Candidates<'_>> {
        // A rule that is left out for one fact may look through a list of another first, and run
        // out of steps there.
        if self.lists.iter().any(|list| list(facts).len() > MAX_LISTED) {
            return None;
        }
        let action = ActionType::ALL.iter().position(|action| *action == facts.action_type)?;
        let source = Source::ALL.iter().position(|source| *source == facts.source)?;
        let table = self.tables.get(action * Source::ALL.len() + source)?;
        let mut found = Candidates { lists: [&[]; MAX_LISTS], used: 0, full: false };
        found.gather(Some(&table.always));
        for (getter, keys) in &table.facts {
            match getter {
                Getter::Str(get) => keys.look_up(get(facts), &mut found),
                Getter::Int(get) => keys.look_up_number(get(facts), &mut found),
                Getter::List(get) => {
                    for item in get(facts) {
                        keys.look_up_member(item, &mut found);
                    }
                }
                Getter::Map(_) => return None,
            }
        }
        (!found.full).then_some(found)
    }
}

/// For each rule the keys that fewest others share: a thousand rules about one tool are told apart
/// by their arguments.
fn chosen(rules: &[Rule]) -> Vec<Option<Vec<Key>>> {
    let mut left = MAX_KEYS;
    let found = rules.iter().map(|rule| {
        let found = if left > 0 { guards(&rule.matcher) } else { Vec::new() };
        let count: usize = found.iter().map(Vec::len).sum();
        let fits = count <= left;
        left = left.saturating_sub(count);
        if fits { found } else { Vec::new() }
    });
    let choices: Vec<Vec<Vec<Key>>> = found.collect();
    let mut shared: HashMap<&Key, usize> = HashMap::new();
    for key in choices.iter().flatten().flatten() {
        *shared.entry(key).or_default() += 1;
    }
    let cost = |keys: &Vec<Key>| {
        let widest = keys.iter().map(|key| (key.breadth() > 7, shared.get(key), key.breadth()));
        (widest.max(), keys.len())
    };
    let best = choices.iter().map(|choices| choices.iter().min_by_key(|keys| cost(keys)).cloned());
    best.collect()
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

#[cfg(test)]
#[path = "tests/index_nested.rs"]
mod nested;
