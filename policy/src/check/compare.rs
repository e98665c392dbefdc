//! Comparisons and membership: both sides must be of one type.

use std::sync::Arc;

use super::mismatch;
use crate::compile::{Bool, Key, Keys, PlainKind, Strings, Typed};
use crate::error::{Problem, Span};
use crate::parse::Operator;

/// `left in right`.
pub(super) fn membership(span: Span, left: Typed, right: Typed) -> Result<Bool, Problem> {
    match (left, right) {
        (Typed::Str(text), Typed::Strings(list)) => Ok(Bool::InStrings(text, list)),
        (Typed::Int(number), Typed::Ints(list)) => Ok(Bool::InInts(number, list)),
        (Typed::Plain(value), Typed::Plains(list))
            if list.iter().all(|item| item.kind() == value.kind()) =>
        {
            Ok(Bool::InPlains(value, list))
        }
        (Typed::Str(key), Typed::Map(map)) => Ok(Bool::HasKey(map, key)),
        (left, Typed::Table(table)) => {
            let key = key(span, left, &table.keys)?;
            Ok(Bool::InKeys(Box::new(key), table.keys))
        }
        (_, Typed::Nothing) => {
            Err(Problem::new(span, "an empty list holds nothing to test").hint("write `false`"))
        }
        (left, right) => {
            let message = format!("{} cannot be in {}", left.name(), right.name());
            let problem = Problem::new(span, message);
            Err(match (left, right) {
                (Typed::Str(_), Typed::Str(_)) => {
                    problem.hint("`text.contains('part')` looks inside a string")
                }
                (Typed::Int(_), Typed::Plains(_)) => problem.hint("write numbers without `u`"),
                _ => problem,
            })
        }
    }
}

/// A value as a key of a written map.
pub(super) fn key(span: Span, value: Typed, keys: &Keys) -> Result<Key, Problem> {
    match (value, keys) {
        (Typed::Str(text), Keys::Strs(_)) => Ok(Key::Str(text)),
        (Typed::Int(number), Keys::Ints(_)) => Ok(Key::Int(number)),
        (other, Keys::Strs(_)) => Err(mismatch(span, "a string", &other)),
        (other, Keys::Ints(_)) => Err(mismatch(span, "a number", &other)),
    }
}

/// Any comparison but `in`.
pub(super) fn comparison(
    span: Span,
    operator: Operator,
    left: Typed,
    right: Typed,
) -> Result<Bool, Problem> {
    let negate = |node| if operator == Operator::Ne { Bool::Not(Box::new(node)) } else { node };
    let ordered = !matches!(operator, Operator::Eq | Operator::Ne);
    match (left, right) {
        (Typed::Str(a), Typed::Str(b)) => Ok(Bool::CompareStr(operator, a, b)),
        (Typed::Int(a), Typed::Int(b)) => Ok(Bool::CompareInt(operator, a, b)),
        (Typed::Plain(a), Typed::Plain(b))
            if a.kind() == b.kind() && !(ordered && a.kind() == PlainKind::Null) =>
        {
            Ok(Bool::ComparePlain(operator, a, b))
        }
        (Typed::Bool(a), Typed::Bool(b)) if !ordered => {
            Ok(negate(Bool::SameTruth(Box::new([a, b]))))
        }
        (left, right) if !ordered && is_list(&left) && is_list(&right) => {
            same_list(span, left, right).map(negate)
        }
        (left, right) => Err(incomparable(span, &left, &right)),
    }
}

fn is_list(typed: &Typed) -> bool {
    matches!(typed, Typed::Strings(_) | Typed::Ints(_) | Typed::Plains(_) | Typed::Nothing)
}

fn same_list(span: Span, left: Typed, right: Typed) -> Result<Bool, Problem> {
    let nothing = || Strings::Items(Arc::new([]));
    match (left, right) {
        (Typed::Strings(a), Typed::Strings(b)) => Ok(Bool::SameList(a, b)),
        (Typed::Strings(list), Typed::Nothing) | (Typed::Nothing, Typed::Strings(list)) => {
            Ok(Bool::SameList(list, nothing()))
        }
        (Typed::Nothing, Typed::Nothing) => Ok(Bool::Literal(true)),
        (Typed::Nothing, _) | (_, Typed::Nothing) => Ok(Bool::Literal(false)),
        (Typed::Ints(a), Typed::Ints(b)) => {
            Ok(in_pairs(&a, &b, |a, b| Bool::CompareInt(Operator::Eq, a.clone(), b.clone())))
        }
        (Typed::Plains(a), Typed::Plains(b))
            if a.iter().chain(b.iter()).all(|item| Some(item.kind()) == kind_of(&a)) =>
        {
            Ok(in_pairs(&a, &b, |a, b| Bool::ComparePlain(Operator::Eq, a.clone(), b.clone())))
        }
        (left, right) => Err(incomparable(span, &left, &right)),
    }
}

fn kind_of(list: &[crate::compile::Plain]) -> Option<PlainKind> {
    list.first().map(crate::compile::Plain::kind)
}

/// Two written lists are the same where every pair is.
fn in_pairs<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> Bool) -> Bool {
    if a.len() != b.len() {
        return Bool::Literal(false);
    }
    Bool::And(a.iter().zip(b).map(|(a, b)| same(a, b)).collect())
}

fn incomparable(span: Span, left: &Typed, right: &Typed) -> Problem {
    let message = format!("{} cannot be compared with {}", left.name(), right.name());
    let problem = Problem::new(span, message);
    match (left, right) {
        (Typed::Plain(plain), _) | (_, Typed::Plain(plain)) if plain.kind() == PlainKind::Null => {
            problem.hint("no fact is ever null: an absent one is '' or 0; `has(x)` tells")
        }
        (Typed::Int(_), Typed::Plain(_)) | (Typed::Plain(_), Typed::Int(_)) => {
            problem.hint("numbers of facts are whole and signed: write `443`")
        }
        _ => problem,
    }
}
