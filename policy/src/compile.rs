//! The compiled form of a condition: a tree with one enum per type, so that evaluation never asks
//! what type a value has and never allocates.

use std::sync::Arc;

use crate::functions::{Glob, HostPattern, Network, Pattern};
use crate::vocabulary::Map;
use crate::{Facts, parse::Operator};

/// A compiled expression of any type.
#[derive(Clone, Debug)]
pub(crate) enum Typed {
    Bool(Bool),
    Int(Int),
    Str(Str),
    Strings(Strings),
    Ints(Arc<[Int]>),
    Map(fn(&Facts) -> &Map),
}

impl Typed {
    /// What people call the type.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a condition",
            Self::Int(_) => "a number",
            Self::Str(_) => "a string",
            Self::Strings(_) => "a list of strings",
            Self::Ints(_) => "a list of numbers",
            Self::Map(_) => "a map",
        }
    }

    /// The same value behind a shared pointer: a definition is compiled once, however often it is
    /// used.
    pub(crate) fn shared(self) -> Self {
        match self {
            Self::Bool(inner) => Self::Bool(Bool::Shared(Arc::new(inner))),
            Self::Int(inner) => Self::Int(Int::Shared(Arc::new(inner))),
            Self::Str(inner @ Str::Literal(_)) => Self::Str(inner),
            Self::Str(inner) => Self::Str(Str::Shared(Arc::new(inner))),
            other => other,
        }
    }
}

/// Something that is true or false.
#[derive(Clone, Debug)]
pub(crate) enum Bool {
    Literal(bool),
    Shared(Arc<Bool>),
    Not(Box<Bool>),
    And(Vec<Bool>),
    Or(Vec<Bool>),
    Choice(Box<[Bool; 3]>),
    SameTruth(Box<[Bool; 2]>),
    SameList(Strings, Strings),
    CompareStr(Operator, Str, Str),
    CompareInt(Operator, Int, Int),
    InStrings(Str, Strings),
    InInts(Int, Arc<[Int]>),
    HasKey(fn(&Facts) -> &Map, Str),
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
    pub(crate) over: Strings,
    pub(crate) slot: usize,
    pub(crate) body: Box<Bool>,
}

/// A number.
#[derive(Clone, Debug)]
pub(crate) enum Int {
    Literal(i64),
    Shared(Arc<Int>),
    /// With its place among all facts.
    Fact(fn(&Facts) -> i64, usize),
    SizeOfText(Str),
    SizeOfList(Strings),
    SizeOfMap(fn(&Facts) -> &Map),
    Choice(Box<Bool>, Box<[Int; 2]>),
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
    Choice(Box<Bool>, Box<[Str; 2]>),
}

/// A list of texts.
#[derive(Clone, Debug)]
pub(crate) enum Strings {
    Fact(fn(&Facts) -> &[String]),
    Items(Arc<[Str]>),
}
