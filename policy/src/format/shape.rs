//! What a value is within a rule file, and so how it is laid out.

/// The role of a value in a rule file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    File,
    Definitions,
    Rules,
    Rule,
    Condition,
    Action,
    Examples,
    /// The examples that match, or those that do not.
    Cases,
    /// Everything else: an example and what is in it, and keys that are not known.
    Value,
}

const FILE: [&str; 3] = ["version", "definitions", "rules"];
const RULE: [&str; 8] =
    ["id", "condition", "action", "priority", "description", "reason", "log", "examples"];
const EXAMPLES: [&str; 2] = ["match", "no_match"];

impl Shape {
    /// The role of what stands under a key, or of an item of a list.
    pub(super) fn child(self, key: Option<&str>) -> Self {
        match (self, key) {
            (Self::File, Some("definitions")) => Self::Definitions,
            (Self::File, Some("rules")) => Self::Rules,
            (Self::Rules, None) => Self::Rule,
            (Self::Definitions, Some(_)) | (Self::Rule, Some("condition")) => Self::Condition,
            (Self::Rule, Some("action")) => Self::Action,
            (Self::Rule, Some("examples")) => Self::Examples,
            (Self::Examples, Some("match" | "no_match")) => Self::Cases,
            _ => Self::Value,
        }
    }

    /// Where a key comes among its neighbours; keys that are not known come last.
    pub(super) fn rank(self, key: Option<&str>) -> usize {
        let order: &[&str] = match self {
            Self::File => &FILE,
            Self::Rule => &RULE,
            Self::Examples => &EXAMPLES,
            _ => &[],
        };
        let known = key.and_then(|key| order.iter().position(|name| *name == key));
        known.unwrap_or(order.len())
    }

    /// Whether a collection may stand on one line, in braces or brackets.
    pub(super) fn may_be_inline(self) -> bool {
        matches!(self, Self::Value | Self::Condition | Self::Action)
    }

    /// Whether a blank line stands between its entries.
    pub(super) fn is_spaced(self) -> bool {
        matches!(self, Self::File | Self::Rules)
    }

    /// Whether the author's blank lines between entries and comments stay, one at a time.
    pub(super) fn keeps_gaps(self) -> bool {
        self.is_spaced() || self == Self::Definitions
    }
}
