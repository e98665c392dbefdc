//! What a token belongs to: a container, or a session outside of containers.

use std::sync::Arc;

use super::cgroup::Groups;
use super::peer::Peer;
use super::process::Process;
use crate::attach::session::Identity;

/// A container or session, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Home {
    /// The container's id; `host-PID` and `run-PID` outside of containers.
    pub(crate) key: String,
    /// What rules are told of whoever is in it. Its `id` is empty: that is a session's.
    pub(crate) identity: Arc<Identity>,
    bounds: Bounds,
}

#[derive(Debug)]
enum Bounds {
    /// An embedded run: whoever gets to its supervisor at all.
    Run,
    /// A process of the host, and what is below it.
    Below(Arc<Process>),
    /// A container by its control groups, as long as its first process lives.
    Groups { init: Arc<Process>, groups: Groups },
}

impl Home {
    pub(crate) fn run(shim: i32, identity: Identity) -> Self {
        let key = format!("run-{shim}");
        Self { key, identity: Arc::new(identity), bounds: Bounds::Run }
    }

    pub(crate) fn host(process: Arc<Process>, identity: Identity) -> Self {
        let (key, identity) = (Self::host_key(process.pid), Arc::new(identity));
        Self { key, identity, bounds: Bounds::Below(process) }
    }

    pub(crate) fn host_key(pid: i32) -> String {
        format!("host-{pid}")
    }

    /// A container whose first process is this one. Without groups of its own, what is below that
    /// process is in it.
    pub(crate) fn container(identity: Identity, init: Process) -> Option<Self> {
        let init = Arc::new(init);
        let groups = init.look(Groups::of)?;
        let ours = Groups::of(std::process::id().cast_signed());
        let bounds = if ours.is_some_and(|ours| ours.are_within(&groups) || ours == groups) {
            Bounds::Below(init)
        } else {
            Bounds::Groups { init, groups }
        };
        Some(Self { key: identity.container.clone(), identity: Arc::new(identity), bounds })
    }

    /// Whether a peer is in it, asked of the kernel anew.
    pub(crate) fn holds(&self, peer: &Peer) -> bool {
        let Some(process) = peer.process() else { return false };
        if let Some(session) = peer.session()
            && session.container == self.key
        {
            return self.is_alive();
        }
        match &self.bounds {
            Bounds::Run => true,
            Bounds::Below(top) => process.is_below(top),
            Bounds::Groups { init, groups } => {
                let within = process.look(Groups::of).is_some_and(|own| own.are_within(groups));
                within && init.is_alive()
            }
        }
    }

    /// The process that it ends with, if there is one.
    pub(crate) fn first_process(&self) -> Option<&Arc<Process>> {
        match &self.bounds {
            Bounds::Run => None,
            Bounds::Below(process) | Bounds::Groups { init: process, .. } => Some(process),
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.first_process().is_none_or(|process| process.is_alive())
    }
}
