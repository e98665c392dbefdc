//! YAML text to a tree with places. Everything that lets a file mean something else than it seems
//! to (anchors, merges, duplicate keys, tags, loose booleans) is refused here.

use std::fmt;

use granit_parser::Event;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Location, Spanned};

use crate::error::{Diagnostic, Place};

/// How deep a rule file may nest; the format itself needs 8.
pub(crate) const MAX_DEPTH: usize = 16;

/// A value with the place where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: At,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float,
    Str(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) at: At,
}

/// The place of a node and, for a scalar, the bytes of the file that it was read from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct At {
    pub(crate) place: Place,
    pub(crate) start: usize,
}

impl Value {
    /// What people call this kind of value.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Int(_) | Self::Float => "a number",
            Self::Str(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

/// Reads one document.
pub(crate) fn read(name: &str, text: &str) -> Result<Node, Diagnostic> {
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
            max_nodes: 1 << 20,
            max_events: 1 << 22,
        },
        duplicate_keys: serde_yaml::DuplicateKeyPolicy::Error,
        merge_keys: serde_yaml::MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        // Read, they would have to be kept while looking ahead, and only a few would fit.
        emit_comments: false,
    };
    if let Some(offset) = disguise(text) {
        let message = "directives and binary scalars are refused: rules are read by people";
        return Err(Diagnostic::new(name, text, place_of(text, offset), message));
    }
    let root: Spanned<Value> = serde_yaml::from_str_with_options(text, options)
        .map_err(|error| refuse(name, text, &error))?;
    if let Some(offset) = odd_tag(text) {
        let message = "this tag is refused: a rule file says what it means without one";
        return Err(Diagnostic::new(name, text, place_of(text, offset), message));
    }
    Ok(node(root))
}

/// Where a value has a tag that is not one of the plain types. A tag can be spelt in many ways, so
/// it is looked for where it has been resolved.
fn odd_tag(text: &str) -> Option<usize> {
    if !text.contains('!') {
        return None;
    }
    let options = granit_parser::options! { max_buffered_comment_events: text.len() };
    let events = granit_parser::Parser::new_from_str_with_options(text, options);
    for event in events {
        let Ok((event, span)) = event else { return Some(0) };
        let tag = match event {
            Event::Scalar(_, _, _, tag)
            | Event::SequenceStart(_, _, tag)
            | Event::MappingStart(_, _, tag) => tag,
            _ => None,
        };
        if tag.is_some_and(|tag| tag.core_suffix().is_none()) {
            return Some(span.start.byte_offset().unwrap_or(0));
        }
    }
    None
}

/// Where a file uses what would make a text mean something else than it shows: base64 by tag, or
/// a directive that could rename that tag.
fn disguise(text: &str) -> Option<usize> {
    let tag = text.find("!!binary").or_else(|| text.find("yaml.org,2002:binary"));
    let directive =
        || if text.starts_with('%') { Some(0) } else { text.find("\n%").map(|at| at + 1) };
    tag.or_else(directive)
}

fn refuse(name: &str, text: &str, error: &serde_yaml::Error) -> Diagnostic {
    let place = error.location().map_or(Place::START, |location| at(location).place);
    let full = error.to_string();
    let message = full.lines().next().unwrap_or_default();
    // The place is printed by the diagnostic; the library repeats it at the end of its sentence.
    let message = message.rsplit_once(" at line ").map_or(message, |(head, _)| head);
    // Advice to whoever programs against the library means nothing to who writes rules.
    let message = message.split_once(", set ").map_or(message, |(head, _)| head);
    let hint = match full.to_ascii_lowercase() {
        text if text.contains("anchor") || text.contains("alias") => {
            Some("anchors, aliases and merges are refused: write it out, or use `definitions`")
        }
        text if text.contains("duplicate") => Some("a key may stand once in a mapping"),
        _ => None,
    };
    Diagnostic::new(name, text, place, message).with_hint(hint.map(str::to_owned))
}

fn at(location: Location) -> At {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).max(1);
    let place = Place { line: number(location.line()), column: number(location.column()) };
    let start = location.span().byte_offset().and_then(|offset| usize::try_from(offset).ok());
    At { place, start: start.unwrap_or(0) }
}

fn node(spanned: Spanned<Value>) -> Node {
    Node { at: at(spanned.referenced), value: spanned.value }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false, a list or a mapping")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        Value::deserialize(inner)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        let fits = i64::try_from(value).map(Value::Int);
        fits.map_err(|_| E::custom("this number does not fit 64 bits"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Float)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Str(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Str(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Value>>()? {
            list.push(node(item));
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<Value>>()? {
            let key = node(key);
            let Value::Str(text) = key.value else {
                return Err(A::Error::custom(format!(
                    "a key must be a text, not {}",
                    key.value.name()
                )));
            };
            map.push((Key { text, at: key.at }, node(entries.next_value()?)));
        }
        Ok(Value::Map(map))
    }
}

/// The place of a byte of a scalar's value. Quoting and folding change only spaces, quotes and
/// backslashes, so walking both texts side by side finds every other character again.
pub(crate) fn place_within(file: &str, scalar: At, value: &str, offset: usize) -> Place {
    let mut raw = file.get(scalar.start..).unwrap_or_default().char_indices().peekable();
    if let Some((_, '|' | '>')) = raw.peek() {
        // The header of a block scalar ends with its line.
        while raw.next().is_some_and(|(_, c)| c != '\n') {}
    }
    let mut found = 0;
    for (at, c) in value.char_indices() {
        if c.is_whitespace() && at < offset {
            continue;
        }
        let Some((position, _)) = raw.find(|(_, candidate)| *candidate == c) else { break };
        found = position;
        if at >= offset {
            break;
        }
        found += c.len_utf8();
    }
    place_of(file, scalar.start + found)
}

/// The line and column of a byte offset.
pub(crate) fn place_of(file: &str, offset: usize) -> Place {
    let before = file.get(..offset).unwrap_or(file);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let number = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    Place {
        line: number(before.matches('\n').count()),
        column: number(before[line_start..].chars().count()),
    }
}
