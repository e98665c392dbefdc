//! A decision as sentences, the same wherever it is shown.

use std::fmt::Write as _;

use crate::{Decision, Facts, NearMiss, Verdict};

/// Says what was decided, by which rule, and why. Text that came from the agent is escaped, since
/// it may be shown on a terminal.
#[must_use]
pub fn explain(facts: &Facts, decision: &Decision) -> String {
    let verb = decision.verdict.participle();
    let target = shown(&facts.target);
    let mut text = format!("{} to {target} is {verb}", facts.action_type);
    match &decision.rule {
        Some(rule) => {
            let reason = shown(&rule.reason);
            // Writing into a string cannot fail.
            let _ = write!(text, " by rule {} ({}:{}): {reason}", rule.id, rule.file, rule.line);
        }
        None => text.push_str(": no rule allows it"),
    }
    for error in &decision.errors {
        let _ = write!(text, "\nwhile deciding: {}", shown(error));
    }
    text
}

/// Says which rule almost matched, and what was missing.
#[must_use]
pub fn explain_near_miss(miss: &NearMiss) -> String {
    let verb = match miss.action {
        Verdict::Allow => "have allowed it",
        Verdict::Block => "have blocked it",
        Verdict::Ask => "have asked an operator",
    };
    let (rule, test) = (&miss.rule, shown(&miss.test));
    format!("rule {} ({}:{}) would {verb}, had `{test}` held", rule.id, rule.file, rule.line)
}

/// Escaped as Rust does it, but for quotes: the text stands in a sentence and not in a literal.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\'' | '"' => shown.push(c),
            other => shown.extend(other.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;

    #[test]
    fn sentences() {
        let facts = Facts { target: "/x\u{1b}[2J".into(), ..Facts::default() };
        assert_eq!(shown("it's \"x\"\n"), "it's \"x\"\\n");
        let allowed = explain(&facts, &Engine::allow_all().decide(&facts));
        assert_eq!(
            allowed,
            "file_access to /x\\u{1b}[2J is allowed by rule allow-all (builtin:1): \
             Allows everything"
        );
        let nothing = Engine::load(&[]).unwrap();
        let blocked = explain(&facts, &nothing.decide(&facts));
        assert_eq!(blocked, "file_access to /x\\u{1b}[2J is blocked: no rule allows it");
    }
}
