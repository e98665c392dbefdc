//! `rules explain`: a rule, or a decision, in sentences.

use std::fmt::Write as _;

use policy::{Rule, Verdict, outlines};

use super::eval::near_misses;
use super::screen::{counted, lines, one_line};
use super::{Fault, Loaded, Outcome, question};
use crate::cli::arguments::rules::ExplainArguments;

/// How many of the rules before one are named.
const NAMED: usize = 12;

pub(super) fn explain(arguments: &ExplainArguments) -> Result<Outcome, Fault> {
    let text = match (arguments.action, &arguments.target, &arguments.id) {
        (Some(action), Some(target), _) => {
            let facts = question::facts(action, target, &arguments.details)?;
            decision(&Loaded::from(&arguments.source.rules)?, &facts)?
        }
        (_, _, Some(id)) => rule(&Loaded::from(&arguments.source.rules)?, id)?,
        _ => return Err(Fault::Usage("give an ID, or --action and --target".to_owned())),
    };
    Ok(Outcome { text, code: 0 })
}

fn decision(loaded: &Loaded, facts: &policy::Facts) -> Result<String, Fault> {
    let decision = loaded.engine.decide(facts);
    let explained = lines(&policy::explain(facts, &decision));
    let mut text = format!("{}.\n\n", explained.trim_end_matches('.'));
    match &decision.rule {
        Some(reference) => text += &rule(loaded, &reference.id)?,
        None => {
            let count = counted(loaded.engine.rules().len(), "rule");
            // Writing into a string cannot fail.
            let _ = writeln!(text, "None of {count} matches, and what no rule allows is blocked.");
        }
    }
    Ok(text + "\n" + &near_misses(&loaded.engine.near_misses(facts)))
}

fn rule(loaded: &Loaded, id: &str) -> Result<String, Fault> {
    let (before, rule) = loaded.rule(id)?;
    let mut text = headline(rule) + "\n\nIt matches when\n" + &indented(&rule.condition);
    let outlines = outlines(&loaded.files);
    let outline = outlines.iter().find(|outline| outline.id == rule.id);
    for (index, (name, definition)) in
        outline.iter().flat_map(|outline| &outline.definitions).enumerate()
    {
        let word = if index == 0 { "where" } else { "and" };
        text += &format!("{word} ${name} is\n{}", indented(definition));
    }
    text += &format!("\n{}\n", order(loaded.engine.rules(), before, rule));
    if !rule.reason.is_empty() {
        text += &format!("When it decides, it says: {}\n", one_line(&rule.reason));
    }
    Ok(text)
}

fn headline(rule: &Rule) -> String {
    let does = match rule.action {
        Verdict::Allow => "allows what it matches",
        Verdict::Block => "blocks what it matches",
        Verdict::Ask => "holds what it matches for an operator",
    };
    let what = match rule.description.trim_end_matches('.') {
        "" => String::new(),
        description => format!(": {description}"),
    };
    one_line(&format!("Rule {} ({}:{}) {does}{what}", rule.id, rule.file, rule.line)) + "."
}

/// Where it stands among all rules, and who can decide before it.
fn order(rules: &[Rule], before: usize, rule: &Rule) -> String {
    let place = format!("Its priority is {}: it is asked", rule.priority);
    if before == 0 {
        return format!("{place} first, so no rule can decide before it.");
    }
    let earlier = rules.get(..before).unwrap_or_default();
    let named: Vec<String> = earlier
        .iter()
        .rev()
        .take(NAMED)
        .map(|rule| format!("  {} ({})", one_line(&rule.id), rule.action))
        .collect();
    let more = match before.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("\n  and {more} more; to see all: outcallctl rules list"),
    };
    format!(
        "{place} as number {} of {}. These come before it, the nearest first, and the first that \
         matches decides:\n{}{more}",
        before + 1,
        rules.len(),
        named.join("\n")
    )
}

fn indented(text: &str) -> String {
    lines(text).lines().map(|line| format!("    {line}\n")).collect()
}
