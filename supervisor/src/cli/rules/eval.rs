//! `rules eval`.

use std::fmt::Write as _;

use policy::{Decision, Facts, NearMiss, Verdict};
use serde_json::json;

use super::screen::{Paint, lines};
use super::{DENIED, Fault, Loaded, Outcome, question};
use crate::cli::arguments::rules::EvalArguments;

pub(super) fn eval(arguments: &EvalArguments, paint: Paint) -> Result<Outcome, Fault> {
    let facts = question::facts(arguments.action, &arguments.target, &arguments.details)?;
    let engine = Loaded::from(&arguments.source.rules)?.engine;
    let decision = engine.decide(&facts);
    let misses = arguments.near_misses.then(|| engine.near_misses(&facts));
    let text = if arguments.json {
        document(&facts, &decision, misses.as_deref())
    } else {
        let explained = lines(&policy::explain(&facts, &decision));
        let misses = misses.as_deref().map(near_misses).unwrap_or_default();
        format!("{}\n{misses}", paint.verdict(decision.verdict, &explained))
    };
    let code = if decision.verdict == Verdict::Allow { 0 } else { DENIED };
    Ok(Outcome { text, code })
}

/// Rules that would have matched but for one test, as lines.
pub(super) fn near_misses(misses: &[NearMiss]) -> String {
    if misses.is_empty() {
        return "no other rule failed by one test alone\n".to_owned();
    }
    let mut text = "rules that failed by one test alone:\n".to_owned();
    for miss in misses {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "  {}", super::screen::one_line(&policy::explain_near_miss(miss)));
    }
    text
}

fn document(facts: &Facts, decision: &Decision, misses: Option<&[NearMiss]>) -> String {
    let place =
        |rule: &policy::RuleRef| json!({"id": rule.id, "file": rule.file, "line": rule.line});
    let mut answer = json!({
        "action_type": facts.action_type.as_str(),
        "target": facts.target,
        "verdict": decision.verdict.as_str(),
        "rule": decision.rule.as_deref().map(place),
        "reason": decision.reason(facts),
        "errors": decision.errors,
    });
    if let Some(misses) = misses {
        let each = misses.iter().map(|miss| {
            json!({"rule": place(&miss.rule), "action": miss.action.as_str(), "test": miss.test})
        });
        answer["near_misses"] = each.collect();
    }
    format!("{answer}\n")
}
