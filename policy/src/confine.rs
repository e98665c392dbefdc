//! A rule file of somebody who is not trusted, rewritten so that it says less: its rules hold within
//! a scope, come after those of the operator, and have ids of their own.

use crate::compile::{Bool, Str};
use crate::error::{Diagnostic, LoadErrors, Place};
use crate::format::double_quoted;
use crate::parse::Operator;
use crate::source::{RawFile, RawRule, read_file};
use crate::vocabulary::fact;
use crate::{Engine, Rule, SourceFile};

/// What a file is confined to.
#[derive(Clone, Copy, Debug)]
pub struct Confinement<'a> {
    /// What every id begins with.
    pub prefix: &'a str,
    /// A fact by its name, and the one value of it under which the rules hold.
    pub scope: Option<(&'a str, &'a str)>,
    /// The priority before which none of the rules comes.
    pub floor: Option<i64>,
}

/// Rewrites a file. Its examples were checked against the rules as they were written, and are left
/// out: within a scope they would say nothing.
///
/// # Errors
/// A file that does not load, or that cannot be confined: what is returned was loaded again, and every
/// rule of it was found to keep to the confinement.
pub fn confine(file: &SourceFile, to: &Confinement<'_>) -> Result<SourceFile, LoadErrors> {
    let engine = Engine::load(std::slice::from_ref(file))?;
    let raw = read_file(&file.name, &file.text).map_err(LoadErrors::new)?;
    let text = written(&raw, to);
    let confined = SourceFile { name: file.name.clone(), text };
    let loaded = Engine::load(std::slice::from_ref(&confined))?;
    let is_whole = loaded.rules().len() == engine.rules().len();
    let stray = loaded.rules().iter().find(|rule| !keeps_to(rule, to));
    if is_whole && stray.is_none() {
        return Ok(confined);
    }
    let line = stray.map_or(1, |rule| rule.line);
    let place = Place { line, column: 1 };
    let message = "the rules of this file cannot be confined to whoever asks for them";
    Err(LoadErrors::new(vec![Diagnostic::new(&file.name, &confined.text, place, message)]))
}

fn written(raw: &RawFile, to: &Confinement<'_>) -> String {
    let mut text = String::from("version: \"1\"\n");
    if !raw.definitions.is_empty() {
        text.push_str("definitions:\n");
        for (name, definition) in &raw.definitions {
            text.push_str(&format!(
                "  {}: {}\n",
                double_quoted(name),
                double_quoted(&definition.value)
            ));
        }
    }
    text.push_str("rules:\n");
    for rule in &raw.rules {
        text.push_str(&written_rule(rule, to));
    }
    text
}

fn written_rule(rule: &RawRule, to: &Confinement<'_>) -> String {
    let condition = match to.scope {
        Some((name, value)) => {
            format!("{name} == {} && ({})", literal(value), rule.condition.value)
        }
        None => rule.condition.value.clone(),
    };
    let priority = rule.priority.max(to.floor.unwrap_or(i64::MIN));
    let mut text = format!(
        "  - id: {}\n    condition: {}\n    action: {}\n    priority: {priority}\n",
        double_quoted(&format!("{}{}", to.prefix, rule.id.value)),
        double_quoted(&condition),
        rule.action,
    );
    for (key, value) in [("description", &rule.description), ("reason", &rule.reason)] {
        if !value.is_empty() {
            text.push_str(&format!("    {key}: {}\n", double_quoted(value)));
        }
    }
    if !rule.log {
        text.push_str("    log: false\n");
    }
    text
}

/// A text as a condition names it.
fn literal(value: &str) -> String {
    let mut text = String::from("'");
    for c in value.chars() {
        match c {
            '\'' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('\'');
    text
}

fn keeps_to(rule: &Rule, to: &Confinement<'_>) -> bool {
    rule.id.starts_with(to.prefix)
        && to.floor.is_none_or(|floor| rule.priority >= floor)
        && to.scope.is_none_or(|(name, value)| is_within(&rule.matcher, name, value))
}

/// Whether a condition can hold only where the fact has that value.
fn is_within(condition: &Bool, name: &str, value: &str) -> bool {
    match condition {
        Bool::Shared(inner) => is_within(inner, name, value),
        Bool::And(items) => items.iter().any(|item| is_within(item, name, value)),
        Bool::CompareStr(Operator::Eq, Str::Fact(_, place), Str::Literal(text))
        | Bool::CompareStr(Operator::Eq, Str::Literal(text), Str::Fact(_, place)) => {
            fact(name).is_some_and(|fact| fact.place() == *place) && &**text == value
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "tests/confine.rs"]
mod tests;
