//! Named conditions of one file: each is compiled once, and cycles are refused.

use std::collections::HashMap;

use super::Failure;
use crate::compile::{Bool, Int, List, Plain, PlainKind, Str, Typed};
use crate::error::{Problem, Span};
use crate::parse::parse;
use crate::pattern::Patterns;

/// How long a chain of definitions that use each other may be.
pub(crate) const MAX_CHAIN: usize = 64;

/// A definition as it is written.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionText {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Compiles the conditions of one file.
pub(crate) struct Checker {
    definitions: Vec<(DefinitionText, State)>,
    by_name: HashMap<String, usize>,
    /// The definitions being compiled, outermost first.
    chain: Vec<usize>,
    /// Problems inside definitions, by definition.
    problems: Vec<(usize, Problem)>,
    /// Loop variables in scope, by slot.
    pub(super) variables: Vec<Variable>,
    /// Every pattern of the set so far.
    pub(super) patterns: Patterns,
    pub(super) depth: usize,
    pub(super) deepest: usize,
    pub(super) cost: u64,
}

/// A loop variable in scope.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) kind: VariableKind,
}

/// What a loop variable holds.
pub(super) enum VariableKind {
    Str,
    Int,
    Plain(PlainKind),
}

impl VariableKind {
    /// The type of a list's items.
    pub(super) fn of(list: &List) -> Self {
        match list {
            List::Strings(_) => Self::Str,
            List::Ints(_) => Self::Int,
            List::Plains(items) => Self::Plain(items.first().map_or(PlainKind::Null, Plain::kind)),
        }
    }
}

impl Variable {
    /// Its value, which stands in this slot.
    pub(super) fn read(&self, slot: usize) -> Typed {
        match self.kind {
            VariableKind::Str => Typed::Str(Str::Variable(slot)),
            VariableKind::Int => Typed::Int(Int::Variable(slot)),
            VariableKind::Plain(kind) => Typed::Plain(Plain::Variable(slot, kind)),
        }
    }
}

enum State {
    New,
    Active,
    Done { typed: Typed, height: usize, cost: u64 },
    Broken,
}

impl Checker {
    /// For conditions beside those of a set, which count for themselves.
    pub(crate) fn new(definitions: Vec<DefinitionText>) -> Self {
        Self::within(definitions, Patterns::default())
    }

    /// For the conditions of one file of a set, with the patterns of the files before it.
    pub(crate) fn within(definitions: Vec<DefinitionText>, patterns: Patterns) -> Self {
        let names = definitions.iter().enumerate();
        Self {
            by_name: names.map(|(index, text)| (text.name.clone(), index)).collect(),
            definitions: definitions.into_iter().map(|text| (text, State::New)).collect(),
            chain: Vec::new(),
            problems: Vec::new(),
            variables: Vec::new(),
            patterns,
            depth: 0,
            deepest: 0,
            cost: 0,
        }
    }

    /// Compiles the condition of a rule.
    pub(crate) fn condition(&mut self, text: &str) -> Result<Bool, Failure> {
        (self.depth, self.deepest, self.cost) = (0, 0, 0);
        self.variables.clear();
        let expr = parse(text)?;
        match self.lower(&expr)? {
            Typed::Bool(inner) => Ok(inner),
            other => {
                let message =
                    format!("a condition must be true or false, this is {}", other.name());
                Err(Problem::new(expr.span, message).into())
            }
        }
    }

    /// Compiles what no rule has used, and hands over the problems of all definitions, and the
    /// patterns so far.
    pub(crate) fn finish(mut self) -> (Vec<(usize, Problem)>, Patterns) {
        for index in 0..self.definitions.len() {
            (self.depth, self.deepest, self.cost) = (0, 0, 0);
            let (DefinitionText { name, .. }, _) = &self.definitions[index];
            let name = name.clone();
            // A problem is kept in `problems`; a use with no place of its own adds nothing.
            let _ = self.definition(Span::default(), &name);
        }
        self.problems.sort_by_key(|(index, _)| *index);
        (self.problems, self.patterns)
    }

    /// The compiled form of a definition where it is used.
    pub(super) fn definition(&mut self, span: Span, name: &str) -> Result<Typed, Failure> {
        let Some(index) = self.by_name.get(name).copied() else {
            let known: Vec<&str> =
                self.definitions.iter().map(|(text, _)| text.name.as_str()).collect();
            let message = format!("there is no definition named `{name}` in this file");
            return Err(Problem::new(span, message).nearest(name, &known).into());
        };
        match &self.definitions[index].1 {
            State::Done { typed, height, cost } => {
                let (height, cost) = (*height, *cost);
                // Only these are copied; all others are shared.
                let copied = matches!(typed, Typed::Plain(_));
                self.grow(span, height, cost)?;
                if copied {
                    let nodes = usize::try_from(cost).unwrap_or(usize::MAX);
                    self.copied(span, nodes.saturating_mul(size_of::<Plain>()))?;
                }
                return match &self.definitions[index].1 {
                    State::Done { typed, .. } => Ok(typed.clone()),
                    _ => Err(Failure::Reported),
                };
            }
            State::Broken => return Err(Failure::Reported),
            State::Active => return Err(self.cycle(span, index).into()),
            State::New => {}
        }
        if self.chain.len() >= MAX_CHAIN {
            let message = format!("definitions use each other more than {MAX_CHAIN} deep");
            return Err(Problem::new(span, message).into());
        }
        self.compile(index)
    }

    fn compile(&mut self, index: usize) -> Result<Typed, Failure> {
        // Loop variables belong to the text that declares them, so a definition sees none.
        let variables = std::mem::take(&mut self.variables);
        let (depth, deepest, cost) = (self.depth, self.deepest, self.cost);
        self.deepest = depth;
        self.definitions[index].1 = State::Active;
        self.chain.push(index);
        let result = parse(&self.definitions[index].0.text)
            .map_err(Failure::Here)
            .and_then(|expr| self.lower(&expr));
        self.chain.pop();
        self.variables = variables;
        let height = self.deepest - depth;
        self.deepest = self.deepest.max(deepest);
        self.depth = depth;
        match result {
            Ok(typed) => {
                let typed = typed.shared();
                let cost = self.cost - cost;
                self.definitions[index].1 = State::Done { typed: typed.clone(), height, cost };
                Ok(typed)
            }
            Err(failure) => {
                if let Failure::Here(problem) = failure {
                    self.problems.push((index, problem));
                }
                self.definitions[index].1 = State::Broken;
                Err(Failure::Reported)
            }
        }
    }

    fn cycle(&self, span: Span, index: usize) -> Problem {
        let start = self.chain.iter().position(|active| *active == index).unwrap_or(0);
        let round = self.chain[start..].iter().chain([&index]);
        let names: Vec<String> =
            round.map(|active| format!("${}", self.definitions[*active].0.name)).collect();
        Problem::new(span, format!("a definition may not use itself: {}", names.join(" -> ")))
    }
}
