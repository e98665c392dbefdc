//! The decision: the first rule that matches.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::check::DefinitionText;
use crate::compile::Bool;
use crate::eval::holds;
use crate::index::Index;
use crate::load::digest;
use crate::source::DEFAULT_PRIORITY;
use crate::{Decision, Facts, RuleRef, SourceFile, Verdict};

/// A loaded rule set.
#[derive(Clone, Debug)]
pub struct Engine {
    rules: Vec<Rule>,
    pub(crate) index: Index,
    digest: String,
    /// The definitions of every file, for what looks at conditions anew.
    definitions: BTreeMap<String, Vec<DefinitionText>>,
}

/// One loaded rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The id, unique in the set.
    pub id: String,
    /// What happens when it matches.
    pub action: Verdict,
    /// Its place in the order; lower comes first.
    pub priority: i64,
    /// What it is for.
    pub description: String,
    /// What the agent and the operator are told when it decides; may be empty.
    pub reason: String,
    /// Whether its refusals are announced as they happen; on record they are in any case.
    pub log: bool,
    /// The file that holds it.
    pub file: String,
    /// The line on which it starts.
    pub line: u32,
    /// The condition as it is written.
    pub condition: String,
    pub(crate) matcher: Bool,
    pub(crate) reference: Arc<RuleRef>,
}

impl Rule {
    /// Whether two rules decide alike and say the same, wherever they are written.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Rule) -> bool {
        // The compiled condition too: the same text means something else under other definitions.
        let meaning = |rule: &Rule| format!("{:?}", rule.matcher);
        (self.id == other.id && self.action == other.action && self.priority == other.priority)
            && self.description == other.description
            && self.reason == other.reason
            && self.log == other.log
            && self.condition == other.condition
            && meaning(self) == meaning(other)
    }
}

impl Engine {
    pub(crate) fn new(
        rules: Vec<Rule>,
        digest: String,
        definitions: BTreeMap<String, Vec<DefinitionText>>,
    ) -> Self {
        Self { index: Index::new(&rules), rules, digest, definitions }
    }

    /// An engine with the one rule `allow-all`. It is meant for tests of what stands around the
    /// engine.
    #[must_use]
    pub fn allow_all() -> Engine {
        let reference = Arc::new(RuleRef {
            id: "allow-all".to_owned(),
            file: "builtin".to_owned(),
            line: 1,
            description: "Allows everything".to_owned(),
            reason: "Allows everything".to_owned(),
            log: true,
        });
        let rule = Rule {
            id: reference.id.clone(),
            action: Verdict::Allow,
            priority: DEFAULT_PRIORITY,
            description: reference.description.clone(),
            reason: String::new(),
            log: true,
            file: reference.file.clone(),
            line: reference.line,
            condition: "true".to_owned(),
            matcher: Bool::Literal(true),
            reference,
        };
        let file = SourceFile { name: rule.file.clone(), text: rule.condition.clone() };
        Self::new(vec![rule], digest(&[&file]), BTreeMap::new())
    }

    /// The rules in the order in which they are asked.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// SHA-256 over the names and texts of all files, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The definitions that stand in the same file as a rule.
    pub(crate) fn definitions_of(&self, rule: &Rule) -> &[DefinitionText] {
        self.definitions.get(&rule.file).map(Vec::as_slice).unwrap_or_default()
    }

    /// Answers one question. Nothing matched means block, and so does a rule that would have
    /// restricted but failed: what cannot be decided is not allowed.
    pub fn decide(&self, facts: &Facts) -> Decision {
        match self.index.candidates(facts) {
            Some(found) => first(found.filter_map(|at| self.rules.get(at)), facts),
            None => self.decide_linearly(facts),
        }
    }

    /// The same answer by asking every rule.
    pub(crate) fn decide_linearly(&self, facts: &Facts) -> Decision {
        first(self.rules.iter(), facts)
    }
}

/// The answer of the first rule that has one.
fn first<'r>(rules: impl Iterator<Item = &'r Rule>, facts: &Facts) -> Decision {
    let mut errors = Vec::new();
    for rule in rules {
        let verdict = match holds(&rule.matcher, facts) {
            Ok(false) => continue,
            Ok(true) => rule.action,
            Err(fault) => {
                errors.push(format!("rule {} ({}:{}): {fault}", rule.id, rule.file, rule.line));
                if rule.action == Verdict::Allow {
                    continue;
                }
                Verdict::Block
            }
        };
        return Decision { verdict, rule: Some(Arc::clone(&rule.reference)), errors };
    }
    Decision { verdict: Verdict::Block, rule: None, errors }
}

#[cfg(test)]
#[path = "tests/decide.rs"]
mod tests;
