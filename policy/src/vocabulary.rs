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
    /// What it is, as a sentence.
    pub(crate) doc: &'static str,
    /// A value of it, as an example in a rule file would have it.
    pub(crate) example: &'static str,
}

impl Fact {
    /// Its place in [`FACTS`].
    pub(crate) fn place(&self) -> usize {
        FACTS.iter().position(|fact| fact.name == self.name).unwrap_or(FACTS.len())
    }
}

macro_rules! fact {
    (Str $($path:ident).+, $($text:literal),+) => {
        fact!(@ Str, |f| f.$($path).+.as_str(), |f| Slot::Str(&mut f.$($path).+),
              [$($text),+], $($path).+)
    };
    (Int $($path:ident).+, $($text:literal),+) => {
        fact!(@ Int, |f| f.$($path).+, |f| Slot::Int(&mut f.$($path).+),
              [$($text),+], $($path).+)
    };
    (List $($path:ident).+, $($text:literal),+) => {
        fact!(@ List, |f| f.$($path).+.as_slice(), |f| Slot::List(&mut f.$($path).+),
              [$($text),+], $($path).+)
    };
    (Map $($path:ident).+, $($text:literal),+) => {
        fact!(@ Map, |f| &f.$($path).+, |f| Slot::Map(&mut f.$($path).+),
              [$($text),+], $($path).+)
    };
    (@ $kind:ident, $get:expr, $slot:expr, [$doc:literal, $example:literal],
     $first:ident $(. $rest:ident)*) => {
        Fact {
            name: concat!(stringify!($first) $(, ".", stringify!($rest))*),
            get: Getter::$kind($get),
            slot: $slot,
            doc: $doc,
            example: $example,
        }
    };
}

/// Every fact.
pub(crate) static FACTS: [Fact; 37] = [
    Fact {
        name: "source",
        get: Getter::Str(|f| f.source.as_str()),
        slot: |f| Slot::Source(&mut f.source),
        doc: "The door through which the question came: `kernel` or `api`.",
        example: "kernel",
    },
    Fact {
        name: "action_type",
        get: Getter::Str(|f| f.action_type.as_str()),
        slot: |f| Slot::Action(&mut f.action_type),
        doc: "What is asked for: `tool_exec`, `network_call`, `file_access` or `shell_exec`.",
        example: "file_access",
    },
    fact!(
        Str target,
        "The object of the action: a resolved path, an address or a socket name.",
        "/workspace/src/main.rs"
    ),
    fact!(Str agent.name, "The agent's registered name.", "reviewer"),
    fact!(Str container.id, "The identifier that the runtime gave the container.", "4f0c2a9b7d1e"),
    fact!(Str container.name, "The name that a person gave the container.", "build-1"),
    fact!(Str container.image, "The image that the container was started from.", "debian:13"),
    fact!(Map container.labels, "Labels of the container, from the runtime.", "{ team: web }"),
    fact!(Str process.exe, "The running executable of the asking process.", "/usr/bin/git"),
    fact!(Int process.pid, "The process id, as the supervisor sees it.", "4711"),
    fact!(Int process.uid, "The user id, as the supervisor sees it.", "1000"),
    fact!(
        List process.ancestors,
        "Executables of the parents, nearest first.",
        "[/usr/bin/bash, /usr/bin/node]"
    ),
    fact!(Str session.id, "The session's identifier.", "s-7f3a"),
    fact!(Str session.workspace, "The directory that the agent works in.", "/workspace"),
    fact!(Str exec.path, "The resolved executable that is about to run.", "/usr/bin/git"),
    fact!(List exec.argv, "Its argument vector, `argv[0]` included.", "[git, push, --force]"),
    fact!(Str exec.cwd, "The directory that it will start in.", "/workspace"),
    fact!(
        Str exec.interpreter,
        "The interpreter named by a `#!` line, or empty.",
        "/usr/bin/python3"
    ),
    fact!(Str run.tool, "The bare name of the program.", "git"),
    fact!(List run.args, "Arguments of the command that are not flags.", "[push, origin]"),
    fact!(List run.flags, "Arguments of the command that are flags.", "[--force]"),
    fact!(Str run.cwd, "The directory that the command runs in.", "/workspace"),
    fact!(Str file.path, "The resolved path of the file.", "/workspace/notes.txt"),
    fact!(
        Str file.operation,
        "What is done to the file: `read`, `write`, `create`, `delete`, `rename`, `link` or \
         `metadata`.",
        "write"
    ),
    fact!(Str file.requested, "The path as the process wrote it.", "../notes.txt"),
    fact!(List file.flags, "Flags of an open: `append`, `create`, `exclusive`, `truncate`, `directory`, `nofollow` or \
         `nonblock`; `socket` or `device` where such a file is made.", "[append]"),
    fact!(Str network.ip, "The address about to be reached, normalised.", "93.184.215.14"),
    fact!(Int network.port, "The port about to be reached, or 0.", "443"),
    fact!(Str network.protocol, "`tcp`, `udp` or another protocol name.", "tcp"),
    fact!(Str network.family, "The address family, as `inet`, `inet6` or `unix`.", "inet"),
    fact!(
        Str network.class,
        "Where the address leads: `loopback`, `private`, `link_local`, `metadata`, `multicast`, \
         `public`, `unix`, `kernel` or `other`.",
        "public"
    ),
    fact!(Str network.hostname, "The host name, where it is known.", "example.com"),
    fact!(Str http.method, "The HTTP method in capitals.", "GET"),
    fact!(Str http.url, "The whole URL of the request.", "https://example.com/a"),
    fact!(Str http.host, "The host of the URL.", "example.com"),
    fact!(Str http.path, "The path of the URL.", "/a"),
    fact!(Map metadata, "What an explicit check sent along; untrusted.", "{ ticket: OPS-42 }"),
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
