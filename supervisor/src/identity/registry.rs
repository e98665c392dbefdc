//! Who a peer belongs to: the providers in their order, and how many of them are asked at once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::cgroup::{Groups, container_of};
use super::docker::Docker;
use super::home::Home;
use super::peer::Peer;
use super::tokens::{Issued, Tokens, forget_at_end};
use super::{oci, session};
use crate::api::Refusal;
use crate::attach::session::Identity;
use crate::config::limits::Limits;

/// How long a container that is not ours is not asked about again.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5);
/// Strangers that are remembered.
const MAX_STRANGERS: usize = 1024;

/// Where identities come from.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Processes of the host may register.
    pub(crate) host_sessions: bool,
    /// Where OCI runtimes keep their state.
    pub(crate) oci: Vec<PathBuf>,
    pub(crate) docker: Option<Arc<Docker>>,
    /// Look-ups at once.
    pub(crate) lookups: usize,
    /// Containers and sessions at once.
    pub(crate) sessions: usize,
}

impl Default for Sources {
    fn default() -> Self {
        let limits = Limits::default();
        let (lookups, sessions) = (limits.lookups, limits.sessions);
        Self { host_sessions: false, oci: Vec::new(), docker: None, lookups, sessions }
    }
}

/// Everybody who is known.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) sources: Sources,
    /// Our own container: who shares it is on the host as far as we can see.
    own: Option<String>,
    lookups: Semaphore,
    /// One look-up for a container at a time, and when it turned out to be a stranger.
    asked: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<Instant>>>>>,
    /// In an embedded run: the run itself.
    run: OnceLock<(String, Arc<Home>)>,
}

impl Registry {
    pub(crate) fn new(sources: Sources) -> Self {
        Self {
            tokens: Tokens::new(sources.sessions),
            own: container_of(std::process::id().cast_signed()),
            lookups: Semaphore::new(sources.lookups),
            asked: Mutex::default(),
            run: OnceLock::new(),
            sources,
        }
    }

    /// From here on there is one session, and everybody is in it.
    pub(crate) fn embed(&self, shim: i32, identity: Identity) -> Result<(), Refusal> {
        let Issued { token, home, .. } = self.tokens.issue(Home::run(shim, identity))?;
        let _ = self.run.set((token, home));
        Ok(())
    }

    /// What a connection is counted for, before anybody is asked who it is.
    pub(crate) fn account(&self, peer: &Peer) -> String {
        if let Some(session) = peer.session() {
            return session.container.clone();
        }
        match self.container(peer) {
            Some(id) => id,
            None if self.sources.host_sessions => Home::host_key(peer.pid),
            None => format!("user-{}", peer.uid),
        }
    }

    fn container(&self, peer: &Peer) -> Option<String> {
        let groups = peer.process()?.look(Groups::of)?;
        let id = groups.container()?;
        (self.own.as_deref() != Some(id)).then(|| id.to_owned())
    }

    /// IF-001: the home of a peer, and its token.
    pub(crate) async fn home_of(&self, peer: &Peer) -> Result<(String, Arc<Home>), Refusal> {
        if let Some((token, home)) = self.run.get() {
            return Ok((token.clone(), home.clone()));
        }
        if let Some(known) = session::find(peer, &self.tokens) {
            return Ok(known);
        }
        let container = self.container(peer);
        let known = container.as_deref().and_then(|id| self.tokens.known(id));
        if let Some(known) = known.filter(|(_, home)| home.holds(peer)) {
            return Ok(known);
        }
        let home = match self.found(peer, container.as_deref()).await? {
            Some(home) => home,
            None => self.on_host(peer, container.as_deref()).ok_or_else(|| unknown(peer))?,
        };
        let Issued { token, home, is_new } = self.tokens.issue(home)?;
        if is_new {
            tokio::spawn(forget_at_end(Arc::downgrade(&self.tokens), home.clone()));
        }
        // The key is taken: by the same container, or by one that is not the peer's.
        if home.holds(peer) { Ok((token, home)) } else { Err(unknown(peer)) }
    }

    /// Asks the runtimes: one look-up for a container at a time.
    async fn found(&self, peer: &Peer, id: Option<&str>) -> Result<Option<Home>, Refusal> {
        let turn = self.turn(id.map_or_else(|| Home::host_key(peer.pid), str::to_owned));
        let mut stranger = turn.lock().await;
        if stranger.is_some_and(|since| since.elapsed() < FORGOTTEN_AFTER) {
            return Ok(None);
        }
        let too_many = |_| Refusal::new(503, "too many containers are being identified; try again");
        let _place = self.lookups.try_acquire().map_err(too_many)?;
        let (looked, directories) = (peer.clone(), self.sources.oci.clone());
        let looking = tokio::task::spawn_blocking(move || oci::find(&looked, &directories));
        if let Some(home) = looking.await.ok().flatten() {
            return Ok(Some(home));
        }
        let home = match (&self.sources.docker, id) {
            (Some(docker), Some(id)) => docker.find(id).await?.filter(|home| home.holds(peer)),
            _ => None,
        };
        *stranger = home.is_none().then(Instant::now);
        Ok(home)
    }

    fn turn(&self, asked_about: String) -> Arc<tokio::sync::Mutex<Option<Instant>>> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() >= MAX_STRANGERS {
            asked.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        asked.entry(asked_about).or_default().clone()
    }

    fn on_host(&self, peer: &Peer, container: Option<&str>) -> Option<Home> {
        if !self.sources.host_sessions || container.is_some() {
            return None;
        }
        let process = peer.process()?.clone();
        let cwd = process.look(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
        let workspace = cwd.unwrap_or_default().display().to_string();
        let identity = Identity { agent: "host".to_owned(), workspace, ..Identity::default() };
        Some(Home::host(process, identity))
    }
}

fn unknown(peer: &Peer) -> Refusal {
    let pid = peer.pid;
    Refusal::new(
        403,
        format!("check-in rejected: peer PID {pid} does not belong to a known container"),
    )
}
