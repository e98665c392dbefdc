//! What the engine answers.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Facts;

/// The answer to one question, and who decided it.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is to happen.
    pub verdict: Verdict,
    /// The rule that decided, or none when nothing matched.
    pub rule: Option<Arc<RuleRef>>,
    /// What went wrong while rules were evaluated, each with its rule.
    pub errors: Vec<String>,
}

impl Decision {
    /// A sentence for the agent and the operator. It is made when somebody wants to read it:
    /// deciding itself allocates nothing.
    #[must_use]
    pub fn reason(&self, facts: &Facts) -> Cow<'_, str> {
        match &self.rule {
            Some(rule) => Cow::Borrowed(&rule.reason),
            None => Cow::Owned(format!("no rule allows {} to {}", facts.action_type, facts.target)),
        }
    }

    /// Whether the decision is announced as it happens.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        self.rule.as_ref().is_none_or(|rule| rule.log)
    }
}

/// What is to happen with an action. There is no default on purpose: a verdict is always decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The action may happen.
    Allow,
    /// The action is refused.
    Block,
    /// An operator is asked.
    Ask,
}

impl Verdict {
    /// The word in a sentence about something that was decided so.
    #[must_use]
    pub const fn participle(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Block => "blocked",
            Self::Ask => "held for an operator",
        }
    }

    /// The name that rules and records use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Block => "block",
            Self::Ask => "ask",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a deciding rule is written. Decisions share it by `Arc`, so naming a rule copies nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuleRef {
    /// The rule's id.
    pub id: String,
    /// The file that holds it.
    pub file: String,
    /// The line on which it starts.
    pub line: u32,
    /// What the rule is for.
    pub description: String,
    /// The sentence that goes with its decisions.
    pub reason: String,
    /// Whether its refusals are announced as they happen.
    pub log: bool,
}
