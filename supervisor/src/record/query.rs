//! Which records somebody wants to see.

use serde_json::Value;

/// As many records as one answer holds.
pub(crate) const MAX_LIMIT: usize = 1000;

/// What a record must be like. Without any wish: every decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// Records after this one, oldest first; without it the latest ones.
    pub(crate) since_seq: Option<u64>,
    /// No record after this one.
    pub(crate) until_seq: Option<u64>,
    pub(crate) session: Option<String>,
    pub(crate) container: Option<String>,
    pub(crate) decision: Option<Wanted>,
    pub(crate) rule: Option<String>,
    pub(crate) syscall: Option<String>,
    /// Control records too.
    pub(crate) any_type: bool,
    /// How many records.
    pub(crate) limit: Option<usize>,
}

/// Which decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those with this word.
    Word(&'static str),
    /// Whatever was not allowed: block and ask.
    Denied,
}

impl Wanted {
    /// The words for it.
    pub(crate) const WORDS: [&str; 5] = ["allow", "block", "ask", "none", "denied"];

    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "denied" => Some(Self::Denied),
            _ => Self::WORDS.iter().find(|known| **known == word).copied().map(Self::Word),
        }
    }

    fn takes(self, decision: &str) -> bool {
        match self {
            Self::Word(word) => decision == word,
            Self::Denied => matches!(decision, "block" | "ask"),
        }
    }
}

impl Query {
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(100).min(MAX_LIMIT)
    }

    /// Whether a record is asked for.
    pub(crate) fn takes(&self, record: &Value) -> bool {
        let is = |key: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| record[key].as_str() == Some(wanted))
        };
        let decided = |wanted: Wanted| record["decision"].as_str().is_some_and(|d| wanted.takes(d));
        (self.any_type || record["type"] == "decision")
            && self.decision.is_none_or(decided)
            && is("session", &self.session)
            && is("container", &self.container)
            && is("rule", &self.rule)
            && is("syscall", &self.syscall)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_wish_must_be_met() {
        let record = json!({"type": "decision", "decision": "ask", "session": "s", "rule": "r"});
        let start = json!({"type": "start"});
        assert!(Query::default().takes(&record) && !Query::default().takes(&start));
        let any = Query { any_type: true, ..Query::default() };
        assert!(any.takes(&start));
        let denied = Query { decision: Wanted::parse("denied"), ..any.clone() };
        assert!(denied.takes(&record) && !denied.takes(&start));
        let other = Query { session: Some("t".to_owned()), ..denied };
        assert!(!other.takes(&record));
        assert_eq!(Wanted::parse("allow"), Some(Wanted::Word("allow")));
        assert_eq!(Wanted::parse("deny"), None);
    }
}
