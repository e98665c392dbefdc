//! Control groups: which container a process is in, told by what it cannot leave.

use std::collections::BTreeMap;

/// The groups of one process, a path for every hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups(BTreeMap<String, String>);

impl Groups {
    /// Reads `/proc/PID/cgroup`.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok().map(|text| Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let entry = |line: &str| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            Some((controllers.to_owned(), path.to_owned()))
        };
        Self(text.lines().filter_map(entry).collect())
    }

    /// The id in a container's path: the 64 hexadecimal digits that runtimes put there. The outermost
    /// counts, because what is below it is the container's own to name.
    pub(crate) fn container(&self) -> Option<&str> {
        self.0.values().find_map(|path| {
            path.split(|c: char| !c.is_ascii_hexdigit()).find(|word| word.len() == 64)
        })
    }

    /// Whether these are the other's groups, or below them. Groups at the root hold everybody and say
    /// nothing.
    pub(crate) fn are_within(&self, outer: &Self) -> bool {
        let mut telling = outer.0.iter().filter(|(_, path)| *path != "/").peekable();
        telling.peek().is_some()
            && telling.all(|(controllers, path)| {
                let own = self.0.get(controllers).and_then(|own| own.strip_prefix(path.as_str()));
                own.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }
}

/// The container of a process by its control group alone.
pub(crate) fn container_of(pid: i32) -> Option<String> {
    Groups::of(pid)?.container().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn the_outermost_id_counts() {
        let groups = Groups::parse(&format!("0::/system.slice/docker-{A}.scope/x/{B}\n"));
        assert_eq!(groups.container(), Some(A));
        let old = Groups::parse(&format!("4:memory:/docker/{B}\n3:pids:/docker/{B}\n0::/\n"));
        assert_eq!(old.container(), Some(B));
        assert_eq!(Groups::parse("0::/user.slice/session-1.scope\n").container(), None);
    }

    /// A path with a container's id in it is not the container's path: anybody can name a group.
    #[test]
    fn a_group_of_the_same_name_elsewhere_is_not_within() {
        let groups = |path: &str| Groups::parse(&format!("0::{path}\n"));
        let container = groups("/system.slice/docker-a.scope");
        assert!(groups("/system.slice/docker-a.scope").are_within(&container));
        assert!(groups("/system.slice/docker-a.scope/inner").are_within(&container));
        assert!(!groups("/system.slice/docker-a.scope2").are_within(&container));
        assert!(!groups("/user.slice/docker-a.scope").are_within(&container));
        assert!(!groups("/user.slice").are_within(&groups("/")));
        assert!(!groups("/x").are_within(&Groups::parse("4:memory:/x\n0::/\n")));
    }
}
