//! Who may ask.

use tokio::net::UnixStream;

use crate::api::Refusal;
use crate::api::agent::{Peer, container_of};

/// Lets root and the daemon's own user in; neither a container's processes nor what is supervised.
pub(super) fn admit(stream: &UnixStream) -> Result<Peer, Refusal> {
    let refuse = |message: String| Err(Refusal::new(403, message));
    let own_pid = std::process::id().cast_signed();
    let own_uid = nix::unistd::geteuid().as_raw();
    let (pid, uid) = match stream.peer_cred() {
        Ok(peer) => (peer.pid().unwrap_or(0), peer.uid()),
        Err(error) => return refuse(format!("a peer without credentials: {error}")),
    };
    // A connection made on behalf of a supervised program looks like our own.
    if pid == own_pid {
        return refuse("what is supervised has no place on this socket".to_owned());
    }
    if uid != 0 && uid != own_uid {
        return refuse(format!(
            "user {uid} may not ask this outcalld; root and user {own_uid} may: try sudo"
        ));
    }
    // A process that cannot be seen from here lives in a world of its own.
    if pid == 0 || container_of(pid) != container_of(own_pid) {
        return refuse("what runs in a container has no place on this socket".to_owned());
    }
    Ok(Peer::seen(pid, uid))
}
