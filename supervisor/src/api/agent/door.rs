//! What stands behind the agent API: who asks, how much they may ask, and the making of sessions.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use seccomp_profiles::Filter;
use tokio::sync::Semaphore;

use super::places::{Place, Places};
use super::pulse::Pulse;
use super::rates::{Pace, Window};
use crate::api::Refusal;
use crate::attach::entrance::Entrance;
use crate::attach::pool::Pool;
use crate::attach::session::{Identity, Mode, Session};
use crate::config::limits::Limits;
pub(super) use crate::identity::Peer;
use crate::identity::registry::{Registry, Sources};
use crate::judge::Guard;
use crate::judge::asks::Asks;
use crate::judge::rules::Rules;
use crate::record::Recorder;
use crate::requests::Requests;
use crate::sys::listener::Listener;

/// How long an evaluation waits for its turn.
const TURN: Duration = Duration::from_secs(1);
/// Rule submissions are counted over this.
const MINUTE: Duration = Duration::from_secs(60);

/// A compiled profile under its name.
#[derive(Debug)]
pub(crate) struct NamedFilter {
    pub(crate) name: String,
    pub(crate) filter: Filter,
}

/// Everything a session is made of.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) rules: Arc<Rules>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) profile: NamedFilter,
    pub(crate) mode: Mode,
    pub(crate) guard: Guard,
    /// Where `ask` rules lead. In an embedded run nobody listens.
    pub(crate) asks: Arc<Asks>,
    /// In an embedded run: the directory it was started in. Containers have `/workspace`.
    pub(crate) workspace: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) registry: Registry,
    entrance: OnceLock<Arc<Entrance>>,
    places: Arc<Places>,
    pace: Pace,
    checks: Window,
    submissions: Window,
    slow_evaluations: Arc<Semaphore>,
    draining: AtomicBool,
    /// Connections that a session hangs on.
    shims: Mutex<usize>,
    left: Condvar,
    sessions: Mutex<Vec<Arc<Pool>>>,
    /// An embedded run has none.
    requests: OnceLock<Arc<Requests>>,
    next: AtomicU64,
}

/// Who asks, as the host knows it.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    /// What a token belongs to: the container's id, or the session outside of containers.
    pub(crate) container: String,
    /// What rules are told about the asker. Its `id` is that of the session whose program asks by
    /// the kernel's door as well; empty for others.
    pub(crate) identity: Identity,
    /// The process that asks, as this host numbers it.
    pub(crate) peer: Peer,
}

/// The answer to a check-in.
#[derive(Clone, Debug)]
pub(crate) struct CheckedIn {
    pub(crate) container: String,
    pub(crate) token: String,
}

fn rate_limited(asker: &Asker, wait: Duration) -> Refusal {
    let message = format!("rate limit exceeded for container {}", asker.container);
    Refusal::too_many(message, wait)
}

impl Door {
    pub(crate) fn new(
        rules: Arc<Rules>,
        recorder: Arc<Recorder>,
        profile: NamedFilter,
        mode: Mode,
        sealed: &[PathBuf],
        workspace: Option<String>,
    ) -> Self {
        let guard = Guard::new(sealed);
        let limits = Limits::default();
        Self {
            rules,
            recorder,
            profile,
            mode,
            guard,
            asks: Arc::new(Asks::new(Duration::ZERO)),
            workspace,
            registry: Registry::new(Sources::default()),
            entrance: OnceLock::new(),
            places: places(&limits),
            pace: pace(&limits),
            checks: Window::new(limits.checks, Duration::from_secs(limits.check_seconds)),
            submissions: Window::new(limits.submissions, MINUTE),
            slow_evaluations: Arc::new(Semaphore::new(limits.slow_evaluations)),
            limits,
            draining: AtomicBool::new(false),
            shims: Mutex::new(0),
            left: Condvar::new(),
            sessions: Mutex::new(Vec::new()),
            requests: OnceLock::new(),
            next: AtomicU64::new(1),
        }
    }

    /// The same door with other limits, and with providers of identity.
    pub(crate) fn with(self, limits: Limits, sources: Sources) -> Self {
        Self {
            registry: Registry::new(sources),
            places: places(&limits),
            pace: pace(&limits),
            checks: Window::new(limits.checks, Duration::from_secs(limits.check_seconds)),
            submissions: Window::new(limits.submissions, MINUTE),
            slow_evaluations: Arc::new(Semaphore::new(limits.slow_evaluations)),
            limits,
            ..self
        }
    }

    /// Makes the way in for supervised programs; what they connect to is to be accepted from.
    /// `public` is the socket that others connect to.
    pub(crate) fn open_entrance(
        &self,
        public: Option<&Path>,
    ) -> anyhow::Result<std::os::unix::net::UnixListener> {
        let (entrance, listener) = Entrance::open(self.recorder.directory(), public)?;
        let _ = self.entrance.set(Arc::new(entrance));
        Ok(listener)
    }

    /// Who was connected on behalf, and accepted just now.
    pub(super) fn arrived(&self) -> Option<Peer> {
        self.entrance.get()?.arrived()
    }

    /// From here on this is the door of one run.
    pub(crate) fn embed(&self, shim: i32, agent: String) -> Result<(), Refusal> {
        let container = crate::identity::container_of(shim).unwrap_or_default();
        let workspace = self.workspace.clone().unwrap_or_default();
        let identity = Identity { agent, container, workspace, ..Identity::default() };
        self.registry.embed(shim, identity)
    }

    /// Where rule requests go; given once.
    pub(crate) fn take_requests(&self, requests: Arc<Requests>) {
        let _ = self.requests.set(requests);
    }

    /// Rule requests, which an embedded run does not have.
    pub(crate) fn requests(&self) -> Result<&Arc<Requests>, Refusal> {
        self.requests.get().ok_or_else(|| Refusal::new(503, "rule requests need outcalld"))
    }

    /// No new sessions from here on.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// The sessions that run.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let running = sessions.iter().filter(|session| !session.has_ended());
        running.map(|pool| pool.session().clone()).collect()
    }

    /// How many sessions run.
    pub(crate) fn session_count(&self) -> usize {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().filter(|session| !session.has_ended()).count()
    }

    /// Blocks until every session has ended.
    pub(crate) fn wait_for_sessions(&self) {
        let sessions: Vec<_> =
            self.sessions.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
        for session in sessions {
            session.wait();
        }
    }

    /// Blocks until every shim has left. A workload's last task is gone before its shim has taken
    /// its exit code, and a shim that finds nobody here then takes the session for lost.
    pub(crate) fn wait_for_shims(&self) {
        let mut shims = self.shims.lock().unwrap_or_else(PoisonError::into_inner);
        while *shims > 0 {
            shims = self.left.wait(shims).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A place for a connection; `None` where its container, or all together, have enough.
    pub(super) fn place(&self, peer: &Peer) -> Option<Place> {
        self.places.take(self.registry.account(peer))
    }

    /// Keeps one container's requests from taking everybody's time.
    pub(super) async fn wait_for_turn(&self, place: &Place) {
        let wait = self.pace.wait(place.account(), Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// IF-001: identity comes from the kernel, nothing from the agent counts.
    pub(super) async fn check_in(&self, peer: Peer) -> Result<CheckedIn, Refusal> {
        if self.draining.load(Ordering::Acquire) {
            return Err(Refusal::new(503, "outcalld is shutting down"));
        }
        let (token, home) = self.registry.home_of(&peer).await?;
        Ok(CheckedIn { container: home.key.clone(), token })
    }

    /// The token must be known, and the peer must be in the container that it belongs to.
    pub(super) fn authorise(&self, peer: Peer, token: Option<&str>) -> Result<Asker, Refusal> {
        let home = token.and_then(|token| self.registry.tokens.home(token));
        let home = home.ok_or_else(|| Refusal::new(401, "invalid or missing session token"))?;
        if !home.holds(&peer) {
            return Err(Refusal::new(403, "the session token belongs to another container"));
        }
        let session = peer.session().filter(|session| session.container == home.key);
        let identity = session.map_or(&home.identity, |session| &session.identity);
        let identity = Identity::clone(identity);
        Ok(Asker { container: home.key.clone(), identity, peer })
    }

    /// IF-002: counts a check of this container, or says when the next one fits.
    pub(super) fn admit_check(&self, asker: &Asker) -> Result<(), Refusal> {
        let admitted = self.checks.admit(&asker.container, Instant::now());
        admitted.map_err(|wait| rate_limited(asker, wait))
    }

    /// IF-003: counts a submission of this container, or says when the next one fits.
    pub(super) fn admit_submission(&self, asker: &Asker) -> Result<(), Refusal> {
        let admitted = self.submissions.admit(&asker.container, Instant::now());
        admitted.map_err(|wait| rate_limited(asker, wait))
    }

    /// Does what may take long beside the threads that serve everybody. `None`: it took too long,
    /// which denies with `evaluation timeout`. It keeps its place until it is really done.
    pub(super) async fn evaluate<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, Refusal> {
        let place = tokio::time::timeout(TURN, self.slow_evaluations.clone().acquire_owned()).await;
        let place = place
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| Refusal::new(503, "too many evaluations at once; try again"))?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(place);
            done
        });
        let limit = Duration::from_secs(self.limits.evaluation_seconds);
        match tokio::time::timeout(limit, working).await {
            Ok(done) => done.map(Some).map_err(|error| Refusal::new(500, error.to_string())),
            Err(_) => Ok(None),
        }
    }

    /// A connection ended. `kept`: a session hung on it.
    pub(super) fn leave(&self, kept: bool) {
        if kept {
            *self.shims.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            self.left.notify_all();
        }
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| !session.has_ended());
    }

    /// Takes a listener over; returns the session's id once it is served.
    pub(super) fn supervise(
        &self,
        asker: &Asker,
        listener: Option<OwnedFd>,
        pulse: &Pulse,
    ) -> Result<String, Refusal> {
        let listener = listener
            .ok_or_else(|| Refusal::new(400, "no seccomp listener came with the request"))?;
        let listener = Listener::adopt(listener).map_err(|errno| {
            Refusal::new(400, format!("the descriptor is no seccomp listener ({errno})"))
        })?;
        if self.session_count() >= self.limits.sessions {
            return Err(Refusal::new(503, "too many sessions"));
        }
        self.note_shim(pulse);
        let identity = Identity { id: self.new_id(), ..asker.identity.clone() };
        let id = identity.id.clone();
        let guard = self.guard.clone();
        let (rules, recorder) = (self.rules.clone(), self.recorder.clone());
        let shim = asker.peer.pid;
        let session = Session::new(identity, self.mode, rules, guard, recorder, shim);
        let mut session = session.asking(self.asks.clone());
        if let Some(entrance) = self.entrance.get() {
            session = session.entering_at(entrance.clone(), &asker.container);
        }
        session
            .record_begin(&self.profile.name)
            .map_err(|error| Refusal::new(500, error.to_string()))?;
        let pool = Pool::start(Arc::new(session), listener)
            .map_err(|errno| Refusal::new(500, format!("cannot start workers: {errno}")))?;
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).push(pool);
        Ok(id)
    }

    fn note_shim(&self, pulse: &Pulse) {
        if !pulse.is_kept() {
            *self.shims.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            pulse.keep();
        }
    }

    fn new_id(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("s-{:x}-{number}", jiff::Timestamp::now().as_millisecond())
    }

    /// Whether the log takes records: without it every answer is a denial.
    pub(super) fn is_recording(&self) -> bool {
        self.recorder.is_healthy()
    }
}

fn places(limits: &Limits) -> Arc<Places> {
    Places::new(limits.affordable_connections(), limits.connections_per_container)
}

/// Whoever may check often may ask often.
fn pace(limits: &Limits) -> Pace {
    let checks = limits.checks as u64 / limits.check_seconds.max(1);
    Pace::new(limits.requests.max(u32::try_from(checks * 2).unwrap_or(u32::MAX)))
}

#[cfg(test)]
#[path = "tests/door.rs"]
mod tests;
