//! What the engine answers.

use std::sync::Arc;

/// The answer to one question, and who decided it.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is to happen.
    pub verdict: Verdict,
    /// The rule that decided, or none when nothing matched.
    pub rule: Option<Arc<RuleRef>>,
    /// A sentence for the agent and the operator.
    pub reason: String,
    /// What went wrong while rules were evaluated, each with its rule.
    pub errors: Vec<String>,
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
}
