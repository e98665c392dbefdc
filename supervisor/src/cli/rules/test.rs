//! `rules test`.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context;
use policy::{CaseResult, ExampleResult, LoadErrors, Suite, run_examples};
use serde_json::{Value, json};

use super::coverage::Coverage;
use super::input::read_source;
use super::screen::{Paint, counted, one_line};
use super::{Fault, Loaded, Outcome, TESTS_FAILED, junit};
use crate::cli::arguments::rules::TestArguments;

/// One example or case that was run.
pub(super) struct Trial {
    pub(super) kind: &'static str,
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) name: String,
    pub(super) decision: policy::Decision,
    pub(super) complaints: Vec<String>,
}

impl Trial {
    pub(super) fn passed(&self) -> bool {
        self.complaints.is_empty()
    }

    fn of_example(result: &ExampleResult) -> Self {
        let name = if result.wanted { "matches" } else { "does not match" };
        let wrong = (result.wanted != result.matched)
            .then(|| format!("expected that rule {} {name} this example", result.rule.id));
        Self {
            kind: "example",
            file: result.rule.file.clone(),
            line: result.line,
            name: format!("{} {name}", result.rule.id),
            decision: result.decision.clone(),
            complaints: wrong.into_iter().collect(),
        }
    }

    fn of_case(file: &str, result: CaseResult) -> Self {
        let CaseResult { name, line, decision, complaints } = result;
        Self { kind: "case", file: file.to_owned(), line, name, decision, complaints }
    }

    fn document(&self) -> Value {
        json!({
            "type": self.kind, "file": self.file, "line": self.line, "name": self.name,
            "passed": self.passed(), "complaints": self.complaints,
            "verdict": self.decision.verdict.as_str(),
            "rule": self.decision.rule.as_ref().map(|rule| rule.id.as_str()),
        })
    }

    fn sentence(&self, paint: Paint) -> String {
        let word = if self.passed() { paint.good("ok  ") } else { paint.bad("FAIL") };
        let what = format!("{}:{}: {}", self.file, self.line, self.name);
        let mut text = format!("{word} {}\n", one_line(&what));
        for complaint in &self.complaints {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "     {}", one_line(complaint));
        }
        text
    }
}

pub(super) fn test(arguments: &TestArguments, paint: Paint) -> Result<Outcome, Fault> {
    let loaded = Loaded::from(&arguments.paths)?;
    let suites = suites(&arguments.cases)?;
    let examples = run_examples(&loaded.files, &loaded.engine);
    let mut coverage = Coverage::of(loaded.engine.rules());
    let mut trials: Vec<Trial> = Vec::new();
    for example in &examples {
        coverage.example(example);
        trials.push(Trial::of_example(example));
    }
    for suite in &suites {
        for result in suite.run(&loaded.engine) {
            coverage.case(&result.decision);
            trials.push(Trial::of_case(&suite.file, result));
        }
    }
    if let Some(path) = &arguments.junit {
        std::fs::write(path, junit::document(&trials))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let coverage = arguments.coverage.then_some(coverage);
    let failed = trials.iter().filter(|trial| !trial.passed()).count();
    let rules = loaded.engine.rules().len();
    let text = if arguments.json {
        in_json(&trials, coverage.as_ref(), rules, failed)
    } else {
        in_words(&trials, coverage.as_ref(), rules, failed, paint)
    };
    Ok(Outcome { text, code: if failed > 0 { TESTS_FAILED } else { 0 } })
}

/// Every file of cases, or everything that is wrong with any of them.
fn suites(paths: &[PathBuf]) -> Result<Vec<Suite>, Fault> {
    let mut suites = Vec::new();
    let mut wrong: Vec<LoadErrors> = Vec::new();
    for path in paths {
        match Suite::read(&read_source(path)?) {
            Ok(suite) => suites.push(suite),
            Err(errors) => wrong.push(errors),
        }
    }
    if wrong.is_empty() {
        return Ok(suites);
    }
    Err(Fault::Invalid(wrong.iter().map(LoadErrors::to_string).collect::<Vec<_>>().join("\n")))
}

fn in_json(
    trials: &[Trial],
    coverage: Option<&Coverage<'_>>,
    rules: usize,
    failed: usize,
) -> String {
    let summary = json!({
        "type": "summary", "rules": rules, "examples": count(trials, "example"),
        "cases": count(trials, "case"), "passed": trials.len() - failed, "failed": failed,
    });
    let documents = trials.iter().map(Trial::document);
    let documents = documents.chain(coverage.map(Coverage::document)).chain([summary]);
    documents.map(|document| format!("{document}\n")).collect()
}

fn in_words(
    trials: &[Trial],
    coverage: Option<&Coverage<'_>>,
    rules: usize,
    failed: usize,
    paint: Paint,
) -> String {
    let mut text: String = trials.iter().map(|trial| trial.sentence(paint)).collect();
    if let Some(coverage) = coverage {
        text += &coverage.sentences(paint);
    }
    let summary = format!(
        "{}, {}, {}: {} passed, {failed} failed",
        counted(rules, "rule"),
        counted(count(trials, "example"), "example"),
        counted(count(trials, "case"), "case"),
        trials.len() - failed,
    );
    text + &summary + "\n"
}

fn count(trials: &[Trial], kind: &str) -> usize {
    trials.iter().filter(|trial| trial.kind == kind).count()
}
