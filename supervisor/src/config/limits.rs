//! How much one container, and all of them together, may ask of the agent API.

use std::time::Duration;

use serde::Deserialize;

/// The table `[limits]` of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// Bytes of a body.
    pub(crate) body_bytes: usize,
    /// Bytes of a request's head.
    pub(crate) header_bytes: usize,
    /// Seconds for a request's head to come.
    pub(crate) header_seconds: u64,
    /// Seconds for its body.
    pub(crate) body_seconds: u64,
    /// Seconds that a connection without a session may be silent.
    pub(crate) idle_seconds: u64,
    /// Checks of a container within `check_seconds`.
    pub(crate) checks: usize,
    pub(crate) check_seconds: u64,
    /// Rule submissions of a container within a minute.
    pub(crate) submissions: usize,
    /// Requests of any kind of a container in a second; more of them wait.
    pub(crate) requests: u32,
    /// Seconds that one evaluation may take.
    pub(crate) evaluation_seconds: u64,
    /// Evaluations at once that are not done right away.
    pub(crate) slow_evaluations: usize,
    /// Containers and sessions at once.
    pub(crate) sessions: usize,
    /// Identity look-ups at once.
    pub(crate) lookups: usize,
    /// Connections at once: in all, and of one container.
    pub(crate) connections: usize,
    pub(crate) connections_per_container: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 64 * 1024,
            header_bytes: 16 * 1024,
            header_seconds: 10,
            body_seconds: 10,
            idle_seconds: 60,
            checks: 100,
            check_seconds: 10,
            submissions: 10,
            requests: 500,
            evaluation_seconds: 5,
            slow_evaluations: 16,
            sessions: 4096,
            lookups: 64,
            connections: 8192,
            connections_per_container: 256,
        }
    }
}

/// The names of the table's keys, for hints.
pub(super) const KEYS: &[&str] = &[
    "body_bytes",
    "header_bytes",
    "header_seconds",
    "body_seconds",
    "idle_seconds",
    "checks",
    "check_seconds",
    "submissions",
    "requests",
    "evaluation_seconds",
    "slow_evaluations",
    "sessions",
    "lookups",
    "connections",
    "connections_per_container",
];

impl Limits {
    /// The number that makes no sense, if one does not: nothing can be nothing, and an HTTP head
    /// needs 8 KiB.
    pub(super) fn nonsense(&self) -> Option<&'static str> {
        let numbers = [
            self.body_bytes,
            self.header_bytes / 8192,
            self.header_seconds as usize,
            self.body_seconds as usize,
            self.idle_seconds as usize,
            self.checks,
            self.check_seconds as usize,
            self.submissions,
            self.requests as usize,
            self.evaluation_seconds as usize,
            self.slow_evaluations,
            self.sessions,
            self.lookups,
            self.connections,
            self.connections_per_container,
        ];
        // Semaphores take no more, and nobody means more.
        let out_of_range = |number: &usize| *number == 0 || *number > u32::MAX as usize;
        numbers.iter().position(out_of_range).and_then(|index| KEYS.get(index).copied())
    }

    /// How long a request's head, or silence, may take.
    pub(crate) fn header(&self) -> Duration {
        Duration::from_secs(self.header_seconds)
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }

    /// Connections that the process has descriptors for: each takes two, and calls need theirs.
    pub(crate) fn affordable_connections(&self) -> usize {
        let limit = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE);
        let descriptors = limit.map_or(1024, |(soft, _)| usize::try_from(soft).unwrap_or(1024));
        self.connections.min((descriptors / 4).max(16))
    }
}
