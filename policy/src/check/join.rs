//! A chain of `+`: strings, bytes or lists, all of one type. It is read in one pass, and what it
//! copies is counted: definitions can join what definitions have joined.

use std::sync::Arc;

use super::{Checker, Failure};
use crate::compile::{Int, Plain, Str, Strings, Typed, Value};
use crate::error::{Problem, Span};
use crate::eval::MAX_JOINED_BYTES;
use crate::parse::Expr;

/// What a chain has been so far.
enum Chain {
    /// `[]`, a list of whatever comes.
    Nothing,
    Texts(Vec<Str>),
    Bytes(Vec<Arc<[u8]>>),
    Lists(Vec<Strings>),
    Ints(Vec<Arc<[Int]>>),
    Plains(Vec<Arc<[Plain]>>),
    /// What nothing can be joined with.
    Alone(Typed),
}

impl Checker {
    pub(super) fn join(&mut self, span: Span, items: &[Expr]) -> Result<Typed, Failure> {
        let mut items = self.each_of(items.iter())?.into_iter();
        let Some((first, _)) = items.next() else { return Ok(Typed::Nothing) };
        let mut name = first.name();
        let mut chain = Chain::of(first);
        for (item, span) in items {
            let found = item.name();
            let hint = matches!((&chain, &item), (Chain::Alone(Typed::Int(_)), Typed::Int(_)));
            if !chain.add(item) {
                let message = format!("{name} cannot be joined with {found}");
                let problem = Problem::new(span, message);
                return Err(match hint {
                    true => {
                        problem.hint("`+` joins strings and lists; conditions do not calculate")
                    }
                    false => problem,
                }
                .into());
            }
            if matches!(chain, Chain::Nothing) || found != "an empty list" {
                name = found;
            }
        }
        self.joined(span, chain)
    }

    fn joined(&mut self, span: Span, chain: Chain) -> Result<Typed, Failure> {
        Ok(match chain {
            Chain::Nothing => Typed::Nothing,
            Chain::Alone(typed) => typed,
            Chain::Texts(parts) => Typed::Str(self.joined_texts(span, parts)?),
            Chain::Bytes(parts) => {
                let length = parts.iter().map(|part| part.len()).sum();
                bounded(span, length)?;
                let bytes = self.concatenated(span, &parts)?;
                Typed::Plain(Plain::Literal(Value::Bytes(bytes)))
            }
            Chain::Lists(parts) => Typed::Strings(self.joined_lists(span, parts)?),
            Chain::Ints(parts) => Typed::Ints(self.concatenated(span, &parts)?),
            Chain::Plains(parts) => Typed::Plains(self.concatenated(span, &parts)?),
        })
    }

    /// Neighbouring literals become one, so that a joined pattern is still a literal.
    fn joined_texts(&mut self, span: Span, parts: Vec<Str>) -> Result<Str, Failure> {
        let mut merged: Vec<Str> = Vec::new();
        let mut literal = String::new();
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            let next_is_literal = matches!(parts.peek(), Some(Str::Literal(_)));
            match part {
                Str::Literal(text) if next_is_literal || !literal.is_empty() => {
                    bounded(span, literal.len() + text.len())?;
                    literal.push_str(&text);
                    if !next_is_literal {
                        self.copied(span, literal.len())?;
                        merged.push(Str::Literal(std::mem::take(&mut literal).into()));
                    }
                }
                part => merged.push(part),
            }
        }
        if let [one] = merged.as_slice() {
            return Ok(one.clone());
        }
        self.copied(span, size_of_val(merged.as_slice()))?;
        Ok(Str::Join(merged.into()))
    }

    /// Neighbouring lists that are written out become one, which the index knows.
    fn joined_lists(&mut self, span: Span, parts: Vec<Strings>) -> Result<Strings, Failure> {
        let mut merged: Vec<Strings> = Vec::new();
        let mut written: Vec<Arc<[Str]>> = Vec::new();
        for part in parts.into_iter().map(Some).chain([None]) {
            if let Some(Strings::Items(items)) = part {
                written.push(items);
                continue;
            }
            if !written.is_empty() {
                merged.push(Strings::Items(self.concatenated(span, &written)?));
                written.clear();
            }
            merged.extend(part);
        }
        match merged.as_slice() {
            [one] => Ok(one.clone()),
            _ => Ok(Strings::Join(merged.into())),
        }
    }

    fn concatenated<T: Clone>(
        &mut self,
        span: Span,
        parts: &[Arc<[T]>],
    ) -> Result<Arc<[T]>, Failure> {
        if let [one] = parts {
            return Ok(one.clone());
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.copied(span, length.saturating_mul(size_of::<T>()))?;
        Ok(parts.iter().flat_map(|part| part.iter().cloned()).collect())
    }

    /// Counts bytes that a definition's value takes again where it is used.
    pub(super) fn copied(&mut self, span: Span, bytes: usize) -> Result<(), Problem> {
        self.patterns.copy(bytes).map_err(|why| Problem::new(span, why))
    }
}

impl Chain {
    fn of(first: Typed) -> Self {
        match first {
            Typed::Nothing => Self::Nothing,
            Typed::Str(text) => Self::Texts(flat(text)),
            Typed::Plain(Plain::Literal(Value::Bytes(bytes))) => Self::Bytes(vec![bytes]),
            Typed::Strings(list) => Self::Lists(vec![list]),
            Typed::Ints(list) => Self::Ints(vec![list]),
            Typed::Plains(list) => Self::Plains(vec![list]),
            other => Self::Alone(other),
        }
    }

    /// Takes one more, if it is of the same type.
    fn add(&mut self, item: Typed) -> bool {
        match (&mut *self, item) {
            (Self::Nothing, item) => {
                *self = Self::of(item);
                return matches!(
                    self,
                    Self::Nothing | Self::Lists(_) | Self::Ints(_) | Self::Plains(_)
                );
            }
            (Self::Lists(_) | Self::Ints(_) | Self::Plains(_), Typed::Nothing) => {}
            (Self::Texts(parts), Typed::Str(text)) => parts.extend(flat(text)),
            (Self::Bytes(parts), Typed::Plain(Plain::Literal(Value::Bytes(bytes)))) => {
                parts.push(bytes);
            }
            (Self::Lists(parts), Typed::Strings(list)) => parts.push(list),
            (Self::Ints(parts), Typed::Ints(list)) => parts.push(list),
            (Self::Plains(parts), Typed::Plains(list)) => {
                let kind = |list: &Arc<[Plain]>| list.first().map(Plain::kind);
                if parts.first().and_then(kind) != kind(&list) {
                    return false;
                }
                parts.push(list);
            }
            _ => return false,
        }
        true
    }
}

fn flat(text: Str) -> Vec<Str> {
    match text {
        Str::Join(parts) => parts.to_vec(),
        text => vec![text],
    }
}

fn bounded(span: Span, length: usize) -> Result<(), Problem> {
    if length > MAX_JOINED_BYTES {
        let message = format!("`+` makes a text of more than {MAX_JOINED_BYTES} bytes");
        return Err(Problem::new(span, message));
    }
    Ok(())
}
