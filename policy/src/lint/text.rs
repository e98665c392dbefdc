//! Warnings that are seen in the text of a file.

use std::collections::BTreeSet;

use super::{Text, warning};
use crate::SourceFile;
use crate::error::Diagnostic;
use crate::parse::{Expr, Kind, parse};
use crate::source::RawFile;
use crate::yaml::place_within;

/// Facts that hold a path.
const PATHS: [&str; 8] = [
    "target",
    "file.path",
    "file.requested",
    "exec.path",
    "exec.cwd",
    "exec.interpreter",
    "run.cwd",
    "process.exe",
];

/// Definitions that no rule of the file uses, nor a definition that one uses.
pub(super) fn unused_definitions(file: &SourceFile, raw: &RawFile) -> Vec<Diagnostic> {
    let mut used = BTreeSet::new();
    let mut open: Vec<&str> = raw.rules.iter().map(|rule| rule.condition.value.as_str()).collect();
    while let Some(text) = open.pop() {
        let Ok(expr) = parse(text) else { continue };
        visit(&expr, &mut |expr| {
            if let Kind::Definition(name) = &expr.kind
                && used.insert(name.clone())
            {
                let found = raw.definitions.iter().find(|(known, _)| known == name);
                open.extend(found.map(|(_, text)| text.value.as_str()));
            }
        });
    }
    let unused = raw.definitions.iter().filter(|(name, _)| !used.contains(name));
    unused
        .map(|(name, text)| {
            let message = format!("the definition `{name}` is used by no rule of this file");
            let hint = format!("remove it, or use it as `${name}`");
            warning(file, text.at.place, message, &hint)
        })
        .collect()
}

/// `startsWith('/dir')` on a path, which also matches `/dir-other`.
pub(super) fn wide_prefixes(file: &SourceFile, raw: &RawFile) -> Vec<Diagnostic> {
    let conditions = raw.rules.iter().map(|rule| &rule.condition);
    let texts = conditions.chain(raw.definitions.iter().map(|(_, text)| text));
    texts.flat_map(|text| wide_prefixes_in(file, text)).collect()
}

fn wide_prefixes_in(file: &SourceFile, text: &Text) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let Ok(expr) = parse(&text.value) else { return warnings };
    visit(&expr, &mut |expr| {
        let Kind::Call(Some(receiver), method, arguments) = &expr.kind else { return };
        let [Expr { kind: Kind::Str(prefix), .. }] = arguments.as_slice() else { return };
        let subject = text.value.get(receiver.span.start..receiver.span.end).unwrap_or_default();
        let is_wide = prefix.len() > 1 && prefix.starts_with('/') && !prefix.ends_with('/');
        if method.text != "startsWith" || !is_wide || !PATHS.contains(&subject) {
            return;
        }
        let shown = prefix.escape_debug();
        let message = format!("this also matches `{shown}-other`, not only what lies in `{shown}`");
        let hint = format!("write `under({subject}, '{shown}')`");
        let place = place_within(&file.text, text.at, &text.value, expr.span.start);
        warnings.push(warning(file, place, message, &hint));
    });
    warnings
}

/// Shows every expression of a tree.
fn visit<'e>(expr: &'e Expr, seen: &mut impl FnMut(&'e Expr)) {
    seen(expr);
    match &expr.kind {
        Kind::Null
        | Kind::Bool(_)
        | Kind::Int(_)
        | Kind::Uint(_)
        | Kind::Double(_)
        | Kind::Str(_)
        | Kind::Bytes(_)
        | Kind::Name(_)
        | Kind::Definition(_) => {}
        Kind::Field(inner, _) | Kind::Not(inner) => visit(inner, seen),
        Kind::List(items) | Kind::And(items) | Kind::Or(items) | Kind::Join(items) => {
            items.iter().for_each(|item| visit(item, seen));
        }
        Kind::Map(entries) => entries.iter().flatten().for_each(|item| visit(item, seen)),
        Kind::Index(pair) | Kind::Binary(_, pair) => {
            pair.iter().for_each(|item| visit(item, seen));
        }
        Kind::Choice(three) => three.iter().for_each(|item| visit(item, seen)),
        Kind::Call(receiver, _, arguments) => {
            receiver.iter().for_each(|item| visit(item, seen));
            arguments.iter().for_each(|item| visit(item, seen));
        }
    }
}
