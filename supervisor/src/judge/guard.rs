//! What no rule can open: Outcall's own log, sockets and rule files.

use std::path::{Path, PathBuf};

use policy::ActionType;

use crate::facts::Question;

/// Places that protect the evidence and the policy from the supervised.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    /// Nothing below may be touched at all.
    sealed: Vec<PathBuf>,
}

impl Guard {
    pub(crate) fn new(sealed: &[PathBuf]) -> Self {
        // A link to the place is as good as the place: both names are kept.
        let written = sealed.iter().filter_map(|path| std::path::absolute(path).ok());
        let found = sealed.iter().filter_map(|path| path.canonicalize().ok());
        Self { sealed: written.chain(found).collect() }
    }

    /// The first question that must be refused, and why. `rules` is where the rules in force were
    /// read from: it may be read, never changed.
    pub(crate) fn refuses<'q>(
        &self,
        rules: &[PathBuf],
        questions: &'q [Question],
    ) -> Option<(&'q Question, &'static str)> {
        questions.iter().find_map(|question| Some((question, self.refusal(rules, question)?)))
    }

    fn refusal(&self, rules: &[PathBuf], question: &Question) -> Option<&'static str> {
        let facts = &question.facts;
        let path = match facts.action_type {
            ActionType::FileAccess => Path::new(&facts.target),
            ActionType::NetworkCall => Path::new(facts.target.strip_prefix("unix:")?),
            _ => return None,
        };
        if self.sealed.iter().any(|tree| path.starts_with(tree)) {
            return Some("Outcall's own log and sockets are out of reach of what it supervises");
        }
        if facts.file.operation == "create" && facts.file.flags.iter().any(|flag| flag == "device")
        {
            return Some("a device node would reach a device under any name");
        }
        let changes = facts.file.operation != "read" && facts.action_type == ActionType::FileAccess;
        if changes && rules.iter().any(|tree| path.starts_with(tree)) {
            return Some("rules in force cannot be changed by what they govern");
        }
        // Moving a directory above would carry the protected place to a name without protection.
        let moves = matches!(facts.file.operation.as_str(), "rename" | "delete" | "link");
        let above = |tree: &PathBuf| tree.starts_with(path);
        if moves && self.sealed.iter().chain(rules).any(above) {
            return Some("a directory that holds Outcall's own files cannot be moved");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::Object;

    fn file(operation: &str, target: &str) -> Vec<Question> {
        let mut facts = policy::Facts::default();
        target.clone_into(&mut facts.target);
        operation.clone_into(&mut facts.file.operation);
        vec![Question { facts, object: Object::default() }]
    }

    #[test]
    fn the_log_and_what_holds_it_are_out_of_reach() {
        let guard = Guard::new(&["/var/log/outcall".into()]);
        let rules = [PathBuf::from("/etc/outcall/rules")];
        let refused = |operation, target| guard.refuses(&rules, &file(operation, target)).is_some();
        assert!(refused("read", "/var/log/outcall/x"));
        assert!(refused("rename", "/var/log"));
        assert!(refused("write", "/etc/outcall/rules/a.yaml"));
        assert!(!refused("read", "/etc/outcall/rules/a.yaml"));
        assert!(!refused("read", "/var/log/outcall-other"));
        assert!(!refused("write", "/var/log/x"));
    }
}
