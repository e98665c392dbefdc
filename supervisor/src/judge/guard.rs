//! What no rule can open: Outcall's own log, sockets and rule files.

use std::path::{Path, PathBuf};

use policy::ActionType;

use crate::facts::Question;

/// Places that protect the evidence and the policy from the supervised.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    /// Nothing below may be touched at all.
    sealed: Vec<PathBuf>,
    /// May be read, never changed.
    read_only: Vec<PathBuf>,
}

impl Guard {
    pub(crate) fn new(sealed: &[PathBuf], read_only: &[PathBuf]) -> Self {
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
            // A link to the place is as good as the place: both names are kept.
            let written = paths.iter().filter_map(|path| std::path::absolute(path).ok());
            let found = paths.iter().filter_map(|path| path.canonicalize().ok());
            written.chain(found).collect()
        };
        Self { sealed: real(sealed), read_only: real(read_only) }
    }

    /// The first question that must be refused, and why.
    pub(crate) fn refuses<'q>(
        &self,
        questions: &'q [Question],
    ) -> Option<(&'q Question, &'static str)> {
        questions.iter().find_map(|question| Some((question, self.refusal(question)?)))
    }

    fn refusal(&self, question: &Question) -> Option<&'static str> {
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
        if changes && self.read_only.iter().any(|tree| path.starts_with(tree)) {
            return Some("rules in force cannot be changed by what they govern");
        }
        // Moving a directory above would carry the protected place to a name without protection.
        let moves = matches!(facts.file.operation.as_str(), "rename" | "delete" | "link");
        let above = |tree: &PathBuf| tree.starts_with(path);
        if moves && self.sealed.iter().chain(&self.read_only).any(above) {
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
        let guard = Guard::new(&["/var/log/outcall".into()], &["/etc/outcall/rules".into()]);
        let refused = |operation, target| guard.refuses(&file(operation, target)).is_some();
        assert!(refused("read", "/var/log/outcall/x"));
        assert!(refused("rename", "/var/log"));
        assert!(refused("write", "/etc/outcall/rules/a.yaml"));
        assert!(!refused("read", "/etc/outcall/rules/a.yaml"));
        assert!(!refused("read", "/var/log/outcall-other"));
        assert!(!refused("write", "/var/log/x"));
    }
}
