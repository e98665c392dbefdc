//! Who may ask.

use std::os::fd::AsFd;

use tokio::net::UnixStream;

use super::Office;
use crate::api::Refusal;
use crate::api::agent::{Peer, container_of};
use crate::sys::socket::peer_groups;

/// Deepest ancestry that is looked at.
const MAX_ANCESTORS: usize = 256;

/// Users and groups that may ask. Root and the daemon's own user always may.
#[derive(Clone, Debug)]
pub(crate) struct Operators {
    own: u32,
    uids: Vec<u32>,
    gids: Vec<u32>,
}

impl Operators {
    pub(crate) fn new(uids: &[u32], gids: &[u32]) -> Self {
        let own = nix::unistd::geteuid().as_raw();
        Self { own, uids: uids.to_vec(), gids: gids.to_vec() }
    }

    fn include(&self, uid: u32, groups: &[u32]) -> bool {
        uid == 0
            || uid == self.own
            || self.uids.contains(&uid)
            || groups.iter().any(|group| self.gids.contains(group))
    }
}

/// Lets operators in; neither a container's processes nor what is supervised (EC-008).
pub(super) fn admit(stream: &UnixStream, office: &Office) -> Result<Peer, Refusal> {
    let refuse = |message: String| Err(Refusal::new(403, message));
    let own_pid = std::process::id().cast_signed();
    let (pid, uid, gid) = match stream.peer_cred() {
        Ok(peer) => (peer.pid().unwrap_or(0), peer.uid(), peer.gid()),
        Err(error) => return refuse(format!("a peer without credentials: {error}")),
    };
    // A connection made on behalf of a supervised program looks like our own.
    if pid == own_pid {
        return refuse("what is supervised has no place on this socket".to_owned());
    }
    let mut groups = peer_groups(stream.as_fd()).unwrap_or_default();
    groups.push(gid);
    if !office.operators.include(uid, &groups) {
        return refuse(format!(
            "user {uid} may not ask this outcalld; root and user {} may, and whoever operator_uids \
             and operator_gids name: try sudo",
            office.operators.own
        ));
    }
    // A process that cannot be seen from here lives in a world of its own.
    if pid == 0 || container_of(pid) != container_of(own_pid) || nesting(pid) != nesting(own_pid) {
        return refuse("what runs in a container has no place on this socket".to_owned());
    }
    let shims: Vec<i32> = office.door.sessions().iter().map(|session| session.shim()).collect();
    if !shims.is_empty() && lineage(pid).any(|ancestor| shims.contains(&ancestor)) {
        return refuse("what is supervised has no place on this socket".to_owned());
    }
    Ok(Peer::seen(pid, uid))
}

/// How many pid namespaces a process is in, seen from here. `None`: it cannot be told.
fn nesting(pid: i32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    Some(line.split_whitespace().count())
}

/// A process and its ancestors.
fn lineage(pid: i32) -> impl Iterator<Item = i32> {
    std::iter::successors(Some(pid), |pid| parent(*pid)).take(MAX_ANCESTORS)
}

fn parent(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().filter(|parent| *parent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_the_daemon_and_whoever_is_named_may_ask() {
        let operators = Operators { own: 5, uids: vec![1000], gids: vec![27] };
        for (uid, groups, may) in [
            (0, [9], true),
            (5, [9], true),
            (1000, [9], true),
            (1001, [27], true),
            (1001, [9], false),
            (27, [1000], false),
        ] {
            assert_eq!(operators.include(uid, &groups), may, "{uid} {groups:?}");
        }
    }

    #[test]
    fn we_are_our_own_kin() {
        let own = std::process::id().cast_signed();
        assert_eq!(lineage(own).next(), Some(own));
        assert!(lineage(own).count() > 1 && nesting(own) >= Some(1));
        assert_eq!(nesting(0), None);
    }
}
