//! A compiled expression of any type, and what people call the type.

use std::sync::Arc;

use super::{Bool, Int, Keys, Plain, Str, Strings, Value};
use crate::Facts;
use crate::vocabulary::Map;

/// A compiled expression of any type.
#[derive(Clone, Debug)]
pub(crate) enum Typed {
    Bool(Bool),
    Int(Int),
    Str(Str),
    Plain(Plain),
    Strings(Strings),
    Ints(Arc<[Int]>),
    Plains(Arc<[Plain]>),
    /// `[]`, which is a list of whatever it is compared with.
    Nothing,
    Map(fn(&Facts) -> &Map),
    Table(Table),
}

/// A map that is written out.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) keys: Arc<Keys>,
    pub(crate) values: Values,
}

/// The values of a written map, in the order of its keys.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Bools(Arc<[Bool]>),
    Ints(Arc<[Int]>),
    Strs(Arc<[Str]>),
    Plains(Arc<[Plain]>),
}

/// The type of a [`Plain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainKind {
    Null,
    Uint,
    Double,
    Bytes,
}

impl Typed {
    /// What people call the type.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a condition",
            Self::Int(_) => "a number",
            Self::Str(_) => "a string",
            Self::Plain(plain) => match plain.kind() {
                PlainKind::Null => "null",
                PlainKind::Uint => "an unsigned number",
                PlainKind::Double => "a decimal number",
                PlainKind::Bytes => "bytes",
            },
            Self::Strings(_) => "a list of strings",
            Self::Ints(_) => "a list of numbers",
            Self::Plains(plains) => match plains.first().map(Plain::kind) {
                Some(PlainKind::Uint) => "a list of unsigned numbers",
                Some(PlainKind::Double) => "a list of decimal numbers",
                Some(PlainKind::Bytes) => "a list of bytes",
                Some(PlainKind::Null) | None => "a list of nulls",
            },
            Self::Nothing => "an empty list",
            Self::Map(_) | Self::Table(_) => "a map",
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

impl Plain {
    pub(crate) fn kind(&self) -> PlainKind {
        match self {
            Self::Literal(Value::Null) => PlainKind::Null,
            Self::Literal(Value::Uint(_)) => PlainKind::Uint,
            Self::Literal(Value::Double(_)) => PlainKind::Double,
            Self::Literal(Value::Bytes(_)) => PlainKind::Bytes,
            Self::Variable(_, kind) => *kind,
            Self::Choice(_, pair) => pair[0].kind(),
            Self::Item(items, _) => items.first().map_or(PlainKind::Null, Self::kind),
            Self::Lookup(lookup) => lookup.values.first().map_or(PlainKind::Null, Self::kind),
        }
    }
}
