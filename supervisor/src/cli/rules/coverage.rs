//! Which rules the tests of a set reach.

use std::collections::HashMap;

use policy::{Decision, ExampleResult, Rule};
use serde_json::{Value, json};

use super::screen::{Paint, counted, one_line};

/// For each rule how many cases it decided, and how many of its own examples it matched.
pub(super) struct Coverage<'r> {
    rules: &'r [Rule],
    reached: HashMap<String, Reached>,
}

#[derive(Clone, Copy, Default)]
struct Reached {
    cases: usize,
    examples: usize,
}

impl<'r> Coverage<'r> {
    pub(super) fn of(rules: &'r [Rule]) -> Self {
        Self { rules, reached: HashMap::new() }
    }

    pub(super) fn example(&mut self, result: &ExampleResult) {
        if result.matched {
            self.reached.entry(result.rule.id.clone()).or_default().examples += 1;
        }
    }

    pub(super) fn case(&mut self, decision: &Decision) {
        if let Some(rule) = &decision.rule {
            self.reached.entry(rule.id.clone()).or_default().cases += 1;
        }
    }

    fn reached(&self, rule: &Rule) -> Option<Reached> {
        self.reached.get(&rule.id).copied()
    }

    fn covered(&self) -> usize {
        self.rules.iter().filter(|rule| self.reached(rule).is_some()).count()
    }

    /// Rounded down, so that 100 means all.
    fn percent(&self) -> usize {
        (self.covered() * 100).checked_div(self.rules.len()).unwrap_or(100)
    }

    pub(super) fn document(&self) -> Value {
        let each = self.rules.iter().map(|rule| {
            let Reached { cases, examples } = self.reached(rule).unwrap_or_default();
            json!({
                "id": rule.id, "file": rule.file, "line": rule.line,
                "covered": cases + examples > 0, "cases": cases, "examples": examples,
            })
        });
        json!({
            "type": "coverage", "covered": self.covered(), "of": self.rules.len(),
            "percent": self.percent(), "rules": each.collect::<Vec<_>>(),
        })
    }

    pub(super) fn sentences(&self, paint: Paint) -> String {
        let (mut covered, mut missed) = (String::new(), String::new());
        for rule in self.rules {
            let place = one_line(&format!("{} ({}:{})", rule.id, rule.file, rule.line));
            match self.reached(rule) {
                Some(Reached { cases, examples }) => {
                    let counts = [counted(cases, "case"), counted(examples, "example")].join(", ");
                    covered += &format!("  {}     {place}: {counts}\n", paint.good("covered"));
                }
                None => missed += &format!("  {} {place}\n", paint.bad("not covered")),
            }
        }
        let (count, of) = (self.covered(), counted(self.rules.len(), "rule"));
        format!("coverage: {count} of {of}, {}%\n{covered}{missed}", self.percent())
    }
}
