//! Lists and maps that are written out.

use std::sync::Arc;

use super::{Checker, Failure, mismatch};
use crate::compile::{Int, Keys, Plain, Str, Strings, Table, Typed, Values};
use crate::error::{Problem, Span};
use crate::parse::Expr;

impl Checker {
    pub(super) fn each_of<'e>(
        &mut self,
        items: impl Iterator<Item = &'e Expr>,
    ) -> Result<Vec<(Typed, Span)>, Failure> {
        items.map(|item| Ok((self.lower(item)?, item.span))).collect()
    }

    pub(super) fn list(&mut self, items: &[Expr]) -> Result<Typed, Failure> {
        let items = self.each_of(items.iter())?;
        Ok(match items.first() {
            None => Typed::Nothing,
            Some((Typed::Int(_), _)) => Typed::Ints(numbers(items)?),
            Some((Typed::Str(_), _)) => Typed::Strings(Strings::Items(texts(items)?)),
            Some((Typed::Plain(_), _)) => Typed::Plains(plains(items)?),
            Some((other, span)) => {
                let message = format!("a list cannot hold {}", other.name());
                return Err(Problem::new(*span, message)
                    .hint("it holds strings or numbers")
                    .into());
            }
        })
    }

    pub(super) fn map(&mut self, span: Span, entries: &[[Expr; 2]]) -> Result<Typed, Failure> {
        if entries.is_empty() {
            return Err(Problem::new(span, "an empty map holds nothing to test").into());
        }
        let keys = self.each_of(entries.iter().map(|entry| &entry[0]))?;
        let values = self.each_of(entries.iter().map(|entry| &entry[1]))?;
        let (keys, order) = sorted_keys(keys)?;
        let values: Vec<(Typed, Span)> =
            order.iter().filter_map(|at| values.get(*at).cloned()).collect();
        if let Some((_, span)) = values.iter().find(|(value, _)| !is_certain(value)) {
            let message = "a map holds literals and facts";
            let hint = "what has to be worked out first belongs outside of it";
            return Err(Problem::new(*span, message).hint(hint).into());
        }
        let values = match values.first() {
            Some((Typed::Int(_), _)) => Values::Ints(numbers(values)?),
            Some((Typed::Str(_), _)) => Values::Strs(texts(values)?),
            Some((Typed::Plain(_), _)) => Values::Plains(plains(values)?),
            Some((Typed::Bool(_), _)) => Values::Bools(conditions(values)?),
            Some((other, span)) => {
                let message = format!("a map cannot hold {}", other.name());
                return Err(Problem::new(*span, message).into());
            }
            None => return Err(Problem::new(span, "an empty map holds nothing to test").into()),
        };
        Ok(Typed::Table(Table { keys: Arc::new(keys), values }))
    }
}

/// Whether a value is there without anything that could fail.
fn is_certain(value: &Typed) -> bool {
    match value {
        Typed::Bool(value) => matches!(value, crate::compile::Bool::Literal(_)),
        Typed::Int(value) => matches!(value, Int::Literal(_) | Int::Fact(..)),
        Typed::Str(value) => matches!(value, Str::Literal(_) | Str::Fact(..)),
        Typed::Plain(value) => matches!(value, Plain::Literal(_)),
        _ => true,
    }
}

/// The keys in order, and where each stood. They must be literals: two that turn out to be the
/// same would leave open which value counts.
fn sorted_keys(keys: Vec<(Typed, Span)>) -> Result<(Keys, Vec<usize>), Problem> {
    let spans: Vec<Span> = keys.iter().map(|(_, span)| *span).collect();
    let texts: Option<Vec<Arc<str>>> = keys.iter().map(|(key, _)| text_key(key)).collect();
    let numbers: Option<Vec<i64>> = keys.iter().map(|(key, _)| number_key(key)).collect();
    match (texts, numbers) {
        (Some(texts), _) => sorted(texts, &spans).map(|(keys, order)| (Keys::Strs(keys), order)),
        (_, Some(numbers)) => {
            sorted(numbers, &spans).map(|(keys, order)| (Keys::Ints(keys), order))
        }
        (None, None) => {
            let odd = keys.iter().find(|(key, _)| text_key(key).is_none());
            let span = odd.map(|(_, span)| *span).unwrap_or_default();
            let message = "the keys of a map are string literals, or all whole numbers";
            Err(Problem::new(span, message))
        }
    }
}

fn text_key(key: &Typed) -> Option<Arc<str>> {
    match key {
        Typed::Str(Str::Literal(text)) => Some(text.clone()),
        _ => None,
    }
}

fn number_key(key: &Typed) -> Option<i64> {
    match key {
        Typed::Int(Int::Literal(number)) => Some(*number),
        _ => None,
    }
}

fn sorted<T: Ord>(keys: Vec<T>, spans: &[Span]) -> Result<(Vec<T>, Vec<usize>), Problem> {
    let mut numbered: Vec<(T, usize)> = keys.into_iter().zip(0..).collect();
    numbered.sort();
    if let Some(pair) = numbered.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let span = spans.get(pair[1].1).copied().unwrap_or_default();
        return Err(Problem::new(span, "this key is in the map already"));
    }
    Ok(numbered.into_iter().unzip())
}

fn numbers(items: Vec<(Typed, Span)>) -> Result<Arc<[Int]>, Problem> {
    let each = items.into_iter().map(|(item, span)| match item {
        Typed::Int(number) => Ok(number),
        other => Err(mismatch(span, "a number", &other)),
    });
    each.collect()
}

fn texts(items: Vec<(Typed, Span)>) -> Result<Arc<[Str]>, Problem> {
    let each = items.into_iter().map(|(item, span)| match item {
        Typed::Str(text) => Ok(text),
        other => Err(mismatch(span, "a string", &other)),
    });
    each.collect()
}

fn conditions(items: Vec<(Typed, Span)>) -> Result<Arc<[crate::compile::Bool]>, Problem> {
    let each = items.into_iter().map(|(item, span)| match item {
        Typed::Bool(condition) => Ok(condition),
        other => Err(mismatch(span, "true or false", &other)),
    });
    each.collect()
}

fn plains(items: Vec<(Typed, Span)>) -> Result<Arc<[Plain]>, Problem> {
    let mut first: Option<(&'static str, crate::compile::PlainKind)> = None;
    let each = items.into_iter().map(|(item, span)| {
        let name = item.name();
        match item {
            Typed::Plain(plain) if first.is_none_or(|(_, kind)| kind == plain.kind()) => {
                first = Some((name, plain.kind()));
                Ok(plain)
            }
            other => {
                let wanted = first.map_or("a value", |(name, _)| name);
                Err(mismatch(span, wanted, &other))
            }
        }
    });
    each.collect()
}
