//! The names that conditions and examples use for facts: one table for reading and for setting.

use std::collections::BTreeMap;

use crate::facts::Facts;

/// A map fact.
pub(crate) type Map = BTreeMap<String, String>;

/// How a fact is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Getter {
    Str(fn(&Facts) -> &str),
    Int(fn(&Facts) -> i64),
    List(fn(&Facts) -> &[String]),
    Map(fn(&Facts) -> &Map),
}

/// Where an example puts a fact.
pub(crate) enum Slot<'a> {
    Str(&'a mut String),
    Int(&'a mut i64),
    List(&'a mut Vec<String>),
    Map(&'a mut Map),
    Source(&'a mut crate::facts::Source),
    Action(&'a mut crate::facts::ActionType),
}

/// One fact by its dotted name.
#[derive(Debug)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) get: Getter,
    pub(crate) slot: fn(&mut Facts) -> Slot<'_>,
}

impl Fact {
    /// Its place in [`FACTS`].
    pub(crate) fn place(&self) -> usize {
        FACTS.iter().position(|fact| fact.name == self.name).unwrap_or(FACTS.len())
    }
}

macro_rules! fact {
    (Str $($path:ident).+) => {
        fact!(@ Str, |f| f.$($path).+.as_str(), |f| Slot::Str(&mut f.$($path).+), $($path).+)
    };
    (Int $($path:ident).+) => {
        fact!(@ Int, |f| f.$($path).+, |f| Slot::Int(&mut f.$($path).+), $($path).+)
    };
    (List $($path:ident).+) => {
        fact!(@ List, |f| f.$($path).+.as_slice(), |f| Slot::List(&mut f.$($path).+), $($path).+)
    };
    (Map $($path:ident).+) => {
        fact!(@ Map, |f| &f.$($path).+, |f| Slot::Map(&mut f.$($path).+), $($path).+)
    };
    (@ $kind:ident, $get:expr, $slot:expr, $first:ident $(. $rest:ident)*) => {
        Fact {
            name: concat!(stringify!($first) $(, ".", stringify!($rest))*),
            get: Getter::$kind($get),
            slot: $slot,
        }
    };
}

/// Every fact.
pub(crate) static FACTS: [Fact; 37] = [
    Fact {
        name: "source",
        get: Getter::Str(|f| f.source.as_str()),
        slot: |f| Slot::Source(&mut f.source),
    },
    Fact {
        name: "action_type",
        get: Getter::Str(|f| f.action_type.as_str()),
        slot: |f| Slot::Action(&mut f.action_type),
    },
    fact!(Str target),
    fact!(Str agent.name),
    fact!(Str container.id),
    fact!(Str container.name),
    fact!(Str container.image),
    fact!(Map container.labels),
    fact!(Str process.exe),
    fact!(Int process.pid),
    fact!(Int process.uid),
    fact!(List process.ancestors),
    fact!(Str session.id),
    fact!(Str session.workspace),
    fact!(Str exec.path),
    fact!(List exec.argv),
    fact!(Str exec.cwd),
    fact!(Str exec.interpreter),
    fact!(Str run.tool),
    fact!(List run.args),
    fact!(List run.flags),
    fact!(Str run.cwd),
    fact!(Str file.path),
    fact!(Str file.operation),
    fact!(Str file.requested),
    fact!(List file.flags),
    fact!(Str network.ip),
    fact!(Int network.port),
    fact!(Str network.protocol),
    fact!(Str network.family),
    fact!(Str network.class),
    fact!(Str network.hostname),
    fact!(Str http.method),
    fact!(Str http.url),
    fact!(Str http.host),
    fact!(Str http.path),
    fact!(Map metadata),
];

/// The fact of that dotted name.
pub(crate) fn fact(name: &str) -> Option<&'static Fact> {
    FACTS.iter().find(|fact| fact.name == name)
}

/// The fact `group.field`.
pub(crate) fn member(group: &str, field: &str) -> Option<&'static Fact> {
    FACTS.iter().find(|fact| fact.name.split_once('.') == Some((group, field)))
}

/// Whether facts are grouped under that name.
pub(crate) fn is_group(name: &str) -> bool {
    FACTS.iter().any(|fact| fact.name.split_once('.').is_some_and(|(group, _)| group == name))
}

/// The field names of a group.
pub(crate) fn fields_of(group: &str) -> Vec<&'static str> {
    let split = FACTS.iter().filter_map(|fact| fact.name.split_once('.'));
    split.filter(|(g, _)| *g == group).map(|(_, field)| field).collect()
}

/// Every name that may stand alone or before a dot.
pub(crate) fn first_names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> =
        FACTS.iter().map(|fact| fact.name.split('.').next().unwrap_or(fact.name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
