//! First provider: a session of ours. A supervised program that was connected on its behalf, or a
//! process below one that registered.

use std::sync::Arc;

use super::home::Home;
use super::peer::Peer;
use super::tokens::Tokens;

/// The home of a peer that is in a session already, and its token.
pub(super) fn find(peer: &Peer, tokens: &Tokens) -> Option<(String, Arc<Home>)> {
    let process = peer.process()?;
    let member = peer.session().map(|session| session.container.clone());
    let above = std::iter::once(process.pid).chain(process.parents()).map(Home::host_key);
    let keys = member.into_iter().chain(above);
    keys.filter_map(|key| tokens.known(&key)).find(|(_, home)| home.holds(peer))
}
