//! A decision as sentences, the same wherever it is shown.

use std::fmt::Write as _;

use crate::{Decision, Facts, Verdict};

/// Says what was decided, by which rule, and why. Text that came from the agent is escaped, since
/// it may be shown on a terminal.
#[must_use]
pub fn explain(facts: &Facts, decision: &Decision) -> String {
    let verb = match decision.verdict {
        Verdict::Allow => "allowed",
        Verdict::Block => "blocked",
        Verdict::Ask => "held for an operator",
    };
    let target = facts.target.escape_debug();
    let mut text = format!("{} to {target} is {verb}", facts.action_type);
    match &decision.rule {
        Some(rule) => {
            let reason = decision.reason.escape_debug();
            // Writing into a string cannot fail.
            let _ = write!(text, " by rule {} ({}:{}): {reason}", rule.id, rule.file, rule.line);
        }
        None => text.push_str(": no rule allows it"),
    }
    for error in &decision.errors {
        let _ = write!(text, "\nwhile deciding: {}", error.escape_debug());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;

    #[test]
    fn sentences() {
        let facts = Facts { target: "/x\u{1b}[2J".into(), ..Facts::default() };
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
