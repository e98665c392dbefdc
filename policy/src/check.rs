//! Types: a syntax tree becomes a compiled one, or the reason why it cannot.

mod calls;
mod compare;
mod definitions;
mod join;
mod values;

use std::sync::Arc;

#[cfg(test)]
pub(crate) use calls::{FUNCTIONS, METHODS};
pub(crate) use definitions::{Checker, DefinitionText, MAX_CHAIN};

use crate::compile::{Bool, Int, Key, Keys, Lookup, Plain, Str, Strings};
use crate::compile::{Table, Typed, Value, Values};
use crate::error::{Problem, Span};
use crate::eval::MAX_WRITTEN_STEPS;
use crate::facts::{ActionType, Source};
use crate::guard::cheap_first;
use crate::parse::{Expr, Kind, Name, Operator};
use crate::vocabulary::{self, Fact, Getter};
use compare::{comparison, key, membership};

/// How deep a condition may nest once its definitions are expanded. Evaluation recurses this far, on
/// the small stack of a worker thread, in builds without optimisation too.
pub(crate) const MAX_EXPANDED_DEPTH: usize = 160;

/// Why an expression has no compiled form.
pub(crate) enum Failure {
    /// A problem of the text at hand.
    Here(Problem),
    /// A definition that it uses is broken, which is reported at the definition.
    Reported,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Here(problem)
    }
}

impl Checker {
    /// Compiles an expression of any type, and keeps account of depth and size.
    fn lower(&mut self, expr: &Expr) -> Result<Typed, Failure> {
        self.depth += 1;
        self.grow(expr.span, 0, 1)?;
        let typed = self.lower_kind(expr)?;
        self.depth -= 1;
        Ok(typed)
    }

    /// Counts something of that height and cost at the current depth, or refuses it.
    fn grow(&mut self, span: Span, height: usize, cost: u64) -> Result<(), Problem> {
        self.deepest = self.deepest.max(self.depth + height);
        self.cost = self.cost.saturating_add(cost);
        if self.deepest > MAX_EXPANDED_DEPTH {
            let message = format!(
                "with its definitions expanded, this nests deeper than {MAX_EXPANDED_DEPTH} levels"
            );
            return Err(Problem::new(span, message));
        }
        if self.cost > u64::from(MAX_WRITTEN_STEPS) {
            let message = format!(
                "with its definitions expanded, this takes more than {MAX_WRITTEN_STEPS} steps"
            );
            return Err(Problem::new(span, message));
        }
        Ok(())
    }

    fn lower_kind(&mut self, expr: &Expr) -> Result<Typed, Failure> {
        match &expr.kind {
            Kind::Bool(value) => Ok(Typed::Bool(Bool::Literal(*value))),
            Kind::Int(value) => Ok(Typed::Int(Int::Literal(*value))),
            Kind::Str(value) => Ok(Typed::Str(Str::Literal(value.as_str().into()))),
            Kind::Null => Ok(plain(Value::Null)),
            Kind::Uint(value) => Ok(plain(Value::Uint(*value))),
            Kind::Double(value) => Ok(plain(Value::Double(*value))),
            Kind::Bytes(value) => Ok(plain(Value::Bytes(value.as_slice().into()))),
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(expr.span, entries),
            Kind::Join(items) => self.join(expr.span, items),
            Kind::Name(name) => Ok(self.name(expr.span, name)?),
            Kind::Definition(name) => self.definition(expr.span, name),
            Kind::Field(base, field) => self.field(base, field),
            Kind::Index(pair) => self.index(&pair[0], &pair[1]),
            Kind::Not(inner) => Ok(Typed::Bool(Bool::Not(Box::new(self.bool(inner)?)))),
            Kind::And(items) => Ok(Typed::Bool(Bool::And(cheap_first(self.bools(items)?)))),
            Kind::Or(items) => Ok(Typed::Bool(Bool::Or(self.bools(items)?))),
            Kind::Binary(operator, pair) => self.binary(expr.span, *operator, pair),
            Kind::Choice(three) => self.choice(three),
            Kind::Call(None, name, arguments) => self.function(name, arguments),
            Kind::Call(Some(receiver), name, arguments) => self.method(receiver, name, arguments),
        }
    }

    fn bool(&mut self, expr: &Expr) -> Result<Bool, Failure> {
        match self.lower(expr)? {
            Typed::Bool(inner) => Ok(inner),
            other => Err(mismatch(expr.span, "true or false", &other).into()),
        }
    }

    fn bools(&mut self, items: &[Expr]) -> Result<Vec<Bool>, Failure> {
        items.iter().map(|item| self.bool(item)).collect()
    }

    fn str(&mut self, expr: &Expr) -> Result<Str, Failure> {
        match self.lower(expr)? {
            Typed::Str(inner) => Ok(inner),
            other => Err(mismatch(expr.span, "a string", &other).into()),
        }
    }

    fn name(&self, span: Span, name: &str) -> Result<Typed, Problem> {
        if let Some(slot) = self.variables.iter().rposition(|variable| variable.name == name) {
            return Ok(self.variables[slot].read(slot));
        }
        if let Some(fact) = vocabulary::fact(name) {
            return Ok(read(fact));
        }
        let fields = vocabulary::fields_of(name);
        if let Some(field) = fields.first() {
            let message = format!("`{name}` is a group of facts, not a value");
            return Err(Problem::new(span, message).hint(format!("such as `{name}.{field}`")));
        }
        let message = format!("there is no fact named `{name}`");
        let mut known: Vec<&str> = vocabulary::first_names();
        known.extend(self.variables.iter().map(|variable| variable.name.as_str()));
        Err(Problem::new(span, message).nearest(name, &known))
    }

    fn field(&mut self, base: &Expr, field: &Name) -> Result<Typed, Failure> {
        if let Kind::Name(group) = &base.kind
            && vocabulary::is_group(group)
            && !self.variables.iter().any(|variable| variable.name == *group)
        {
            return match vocabulary::member(group, &field.text) {
                Some(fact) => Ok(read(fact)),
                None => {
                    let message = format!("`{group}` has no field `{}`", field.text);
                    let known = vocabulary::fields_of(group);
                    let problem = Problem::new(field.span, message).nearest(&field.text, &known);
                    Err(match problem.hint {
                        Some(_) => problem,
                        None => problem.hint(format!("it has {}", known.join(", "))),
                    }
                    .into())
                }
            };
        }
        match self.lower(base)? {
            Typed::Map(map) => {
                let key = Str::Literal(field.text.as_str().into());
                Ok(Typed::Str(Str::Entry(map, Box::new(key))))
            }
            Typed::Table(table) => {
                let key = Typed::Str(Str::Literal(field.text.as_str().into()));
                Ok(look_up(field.span, table, key)?)
            }
            other => {
                let message = format!("{} has no field `{}`", other.name(), field.text);
                Err(Problem::new(field.span, message).into())
            }
        }
    }

    fn index(&mut self, base: &Expr, index: &Expr) -> Result<Typed, Failure> {
        match (self.lower(base)?, self.lower(index)?) {
            (Typed::Map(map), Typed::Str(key)) => Ok(Typed::Str(Str::Entry(map, Box::new(key)))),
            (Typed::Strings(list), Typed::Int(at)) => Ok(Typed::Str(Str::Item(list, Box::new(at)))),
            (Typed::Ints(list), Typed::Int(at)) => Ok(Typed::Int(Int::Item(list, Box::new(at)))),
            (Typed::Plains(list), Typed::Int(at)) => {
                Ok(Typed::Plain(Plain::Item(list, Box::new(at))))
            }
            (Typed::Table(table), key) => Ok(look_up(index.span, table, key)?),
            (Typed::Map(_), other) => Err(mismatch(index.span, "a string", &other).into()),
            (Typed::Strings(_) | Typed::Ints(_) | Typed::Plains(_), other) => {
                Err(mismatch(index.span, "a number", &other).into())
            }
            (other, _) => {
                let message = format!("{} has no items to pick from", other.name());
                Err(Problem::new(base.span, message).into())
            }
        }
    }

    fn binary(
        &mut self,
        span: Span,
        operator: Operator,
        pair: &[Expr; 2],
    ) -> Result<Typed, Failure> {
        self.known_word(&pair[0], &pair[1])?;
        self.known_word(&pair[1], &pair[0])?;
        let (left, right) = (self.lower(&pair[0])?, self.lower(&pair[1])?);
        let pairs = match (&left, &right) {
            (Typed::Ints(list), Typed::Ints(_)) => list.len(),
            (Typed::Plains(list), Typed::Plains(_)) => list.len(),
            _ => 0,
        };
        self.copied(span, pairs.saturating_mul(size_of::<Bool>()))?;
        let node = match operator {
            Operator::In => membership(span, left, right)?,
            _ => comparison(span, operator, left, right)?,
        };
        Ok(Typed::Bool(node))
    }

    /// A comparison of `action_type` with a word that is no action type can never hold; that is
    /// always a slip.
    fn known_word(&self, fact: &Expr, word: &Expr) -> Result<(), Problem> {
        let Kind::Name(name) = &fact.kind else { return Ok(()) };
        let known: &[&str] = match name.as_str() {
            "action_type" => &ActionType::ALL.map(ActionType::as_str),
            "source" => &Source::ALL.map(Source::as_str),
            _ => return Ok(()),
        };
        let words = match &word.kind {
            Kind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(word),
        };
        for item in words {
            if let Kind::Str(text) = &item.kind
                && !known.contains(&text.as_str())
            {
                let message = format!("`{name}` is never '{}'", text.escape_debug());
                return Err(Problem::new(item.span, message).nearest(text, known));
            }
        }
        Ok(())
    }

    fn choice(&mut self, three: &[Expr; 3]) -> Result<Typed, Failure> {
        let test = self.bool(&three[0])?;
        match (self.lower(&three[1])?, self.lower(&three[2])?) {
            (Typed::Bool(a), Typed::Bool(b)) => {
                Ok(Typed::Bool(Bool::Choice(Box::new([test, a, b]))))
            }
            (Typed::Int(a), Typed::Int(b)) => {
                Ok(Typed::Int(Int::Choice(Box::new(test), Box::new([a, b]))))
            }
            (Typed::Str(a), Typed::Str(b)) => {
                Ok(Typed::Str(Str::Choice(Box::new(test), Box::new([a, b]))))
            }
            (Typed::Plain(a), Typed::Plain(b)) if a.kind() == b.kind() => {
                Ok(Typed::Plain(Plain::Choice(Box::new(test), Box::new([a, b]))))
            }
            (a, b) => {
                let message = format!("`?:` chooses between {} and {}", a.name(), b.name());
                let problem = Problem::new(three[1].span.to(three[2].span), message);
                Err(problem.hint("both must be conditions, strings or numbers").into())
            }
        }
    }
}

fn plain(value: Value) -> Typed {
    Typed::Plain(Plain::Literal(value))
}

/// A value of a written map. A key that is known now is looked up now.
fn look_up(span: Span, table: Table, wanted: Typed) -> Result<Typed, Problem> {
    let key = key(span, wanted, &table.keys)?;
    let found = match (&*table.keys, &key) {
        (Keys::Strs(keys), Key::Str(Str::Literal(text))) => Some(keys.binary_search(text)),
        (Keys::Ints(keys), Key::Int(Int::Literal(number))) => Some(keys.binary_search(number)),
        _ => None,
    };
    let at = match found {
        Some(Err(_)) => return Err(Problem::new(span, "the map has no such key")),
        Some(Ok(at)) => Some(at),
        None => None,
    };
    let keys = table.keys;
    Ok(match table.values {
        Values::Bools(values) => Typed::Bool(pick(keys, values, key, at, Bool::Lookup)),
        Values::Ints(values) => Typed::Int(pick(keys, values, key, at, Int::Lookup)),
        Values::Strs(values) => Typed::Str(pick(keys, values, key, at, Str::Lookup)),
        Values::Plains(values) => Typed::Plain(pick(keys, values, key, at, Plain::Lookup)),
    })
}

fn pick<T: Clone>(
    keys: Arc<Keys>,
    values: Arc<[T]>,
    key: Key,
    at: Option<usize>,
    later: fn(Box<Lookup<T>>) -> T,
) -> T {
    match at.and_then(|at| values.get(at)) {
        Some(value) => value.clone(),
        None => later(Box::new(Lookup { keys, values, key })),
    }
}

fn mismatch(span: Span, wanted: &str, found: &Typed) -> Problem {
    Problem::new(span, format!("expected {wanted}, found {}", found.name()))
}

fn read(fact: &'static Fact) -> Typed {
    match fact.get {
        Getter::Str(get) => Typed::Str(Str::Fact(get, fact.place())),
        Getter::Int(get) => Typed::Int(Int::Fact(get, fact.place())),
        Getter::List(get) => Typed::Strings(Strings::Fact(get, fact.place())),
        Getter::Map(get) => Typed::Map(get),
    }
}

#[cfg(test)]
#[path = "tests/check.rs"]
mod tests;
