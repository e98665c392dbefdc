//! Rules that failed by a single test, and which one: what a person asks next after a refusal.

use std::sync::Arc;

use crate::check::{Checker, DefinitionText};
use crate::decide::Rule;
use crate::eval::holds;
use crate::guard::excludes;
use crate::parse::{Expr, Kind, parse};
use crate::{Engine, Facts, RuleRef, Verdict};

/// A rule that would have matched, had one test of its condition held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// The rule.
    pub rule: Arc<RuleRef>,
    /// What it would have decided.
    pub action: Verdict,
    /// The test that did not hold, as it is written.
    pub test: String,
}

impl Engine {
    /// The rules that failed by exactly one test, in the order in which they are asked. Conditions
    /// are read anew for it, so this is for explanations and not for deciding.
    #[must_use]
    pub fn near_misses(&self, facts: &Facts) -> Vec<NearMiss> {
        let asked = self.rules().iter().filter(|rule| {
            !excludes(&rule.matcher, facts.action_type, facts.source)
                && holds(&rule.matcher, facts) == Ok(false)
        });
        asked.filter_map(|rule| near_miss(rule, self.definitions_of(rule), facts)).collect()
    }
}

fn near_miss(rule: &Rule, definitions: &[DefinitionText], facts: &Facts) -> Option<NearMiss> {
    let mut branches = Vec::new();
    alternatives(&rule.condition, &parse(&rule.condition).ok()?, definitions, &mut branches);
    let test = branches.iter().find_map(|tests| only_failure(tests, definitions, facts))?;
    Some(NearMiss { rule: Arc::clone(&rule.reference), action: rule.action, test })
}

/// A condition as alternatives, each of them tests that must all hold.
fn alternatives(
    text: &str,
    expr: &Expr,
    definitions: &[DefinitionText],
    branches: &mut Vec<Vec<String>>,
) {
    match &expr.kind {
        Kind::Or(items) => {
            for item in items {
                alternatives(text, item, definitions, branches);
            }
        }
        _ => {
            let mut tests = Vec::new();
            conjuncts(text, expr, definitions, &mut tests);
            branches.push(tests);
        }
    }
}

/// The tests of a chain of `&&`. A definition that is such a chain is part of it.
fn conjuncts(text: &str, expr: &Expr, definitions: &[DefinitionText], tests: &mut Vec<String>) {
    match &expr.kind {
        Kind::And(items) => {
            for item in items {
                conjuncts(text, item, definitions, tests);
            }
        }
        Kind::Definition(name) => {
            let definition = definitions.iter().find(|definition| definition.name == *name);
            if let Some(text) = definition.map(|definition| definition.text.as_str())
                && let Ok(expr) = parse(text)
            {
                conjuncts(text, &expr, definitions, tests);
            }
        }
        _ => tests.extend(text.get(expr.span.start..expr.span.end).map(str::to_owned)),
    }
}

/// The one test that does not hold, if all others do. A rule of a single test is near to nothing.
fn only_failure(tests: &[String], definitions: &[DefinitionText], facts: &Facts) -> Option<String> {
    if tests.len() < 2 {
        return None;
    }
    let mut failed = None;
    for test in tests {
        let condition = Checker::new(definitions.to_vec()).condition(test).ok()?;
        match holds(&condition, facts) {
            Ok(true) => {}
            Ok(false) if failed.is_none() => failed = Some(test.clone()),
            Ok(false) | Err(_) => return None,
        }
    }
    failed
}

#[cfg(test)]
#[path = "tests/near_miss.rs"]
mod tests;
