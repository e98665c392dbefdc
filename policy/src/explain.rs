//! A decision as sentences, the same wherever it is shown.

use std::fmt::Write as _;

use crate::{Decision, Facts, NearMiss, Verdict};

/// Says what was decided, by which rule, and why. Text that came from the agent is escaped, since
/// it may be shown on a terminal.
#[must_use]
pub fn explain(facts: &Facts, decision: &Decision) -> String {
    let verb = decision.verdict.participle();
    let target = facts.target.escape_debug();
    let mut text = format!("{} to {target} is {verb}", facts.action_type);
    match &decision.rule {
        Some(rule) => {
            let reason = rule.reason.escape_debug();
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

/// Says which rule almost matched, and what was missing.
#[must_use]
pub fn explain_near_miss(miss: &NearMiss) -> String {
    let verb = match miss.action {
        Verdict::Allow => "have allowed it",
        Verdict::Block => "have blocked it",
        Verdict::Ask => "have asked an operator",
    };
    let (rule, test) = (&miss.rule, miss.test.escape_debug());
    // A test is quoted as it is written, and quotes need no escape there.
    let test = test.to_string().replace("\\'", "'").replace("\\\"", "\"");
    format!("rule {} ({}:{}) would {verb}, had `{test}` held", rule.id, rule.file, rule.line)
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
