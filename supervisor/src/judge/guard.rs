//! What no rule can open: Outcall's own log, sockets and rule files.

use std::path::{Component, Path, PathBuf};

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
        Self { sealed: sealed.iter().flat_map(|path| names(path)).collect() }
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

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// Every name of a place: as it is written, and with one link after the other followed. Whoever
/// could exchange any of these links would put another place under the name.
pub(super) fn names(path: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = std::path::absolute(path).into_iter().collect();
    let mut next = names.first().cloned();
    for _ in 0..MAX_LINKS {
        let Some((name, led)) = next.and_then(|name| follow(&name)) else { break };
        names.push(name);
        next = Some(led);
    }
    names.extend(path.canonicalize());
    names.sort();
    names.dedup();
    names
}

/// The name up to the first link without any `..`, and the name that the link leads to.
fn follow(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut way = PathBuf::new();
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        if part == Component::ParentDir {
            way = way.canonicalize().ok()?.parent().map_or_else(|| "/".into(), Path::to_owned);
            continue;
        }
        let holder = way.clone();
        way.push(part);
        if let Ok(target) = std::fs::read_link(&way) {
            let rest = parts.as_path();
            return Some((way.join(rest), holder.join(target).join(rest)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::Object;

    #[test]
    fn every_link_on_the_way_is_protected() {
        let base = std::env::temp_dir().join(format!("outcall-names-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        std::fs::create_dir_all(base.join("data/rules")).unwrap();
        let link = std::os::unix::fs::symlink::<&str, PathBuf>;
        link("data", base.join("current")).unwrap();
        link("../a/../current/rules", base.join("data/first")).unwrap();
        std::fs::create_dir(base.join("a")).unwrap();
        link("data/first", base.join("rules")).unwrap();
        link("round", base.join("round")).unwrap();
        let names = names(&base.join("rules"));
        let guard = Guard::default();
        for link in ["rules", "data/first", "current", "data", "data/rules"] {
            let target = base.join(link);
            let question = file("rename", target.to_str().unwrap());
            assert!(guard.refuses(&names, &question).is_some(), "{link}: {names:?}");
        }
        assert!(guard.refuses(&names, &file("rename", "/elsewhere")).is_none());
        assert_eq!(super::names(&base.join("round")).len(), 1);
        std::fs::remove_dir_all(base).unwrap();
    }

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
