//! Tests of a rule set: its own examples, and questions with the answer that is expected to each.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Diagnostic, LoadErrors, Place, nearest};
use crate::eval::holds;
use crate::examples::facts_of;
use crate::source::{Reader, Text, read_file};
use crate::yaml::{Key, Node, Value, read};
use crate::{Decision, Engine, Facts, MAX_FILE_BYTES, RuleRef, SourceFile, Verdict};

const FILE_KEYS: [&str; 2] = ["version", "cases"];
const CASE_KEYS: [&str; 5] = ["name", "facts", "expect", "rule", "reason_contains"];
/// What `rule` says where no rule is to match.
const NO_RULE: &str = "default";

/// A file of cases.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The file's name.
    pub file: String,
    cases: Vec<Case>,
}

#[derive(Clone, Debug)]
struct Case {
    name: String,
    line: u32,
    facts: Facts,
    expect: Verdict,
    rule: Option<String>,
    reason_contains: Option<String>,
}

/// How one case went.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// The case's name.
    pub name: String,
    /// The line on which it starts.
    pub line: u32,
    /// What the rules said.
    pub decision: Decision,
    /// How that differs from what was expected; empty: it does not.
    pub complaints: Vec<String>,
}

impl CaseResult {
    /// Whether the answer was the expected one.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.complaints.is_empty()
    }
}

impl Suite {
    /// Reads a file of cases as strictly as rules are read.
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub fn read(file: &SourceFile) -> Result<Self, LoadErrors> {
        let size = file.text.len();
        if size > MAX_FILE_BYTES {
            let message = format!("the file has {size} bytes, the limit is {MAX_FILE_BYTES}");
            let diagnostic = Diagnostic::new(&file.name, "", Place::START, message);
            return Err(LoadErrors::new(vec![diagnostic]));
        }
        let root = read(&file.name, &file.text).map_err(|one| LoadErrors::new(vec![one]))?;
        let mut reader = Reader::new(&file.name, &file.text);
        let cases = cases(&mut reader, root);
        let cases = reader.finish(cases).map_err(LoadErrors::new)?;
        Ok(Self { file: file.name.clone(), cases })
    }

    /// Asks every question of the file.
    #[must_use]
    pub fn run(&self, engine: &Engine) -> Vec<CaseResult> {
        self.cases.iter().map(|case| case.run(engine)).collect()
    }
}

impl Case {
    fn run(&self, engine: &Engine) -> CaseResult {
        let decision = engine.decide(&self.facts);
        let reason = decision.reason(&self.facts).into_owned();
        let mut complaints = Vec::new();
        let came = decision.rule.as_ref().map_or(NO_RULE, |rule| rule.id.as_str());
        let right_rule = self.rule.as_ref().is_none_or(|wanted| wanted == came);
        if decision.verdict != self.expect || !right_rule {
            let wanted = self.rule.as_ref().map(|rule| by(rule)).unwrap_or_default();
            complaints.push(format!(
                "expected {}{wanted}, got {}{}: {}",
                self.expect,
                decision.verdict,
                by_with_place(&decision),
                reason
            ));
        }
        if let Some(rule) = self.rule.as_deref().filter(|_| !right_rule) {
            complaints.extend(missing(rule, engine));
        }
        if let Some(wanted) = &self.reason_contains
            && !reason.contains(wanted)
        {
            complaints.push(format!("expected {wanted:?} in the reason {reason:?}"));
        }
        // A fault is part of an answer that may well be the expected one; it explains another.
        if !complaints.is_empty() {
            complaints
                .extend(decision.errors.iter().map(|fault| format!("while deciding: {fault}")));
        }
        CaseResult { name: self.name.clone(), line: self.line, decision, complaints }
    }
}

fn by(rule: &str) -> String {
    if rule == NO_RULE { " by no rule".to_owned() } else { format!(" by rule {rule}") }
}

fn by_with_place(decision: &Decision) -> String {
    match &decision.rule {
        Some(rule) => format!(" by rule {} ({}:{})", rule.id, rule.file, rule.line),
        None => by(NO_RULE),
    }
}

/// Says that an expected rule does not exist.
fn missing(rule: &str, engine: &Engine) -> Option<String> {
    let ids: Vec<&str> = engine.rules().iter().map(|rule| rule.id.as_str()).collect();
    if rule == NO_RULE || ids.contains(&rule) {
        return None;
    }
    let near = nearest(rule, &ids).map(|id| format!("; did you mean {id}?")).unwrap_or_default();
    Some(format!("no rule has the id {rule}{near}"))
}

fn cases(reader: &mut Reader<'_>, root: Node) -> Vec<Case> {
    let at = root.at;
    let Some(entries) = reader.entries(root, "a file of cases", &FILE_KEYS) else {
        return Vec::new();
    };
    let mut missing = FILE_KEYS.to_vec();
    let mut cases = Vec::new();
    for (key, node) in entries {
        missing.retain(|name| *name != key.text);
        match (key.text.as_str(), node.value) {
            ("version", value) => reader.version(&Node { value, at: node.at }),
            (_, Value::List(items)) => {
                cases = items.into_iter().filter_map(|item| case(reader, item)).collect();
            }
            (_, other) => reader.expected(node.at, "`cases`", "a list", &other),
        }
    }
    for name in missing {
        let hint = "a file of cases has `version: \"1\"` and a list of `cases`".to_owned();
        reader.report(at, format!("the file has no `{name}`"), Some(hint));
    }
    cases
}

fn case(reader: &mut Reader<'_>, node: Node) -> Option<Case> {
    let at = node.at;
    let entries = reader.entries(node, "a case", &CASE_KEYS)?;
    let mut missing = vec!["name", "facts", "expect"];
    let (mut name, mut facts, mut expect) = (None, None, None);
    let (mut rule, mut reason_contains) = (None, None);
    for (key, node) in entries {
        missing.retain(|name| *name != key.text);
        match key.text.as_str() {
            "name" => name = text(reader, &key, node),
            "facts" => facts = read_facts(reader, &node),
            "expect" => expect = reader.action(&key, node),
            "rule" => rule = text(reader, &key, node),
            _ => reason_contains = text(reader, &key, node),
        }
    }
    for name in missing {
        reader.report(at, format!("the case has no `{name}`"), None);
    }
    let (name, facts, expect) = (name?, facts?, expect?);
    Some(Case { name, line: at.place.line, facts, expect, rule, reason_contains })
}

/// An empty text would pass for anything, and a name is printed on a line of its own.
fn text(reader: &mut Reader<'_>, key: &Key, node: Node) -> Option<String> {
    let Text { value, at } = reader.string(key, node)?;
    if value.is_empty() || value.chars().any(char::is_control) {
        let message = format!("`{}` must be one line of text that is not empty", key.text);
        reader.report(at, message, None);
        return None;
    }
    Some(value)
}

/// Reads one question: a mapping of facts, as in an example.
///
/// # Errors
/// What is wrong with it.
pub fn read_question(file: &SourceFile) -> Result<Facts, LoadErrors> {
    let root = read(&file.name, &file.text).map_err(|one| LoadErrors::new(vec![one]))?;
    let mut reader = Reader::new(&file.name, &file.text);
    let facts = read_facts(&mut reader, &root);
    let facts = reader.finish(facts).map_err(LoadErrors::new)?;
    Ok(facts.unwrap_or_default())
}

fn read_facts(reader: &mut Reader<'_>, node: &Node) -> Option<Facts> {
    let mistake = match facts_of(node) {
        Ok(facts) => return Some(facts),
        Err(mistake) => mistake,
    };
    reader.report(mistake.at, mistake.message, mistake.hint);
    None
}

/// How one example of a rule went.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleResult {
    /// The rule it belongs to.
    pub rule: Arc<RuleRef>,
    /// The line on which it starts.
    pub line: u32,
    /// Whether the rule is to match it.
    pub wanted: bool,
    /// Whether the rule matches it.
    pub matched: bool,
    /// What the whole set says to it: another rule may come first.
    pub decision: Decision,
}

/// Runs the examples of every rule. Loading has refused those that fail; here they are shown.
#[must_use]
pub fn run_examples(files: &[SourceFile], engine: &Engine) -> Vec<ExampleResult> {
    let rules: HashMap<&str, _> =
        engine.rules().iter().map(|rule| (rule.id.as_str(), rule)).collect();
    let mut results = Vec::new();
    for raw in files.iter().filter_map(|file| read_file(&file.name, &file.text).ok()) {
        for raw in raw.rules {
            let Some(rule) = rules.get(raw.id.value.as_str()) else { continue };
            let matches = raw.matches.iter().map(|node| (node, true));
            for (node, wanted) in matches.chain(raw.no_match.iter().map(|node| (node, false))) {
                let Ok(facts) = facts_of(node) else { continue };
                results.push(ExampleResult {
                    rule: Arc::clone(&rule.reference),
                    line: node.at.place.line,
                    wanted,
                    matched: holds(&rule.matcher, &facts).unwrap_or(false),
                    decision: engine.decide(&facts),
                });
            }
        }
    }
    results
}

#[cfg(test)]
#[path = "tests/suite.rs"]
mod tests;
