//! Rule files to an engine: limits, conditions, examples, order.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::check::{Checker, DefinitionText, Failure};
use crate::compile::Bool;
use crate::decide::Rule;
use crate::error::{Diagnostic, LoadErrors, Place, Problem};
use crate::examples::check_examples;
use crate::pattern::Patterns;
use crate::source::{RawFile, RawRule, Text, read_file};
use crate::yaml::place_within;
use crate::{Engine, RuleRef};

/// How many files a rule set may have.
pub const MAX_FILES: usize = 1_024;
/// How large one file may be.
pub const MAX_FILE_BYTES: usize = 1 << 20;
/// How large all files together may be.
pub const MAX_TOTAL_BYTES: usize = 16 << 20;
/// How many mistakes of one file are told.
pub(crate) const MAX_DIAGNOSTICS: usize = 100;
/// How many rules a set may have.
pub const MAX_RULES: usize = 10_000;

/// A rule file's name and text. Whoever loads rules reads the file; the engine never does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The name that diagnostics and decisions use, and that orders rules of equal priority.
    pub name: String,
    /// The YAML text.
    pub text: String,
}

impl Engine {
    /// Loads a whole rule set, or says everything that is wrong with it.
    ///
    /// # Errors
    /// Any mistake in any file refuses the whole set: half a policy is not a policy.
    pub fn load(files: &[SourceFile]) -> Result<Engine, LoadErrors> {
        let mut files: Vec<&SourceFile> = files.iter().collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let mut diagnostics = limits(&files);
        let mut rules = Vec::new();
        let mut definitions = BTreeMap::new();
        let mut patterns = Patterns::default();
        if diagnostics.is_empty() {
            for file in &files {
                match load_file(file, &mut patterns) {
                    Ok((loaded, texts)) => {
                        rules.extend(loaded);
                        definitions.insert(file.name.clone(), texts);
                    }
                    Err(found) => diagnostics.extend(found),
                }
            }
            diagnostics.extend(duplicates(&files, &rules));
        }
        if let Some(surplus) = rules.get(MAX_RULES) {
            let message = format!("the set has {} rules, the limit is {MAX_RULES}", rules.len());
            diagnostics.push(at_rule(&files, surplus, message));
        }
        if !diagnostics.is_empty() {
            return Err(LoadErrors::new(diagnostics));
        }
        // The sort is stable, so that file name and then position decide between equals.
        rules.sort_by_key(|rule| rule.priority);
        Ok(Engine::new(rules, digest(&files), definitions))
    }
}

fn limits(files: &[&SourceFile]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut refuse = |file: &SourceFile, message: String| {
        diagnostics.push(Diagnostic::new(&file.name, "", Place::START, message));
    };
    if let Some(surplus) = files.get(MAX_FILES) {
        refuse(surplus, format!("the set has {} files, the limit is {MAX_FILES}", files.len()));
    }
    let mut total = 0usize;
    for (index, file) in files.iter().enumerate() {
        let size = file.text.len();
        if size > MAX_FILE_BYTES {
            refuse(file, format!("the file has {size} bytes, the limit is {MAX_FILE_BYTES}"));
        }
        if total <= MAX_TOTAL_BYTES && total + size > MAX_TOTAL_BYTES {
            refuse(file, format!("with this file the set passes {MAX_TOTAL_BYTES} bytes"));
        }
        total += size;
        if index > 0 && files[index - 1].name == file.name {
            refuse(file, "two files of the set have this name".to_owned());
        }
    }
    diagnostics
}

type LoadedFile = (Vec<Rule>, Vec<DefinitionText>);

fn load_file(file: &SourceFile, patterns: &mut Patterns) -> Result<LoadedFile, Vec<Diagnostic>> {
    let RawFile { definitions, rules: raw_rules } =
        read_file(&file.name, &file.text).map_err(|found| at_most(file, found))?;
    let texts: Vec<DefinitionText> = definitions
        .iter()
        .map(|(name, text)| DefinitionText { name: name.clone(), text: text.value.clone() })
        .collect();
    let mut checker = Checker::within(texts.clone(), std::mem::take(patterns));
    let mut diagnostics = Vec::new();
    let mut rules = Vec::new();
    for raw in raw_rules {
        if diagnostics.len() > MAX_DIAGNOSTICS {
            break;
        }
        match checker.condition(&raw.condition.value) {
            Ok(condition) => {
                diagnostics.extend(check_examples(file, &raw, &condition));
                rules.push(rule(file, raw, condition));
            }
            Err(Failure::Here(problem)) => {
                diagnostics.push(locate(file, &raw.condition, problem));
            }
            Err(Failure::Reported) => {}
        }
    }
    let (problems, checked) = checker.finish();
    *patterns = checked;
    for (index, problem) in problems.into_iter().take(MAX_DIAGNOSTICS) {
        if let Some((_, text)) = definitions.get(index) {
            diagnostics.push(locate(file, text, problem));
        }
    }
    diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
    if diagnostics.is_empty() { Ok((rules, texts)) } else { Err(at_most(file, diagnostics)) }
}

/// Mistakes enough for one sitting. Each shows its line, so that without a bound a file full of
/// mistakes would take minutes to refuse.
fn at_most(file: &SourceFile, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if let Some(first) = diagnostics.get(MAX_DIAGNOSTICS) {
        let place = Place { line: first.line, column: first.column };
        let message = "there are more mistakes; these come first";
        let rest = Diagnostic::new(&file.name, "", place, message);
        diagnostics.truncate(MAX_DIAGNOSTICS);
        diagnostics.push(rest);
    }
    diagnostics
}

fn locate(file: &SourceFile, text: &Text, problem: Problem) -> Diagnostic {
    let place = place_within(&file.text, text.at, &text.value, problem.span.start);
    Diagnostic::new(&file.name, &file.text, place, problem.message).with_hint(problem.hint)
}

fn rule(file: &SourceFile, raw: RawRule, matcher: Bool) -> Rule {
    let reference = Arc::new(RuleRef {
        id: raw.id.value.clone(),
        file: file.name.clone(),
        line: raw.at.place.line,
        description: raw.description.clone(),
        reason: reason(&raw),
        log: raw.log,
    });
    Rule {
        id: raw.id.value,
        action: raw.action,
        priority: raw.priority,
        description: raw.description,
        reason: raw.reason,
        log: raw.log,
        file: file.name.clone(),
        line: raw.at.place.line,
        condition: raw.condition.value,
        matcher,
        reference,
    }
}

/// The sentence that goes with a rule's decisions.
fn reason(rule: &RawRule) -> String {
    match (rule.reason.as_str(), rule.description.as_str()) {
        ("", "") => format!("{} by rule {}", rule.action.participle(), rule.id.value),
        ("", description) => description.to_owned(),
        (reason, _) => reason.to_owned(),
    }
}

fn duplicates(files: &[&SourceFile], rules: &[Rule]) -> Vec<Diagnostic> {
    let mut seen: HashMap<&str, &Rule> = HashMap::new();
    let mut diagnostics = Vec::new();
    for rule in rules {
        match seen.get(rule.id.as_str()) {
            None => {
                seen.insert(&rule.id, rule);
            }
            Some(first) => {
                let message = format!("the id `{}` is already taken", rule.id);
                let hint = format!("it belongs to the rule at {}:{}", first.file, first.line);
                diagnostics.push(at_rule(files, rule, message).with_hint(Some(hint)));
            }
        }
    }
    diagnostics
}

fn at_rule(files: &[&SourceFile], rule: &Rule, message: String) -> Diagnostic {
    let text = files.iter().find(|file| file.name == rule.file).map_or("", |file| &file.text);
    let excerpt_place = Place { line: rule.line, column: 1 };
    Diagnostic::new(&rule.file, text, excerpt_place, message)
}

/// The digest of a set. Lengths go in as well, so that no two sets run together into one text.
pub(crate) fn digest(files: &[&SourceFile]) -> String {
    let mut hash = Sha256::new();
    for file in files {
        for part in [&file.name, &file.text] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part.as_bytes());
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "tests/load.rs"]
mod tests;
