//! What loads and is still not what its author meant: rules that never match, allows that always
//! do, tests that match more than they seem to.

mod logic;
mod text;

use std::collections::HashMap;

use crate::compile::Bool;
use crate::decide::Rule;
use crate::error::{Diagnostic, Place};
use crate::source::{RawFile, RawRule, Text, read_file};
use crate::{ActionType, Engine, Facts, SourceFile, Verdict};
use logic::{Meaning, cannot_fail};

/// What is asked about a protected directory.
const OPERATIONS: [&str; 7] = ["read", "write", "create", "delete", "rename", "link", "metadata"];

/// Warnings about a set that loads, in file order. `protected` are directories of Outcall itself:
/// its rules, logs and sockets.
#[must_use]
pub fn lint(files: &[SourceFile], engine: &Engine, protected: &[String]) -> Vec<Diagnostic> {
    let read: Vec<(&SourceFile, RawFile)> = files
        .iter()
        .filter_map(|file| Some((file, read_file(&file.name, &file.text).ok()?)))
        .collect();
    let mut warnings = Vec::new();
    let mut written = HashMap::new();
    for (file, raw) in &read {
        warnings.extend(text::unused_definitions(file, raw));
        warnings.extend(text::wide_prefixes(file, raw));
        written.extend(raw.rules.iter().map(|rule| (rule.id.value.as_str(), (*file, rule))));
    }
    let desk = Desk { engine, written };
    warnings.extend(desk.conditions());
    warnings.extend(desk.reach(protected));
    warnings.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    warnings
}

/// A loaded set beside the text that it was read from.
struct Desk<'a> {
    engine: &'a Engine,
    written: HashMap<&'a str, (&'a SourceFile, &'a RawRule)>,
}

impl Desk<'_> {
    /// Conditions that never hold, always hold, or are covered by an earlier rule.
    fn conditions(&self) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        let mut earlier: Vec<(&Rule, Meaning<'_>)> = Vec::new();
        for rule in self.engine.rules() {
            let Some(meaning) = Meaning::of(&rule.matcher) else { continue };
            if meaning.is_never() {
                let hint = "the tests exclude each other: remove the rule, or one of them";
                warnings.extend(self.at(rule, "this condition is never true".to_owned(), hint));
                continue;
            }
            // Where both fail, an allow is passed over and a block decides.
            let decides_by_failing = rule.action != Verdict::Allow && !cannot_fail(&rule.matcher);
            let cover = earlier.iter().find(|(other, covering)| {
                let passed_over = decides_by_failing && other.action == Verdict::Allow;
                !passed_over && meaning.implies(covering)
            });
            if let Some((cover, _)) = cover {
                warnings.extend(self.shadowed(rule, cover));
            } else if meaning.is_always() && rule.action == Verdict::Allow {
                let message = format!("rule `{}` allows everything that comes to it", rule.id);
                let hint = "say what it is for, as in `action_type == 'file_access' && …`";
                warnings.extend(self.at(rule, message, hint));
            }
            earlier.push((rule, meaning));
        }
        warnings
    }

    fn shadowed(&self, rule: &Rule, cover: &Rule) -> Option<Diagnostic> {
        let message = format!(
            "rule `{}` can never match: rule `{}` ({}:{}) comes first and covers it",
            rule.id, cover.id, cover.file, cover.line
        );
        let hint = if rule.action == cover.action {
            "both say the same: remove this one".to_owned()
        } else {
            let before = cover.priority.saturating_sub(1);
            format!("to have it decide, give it `priority: {before}`, or narrow `{}`", cover.id)
        };
        self.at(rule, message, &hint)
    }

    /// Allows that reach Outcall's own directories.
    fn reach(&self, protected: &[String]) -> Vec<Diagnostic> {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        let mut named: Vec<String> = Vec::new();
        for directory in protected {
            for target in [directory.clone(), format!("{directory}/x")] {
                for operation in OPERATIONS {
                    let mut facts = Facts { target: target.clone(), ..Facts::default() };
                    facts.action_type = ActionType::FileAccess;
                    facts.file.path.clone_from(&target);
                    operation.clone_into(&mut facts.file.operation);
                    let decision = self.engine.decide(&facts);
                    let (Verdict::Allow, Some(rule)) = (decision.verdict, decision.rule) else {
                        continue;
                    };
                    if named.contains(&rule.id) {
                        continue;
                    }
                    named.push(rule.id.clone());
                    let message = format!(
                        "rule `{}` allows to {operation} {target}, which belongs to Outcall itself",
                        rule.id
                    );
                    let hint = format!("add `&& !under(target, '{directory}')`");
                    let rule = self.engine.rules().iter().find(|known| known.id == rule.id);
                    warnings.extend(rule.and_then(|rule| self.at(rule, message, &hint)));
                }
            }
        }
        warnings
    }

    /// A warning at the condition of a rule.
    fn at(&self, rule: &Rule, message: String, hint: &str) -> Option<Diagnostic> {
        let (file, raw) = self.written.get(rule.id.as_str())?;
        Some(warning(file, raw.condition.at.place, message, hint))
    }
}

fn warning(file: &SourceFile, place: Place, message: String, hint: &str) -> Diagnostic {
    Diagnostic::new(&file.name, &file.text, place, message).with_hint(Some(hint.to_owned()))
}

/// The condition itself, where a definition stands for it.
fn bare(node: &Bool) -> &Bool {
    match node {
        Bool::Shared(inner) => bare(inner),
        node => node,
    }
}

#[cfg(test)]
#[path = "tests/lint.rs"]
mod tests;
