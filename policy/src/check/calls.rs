//! Functions, methods and the `exists` and `all` macros.

use std::sync::Arc;

use super::definitions::{Variable, VariableKind};
use super::{Checker, Failure, mismatch};
use crate::compile::{Bool, Int, List, Loop, Plain, PlainKind, Str, Strings, TextTest};
use crate::compile::{Typed, Value};
use crate::error::Problem;
use crate::eval::MAX_LOOPS;
use crate::functions::{HostPattern, Network};
use crate::parse::{Expr, Kind, Name, Operator};
use crate::pattern::Patterns;

pub(crate) const FUNCTIONS: [&str; 6] = ["under", "cidr", "glob", "host_matches", "has", "size"];
pub(crate) const METHODS: [&str; 8] =
    ["size", "startsWith", "endsWith", "contains", "matches", "exists", "all", "after"];

impl Checker {
    pub(super) fn function(&mut self, name: &Name, arguments: &[Expr]) -> Result<Typed, Failure> {
        match name.text.as_str() {
            "under" => {
                let [path, dir] = arity(name, arguments)?;
                let test = Bool::Text(TextTest::Under, self.str(path)?, self.str(dir)?);
                Ok(Typed::Bool(test))
            }
            "cidr" => {
                let [ip, range] = arity(name, arguments)?;
                let network = self.pattern(name, range, |_, text| Network::new(text))?;
                Ok(Typed::Bool(Bool::Cidr(self.str(ip)?, network)))
            }
            "glob" => {
                let [text, pattern] = arity(name, arguments)?;
                let glob = self.pattern(name, pattern, Patterns::glob)?;
                Ok(Typed::Bool(Bool::Glob(self.str(text)?, glob)))
            }
            "host_matches" => {
                let [host, pattern] = arity(name, arguments)?;
                let pattern = self.pattern(name, pattern, |_, text| HostPattern::new(text))?;
                Ok(Typed::Bool(Bool::Host(self.str(host)?, Arc::new(pattern))))
            }
            "has" => {
                let [subject] = arity(name, arguments)?;
                self.has(subject)
            }
            "size" => {
                let [subject] = arity(name, arguments)?;
                self.size(subject)
            }
            method if METHODS.contains(&method) => {
                let message = format!("`{method}` is asked of a value");
                let hint = format!("write `value.{method}(…)`");
                Err(Problem::new(name.span, message).hint(hint).into())
            }
            other => {
                let message = format!("there is no function named `{other}`");
                Err(Problem::new(name.span, message).nearest(other, &FUNCTIONS).into())
            }
        }
    }

    pub(super) fn method(
        &mut self,
        receiver: &Expr,
        name: &Name,
        arguments: &[Expr],
    ) -> Result<Typed, Failure> {
        let test = match name.text.as_str() {
            "startsWith" => TextTest::StartsWith,
            "endsWith" => TextTest::EndsWith,
            "contains" => TextTest::Contains,
            "matches" => {
                let [pattern] = arity(name, arguments)?;
                let pattern = self.pattern(name, pattern, Patterns::regex)?;
                let text = self.str(receiver)?;
                return Ok(Typed::Bool(Bool::Matches(text, pattern)));
            }
            "after" => {
                let [prefix] = arity(name, arguments)?;
                let pair = [self.str(receiver)?, self.str(prefix)?];
                return Ok(Typed::Str(Str::After(Box::new(pair))));
            }
            "size" => {
                let [] = arity(name, arguments)?;
                return self.size(receiver);
            }
            "exists" => {
                let each = self.each(receiver, name, arguments)?;
                return Ok(Typed::Bool(as_membership(&each).unwrap_or(Bool::Exists(each))));
            }
            "all" => return Ok(Typed::Bool(Bool::All(self.each(receiver, name, arguments)?))),
            function if FUNCTIONS.contains(&function) => {
                let message = format!("`{function}` is not asked of a value");
                let hint = format!("write `{function}(value, …)`");
                return Err(Problem::new(name.span, message).hint(hint).into());
            }
            other => {
                let message = format!("there is no method named `{other}`");
                return Err(Problem::new(name.span, message).nearest(other, &METHODS).into());
            }
        };
        let [other] = arity(name, arguments)?;
        let text = self.text_receiver(receiver, name)?;
        Ok(Typed::Bool(Bool::Text(test, text, self.str(other)?)))
    }

    fn text_receiver(&mut self, receiver: &Expr, name: &Name) -> Result<Str, Failure> {
        match self.lower(receiver)? {
            Typed::Str(text) => Ok(text),
            Typed::Strings(_) if name.text == "contains" => {
                let message = "`contains` looks inside a string, this is a list of strings";
                let hint = "membership is written `'x' in list`";
                Err(Problem::new(receiver.span, message).hint(hint).into())
            }
            other => Err(mismatch(receiver.span, "a string", &other).into()),
        }
    }

    /// A pattern must be written out: it is compiled when the rules are loaded, so a wrong one is
    /// found then and a hostile fact can never become one.
    fn pattern<T>(
        &mut self,
        function: &Name,
        argument: &Expr,
        read: fn(&mut Patterns, &str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        match self.str(argument)? {
            Str::Literal(text) => read(&mut self.patterns, &text)
                .map_err(|why| Problem::new(argument.span, format!("wrong pattern: {why}")).into()),
            _ => {
                let message = format!("the pattern of `{}` must be a literal", function.text);
                Err(Problem::new(argument.span, message).into())
            }
        }
    }

    /// A fact is there when it is not its zero value; a map entry is there when the map has the
    /// key, whatever it holds.
    fn has(&mut self, subject: &Expr) -> Result<Typed, Failure> {
        if let Kind::Field(base, field) = &subject.kind
            && let Kind::Map(_) = base.kind
            && let Typed::Table(table) = self.lower(base)?
        {
            let key = Typed::Str(Str::Literal(field.text.as_str().into()));
            let key = super::compare::key(field.span, key, &table.keys)?;
            return Ok(Typed::Bool(Bool::InKeys(Box::new(key), table.keys)));
        }
        let empty: Arc<str> = "".into();
        Ok(Typed::Bool(match self.lower(subject)? {
            Typed::Str(Str::Entry(map, key)) => Bool::HasKey(map, *key),
            Typed::Str(text) => Bool::CompareStr(Operator::Ne, text, Str::Literal(empty)),
            Typed::Int(number) => Bool::CompareInt(Operator::Ne, number, Int::Literal(0)),
            Typed::Strings(list) => {
                Bool::CompareInt(Operator::Ne, Int::SizeOfList(list), Int::Literal(0))
            }
            Typed::Map(map) => Bool::CompareInt(Operator::Ne, Int::SizeOfMap(map), Int::Literal(0)),
            other => return Err(mismatch(subject.span, "a fact", &other).into()),
        }))
    }

    fn size(&mut self, subject: &Expr) -> Result<Typed, Failure> {
        match self.lower(subject)? {
            Typed::Str(text) => Ok(Typed::Int(Int::SizeOfText(text))),
            Typed::Strings(list) => Ok(Typed::Int(Int::SizeOfList(list))),
            Typed::Map(map) => Ok(Typed::Int(Int::SizeOfMap(map))),
            Typed::Ints(list) => Ok(Typed::Int(Int::Literal(count(list.len())))),
            Typed::Plains(list) => Ok(Typed::Int(Int::Literal(count(list.len())))),
            Typed::Nothing => Ok(Typed::Int(Int::Literal(0))),
            Typed::Table(table) => Ok(Typed::Int(Int::Literal(count(table.keys.len())))),
            Typed::Plain(Plain::Literal(Value::Bytes(bytes))) => {
                Ok(Typed::Int(Int::Literal(count(bytes.len()))))
            }
            Typed::Plain(plain) if plain.kind() == PlainKind::Bytes => {
                Ok(Typed::Int(Int::SizeOfBytes(plain)))
            }
            other => {
                let message = format!("{} has no size", other.name());
                Err(Problem::new(subject.span, message).into())
            }
        }
    }

    fn each(&mut self, over: &Expr, name: &Name, arguments: &[Expr]) -> Result<Loop, Failure> {
        let [variable, body] = arity(name, arguments)?;
        let Kind::Name(variable_name) = &variable.kind else {
            let message = format!("`{}` needs the name of a variable first", name.text);
            let hint = "as in `run.args.exists(a, a == '-f')`";
            return Err(Problem::new(variable.span, message).hint(hint).into());
        };
        let over = match self.lower(over)? {
            Typed::Strings(list) => List::Strings(list),
            Typed::Ints(list) => List::Ints(list),
            Typed::Plains(list) => List::Plains(list),
            other => return Err(mismatch(over.span, "a list", &other).into()),
        };
        let slot = self.variables.len();
        if slot >= MAX_LOOPS {
            let message = format!("more than {MAX_LOOPS} loops stand inside each other");
            return Err(Problem::new(name.span, message).into());
        }
        if crate::vocabulary::first_names().contains(&variable_name.as_str()) {
            let message = format!("`{variable_name}` is a fact and cannot be a variable");
            return Err(Problem::new(variable.span, message).into());
        }
        let variable = Variable { name: variable_name.clone(), kind: VariableKind::of(&over) };
        self.variables.push(variable);
        let body = self.bool(body);
        self.variables.pop();
        Ok(Loop { over, slot, body: Box::new(body?) })
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// `list.exists(x, x == 'a')` is `'a' in list`, which the index knows.
fn as_membership(each: &Loop) -> Option<Bool> {
    let List::Strings(list @ Strings::Fact(..)) = &each.over else { return None };
    let Bool::CompareStr(Operator::Eq, a, b) = &*each.body else { return None };
    let text = match (a, b) {
        (Str::Variable(slot), text @ Str::Literal(_))
        | (text @ Str::Literal(_), Str::Variable(slot))
            if *slot == each.slot =>
        {
            text
        }
        _ => return None,
    };
    Some(Bool::InStrings(text.clone(), list.clone()))
}

/// The arguments, if there are as many as the function takes.
fn arity<'a, const N: usize>(name: &Name, arguments: &'a [Expr]) -> Result<&'a [Expr; N], Problem> {
    arguments.try_into().map_err(|_| {
        let plural = if N == 1 { "" } else { "s" };
        let message =
            format!("`{}` takes {N} argument{plural}, here are {}", name.text, arguments.len());
        Problem::new(name.span, message)
    })
}
