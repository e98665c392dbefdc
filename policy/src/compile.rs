//! The compiled form of a condition: a tree with one enum per type, so that evaluation never asks
//! what type a value has.

use std::sync::Arc;

use crate::functions::{HostPattern, Network};
use crate::pattern::{Glob, Pattern};
use crate::vocabulary::Map;
use crate::{Facts, parse::Operator};

mod typed;

pub(crate) use typed::{PlainKind, Table, Typed, Values};

/// Something that is true or false.
#[derive(Clone, Debug)]
pub(crate) enum Bool {
    Literal(bool),
    Shared(Arc<Bool>),
    Not(Box<Bool>),
    And(Vec<Bool>),
    Or(Vec<Bool>),
    Choice(Box<[Bool; 3]>),
    Lookup(Box<Lookup<Bool>>),
    SameTruth(Box<[Bool; 2]>),
    SameList(Strings, Strings),
    CompareStr(Operator, Str, Str),
    CompareInt(Operator, Int, Int),
    ComparePlain(Operator, Plain, Plain),
    InStrings(Str, Strings),
    InInts(Int, Arc<[Int]>),
    InPlains(Plain, Arc<[Plain]>),
    HasKey(fn(&Facts) -> &Map, Str),
    InKeys(Box<Key>, Arc<Keys>),
    Text(TextTest, Str, Str),
    Matches(Str, Arc<Pattern>),
    Glob(Str, Arc<Glob>),
    Cidr(Str, Network),
    Host(Str, Arc<HostPattern>),
    Exists(Loop),
    All(Loop),
}

/// A test of one text against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextTest {
    StartsWith,
    EndsWith,
    Contains,
    Under,
}

/// A test over every item of a list.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) over: List,
    pub(crate) slot: usize,
    pub(crate) body: Box<Bool>,
}

/// A list of any type that can be walked.
#[derive(Clone, Debug)]
pub(crate) enum List {
    Strings(Strings),
    Ints(Arc<[Int]>),
    Plains(Arc<[Plain]>),
}

/// A number.
#[derive(Clone, Debug)]
pub(crate) enum Int {
    Literal(i64),
    Shared(Arc<Int>),
    /// With its place among all facts.
    Fact(fn(&Facts) -> i64, usize),
    Variable(usize),
    SizeOfText(Str),
    SizeOfList(Strings),
    SizeOfMap(fn(&Facts) -> &Map),
    SizeOfBytes(Plain),
    Item(Arc<[Int]>, Box<Int>),
    Choice(Box<Bool>, Box<[Int; 2]>),
    Lookup(Box<Lookup<Int>>),
}

/// A text.
#[derive(Clone, Debug)]
pub(crate) enum Str {
    Literal(Arc<str>),
    Shared(Arc<Str>),
    /// With its place among all facts.
    Fact(fn(&Facts) -> &str, usize),
    Variable(usize),
    Entry(fn(&Facts) -> &Map, Box<Str>),
    Item(Strings, Box<Int>),
    After(Box<[Str; 2]>),
    Join(Arc<[Str]>),
    Choice(Box<Bool>, Box<[Str; 2]>),
    Lookup(Box<Lookup<Str>>),
}

/// A list of texts.
#[derive(Clone, Debug)]
pub(crate) enum Strings {
    /// With its place among all facts.
    Fact(fn(&Facts) -> &[String], usize),
    Items(Arc<[Str]>),
    Join(Arc<[Strings]>),
}

/// A value of a type that no fact has: an unsigned or decimal number, bytes, null.
#[derive(Clone, Debug)]
pub(crate) enum Plain {
    Literal(Value),
    Variable(usize, PlainKind),
    Item(Arc<[Plain]>, Box<Int>),
    Choice(Box<Bool>, Box<[Plain; 2]>),
    Lookup(Box<Lookup<Plain>>),
}

/// What a [`Plain`] comes to.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(crate) enum Value {
    Null,
    Uint(u64),
    Double(f64),
    Bytes(Arc<[u8]>),
}

/// The keys of a written map, sorted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Keys {
    Strs(Vec<Arc<str>>),
    Ints(Vec<i64>),
}

impl Keys {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Strs(keys) => keys.len(),
            Self::Ints(keys) => keys.len(),
        }
    }
}

/// What is looked for among the keys.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    Str(Str),
    Int(Int),
}

/// The value of a written map at a key that facts decide.
#[derive(Clone, Debug)]
pub(crate) struct Lookup<T> {
    pub(crate) keys: Arc<Keys>,
    pub(crate) values: Arc<[T]>,
    pub(crate) key: Key,
}
