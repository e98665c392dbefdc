//! `rules list` and `rules show`.

use std::collections::HashMap;
use std::fmt::Write as _;

use policy::{Outline, Rule, outlines};
use serde_json::{Value, json};

use super::screen::{Paint, lines, one_line};
use super::{Fault, Loaded, Outcome};
use crate::cli::arguments::rules::{ListArguments, ShowArguments};

pub(super) fn list(arguments: &ListArguments, paint: Paint) -> Result<Outcome, Fault> {
    let loaded = Loaded::from(&arguments.source.rules)?;
    let text = if arguments.json {
        let outlines = outlines(&loaded.files);
        let by_id: HashMap<&str, &Outline> =
            outlines.iter().map(|outline| (outline.id.as_str(), outline)).collect();
        let rules = loaded.engine.rules().iter().enumerate();
        rules
            .map(|(before, rule)| document(before, rule, by_id.get(rule.id.as_str()).copied()))
            .map(|line| format!("{line}\n"))
            .collect()
    } else {
        table(loaded.engine.rules(), paint)
    };
    Ok(Outcome { text, code: 0 })
}

fn table(rules: &[Rule], paint: Paint) -> String {
    let head = ["ID", "ACTION", "PRIORITY", "PLACE", "DESCRIPTION"].map(str::to_owned);
    let rows: Vec<[String; 5]> = rules
        .iter()
        .map(|rule| {
            [
                one_line(&rule.id),
                rule.action.to_string(),
                rule.priority.to_string(),
                one_line(&format!("{}:{}", rule.file, rule.line)),
                one_line(&rule.description),
            ]
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |row: &[String; 5], action: String| {
        let [id, _, priority, place, description] = row;
        let text = format!(
            "{id:<0$}  {action}  {priority:>1$}  {place:<2$}  {description}",
            widths[0], widths[2], widths[3]
        );
        text.trim_end().to_owned() + "\n"
    };
    let mut text = line(&head, format!("{:<1$}", head[1], widths[1]));
    for (row, rule) in rows.iter().zip(rules) {
        let padded = format!("{:<1$}", row[1], widths[1]);
        text += &line(row, paint.verdict(rule.action, &padded));
    }
    text
}

pub(super) fn show(arguments: &ShowArguments) -> Result<Outcome, Fault> {
    let loaded = Loaded::from(&arguments.source.rules)?;
    let (before, rule) = loaded.rule(&arguments.id)?;
    let outlines = outlines(&loaded.files);
    let outline = outlines.iter().find(|outline| outline.id == rule.id);
    let text = if arguments.json {
        format!("{}\n", document(before, rule, outline))
    } else {
        sheet(before, rule, outline, loaded.engine.rules().len())
    };
    Ok(Outcome { text, code: 0 })
}

fn document(before: usize, rule: &Rule, outline: Option<&Outline>) -> Value {
    let definitions: serde_json::Map<String, Value> = outline
        .iter()
        .flat_map(|outline| &outline.definitions)
        .map(|(name, text)| (name.clone(), text.as_str().into()))
        .collect();
    json!({
        "position": before + 1, "id": rule.id, "action": rule.action.as_str(),
        "priority": rule.priority, "file": rule.file, "line": rule.line,
        "description": rule.description, "reason": rule.reason, "condition": rule.condition,
        "definitions": definitions,
        "examples": {
            "match": outline.map_or(0, |outline| outline.matches),
            "no_match": outline.map_or(0, |outline| outline.no_match),
        },
    })
}

fn sheet(before: usize, rule: &Rule, outline: Option<&Outline>, count: usize) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        // The lines after the first stand below it.
        let value = lines(value.trim_end()).replace('\n', "\n             ");
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{}", format!("{name:<12} {value}").trim_end());
    };
    row("id", &rule.id);
    row("action", rule.action.as_str());
    row("priority", &rule.priority.to_string());
    row("position", &format!("{} of {count}", before + 1));
    row("place", &format!("{}:{}", rule.file, rule.line));
    row("description", &rule.description);
    row("reason", &rule.reason);
    row("condition", &rule.condition);
    for (name, definition) in outline.iter().flat_map(|outline| &outline.definitions) {
        row("definition", &format!("${name}: {}", definition.trim_end()));
    }
    let (matches, no_match) = outline.map_or((0, 0), |outline| (outline.matches, outline.no_match));
    row("examples", &format!("{matches} to match, {no_match} not to match"));
    text
}
