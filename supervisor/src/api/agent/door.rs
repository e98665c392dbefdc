//! What stands behind the agent API: registrations, and the making of sessions.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use seccomp_profiles::Filter;

use super::check::Evaluations;
use crate::api::Refusal;
use crate::attach::pool::Pool;
use crate::attach::session::{Identity, Mode, Session};
use crate::judge::Guard;
use crate::judge::asks::Asks;
use crate::judge::rules::Rules;
use crate::record::Recorder;
use crate::requests::Requests;
use crate::sys::listener::Listener;

/// Registrations at once.
const MAX_REGISTRATIONS: usize = 4096;

/// Who is at the other end of a connection, as the kernel tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) pid: i32,
    pub(crate) uid: u32,
}

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
    /// In an embedded run: the one shim, whose socket was made by us and tells nothing.
    embedded_shim: AtomicI32,
    draining: AtomicBool,
    registrations: Mutex<HashMap<String, Registration>>,
    left: Condvar,
    sessions: Mutex<Vec<Arc<Pool>>>,
    pub(super) evaluations: Evaluations,
    /// An embedded run has none.
    requests: OnceLock<Arc<Requests>>,
    next: AtomicU64,
}

#[derive(Clone, Debug)]
struct Registration {
    peer_pid: i32,
    container: String,
    /// It handed a listener over.
    supervised: bool,
}

/// Who asks, as the host knows it.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    /// What a token belongs to: the container's id, or the session outside of containers.
    pub(crate) container: String,
    /// What rules are told about the asker. Its `id` is empty while nothing is supervised.
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
        Self {
            rules,
            recorder,
            profile,
            mode,
            guard,
            asks: Arc::new(Asks::new(Duration::ZERO)),
            workspace,
            embedded_shim: AtomicI32::new(0),
            draining: AtomicBool::new(false),
            registrations: Mutex::new(HashMap::new()),
            left: Condvar::new(),
            sessions: Mutex::new(Vec::new()),
            evaluations: Evaluations::default(),
            requests: OnceLock::new(),
            next: AtomicU64::new(1),
        }
    }

    /// Names the shim of an embedded run.
    pub(crate) fn set_embedded_shim(&self, pid: i32) {
        self.embedded_shim.store(pid, Ordering::Release);
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
        let mut registrations = self.registrations.lock().unwrap_or_else(PoisonError::into_inner);
        while registrations.values().any(|registration| registration.supervised) {
            registrations = self.left.wait(registrations).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// IF-001: identity comes from the kernel, nothing from the agent counts.
    pub(super) fn check_in(&self, peer: Peer) -> Result<CheckedIn, Refusal> {
        if self.draining.load(Ordering::Acquire) {
            return Err(Refusal::new(503, "outcalld is shutting down"));
        }
        let pid = self.shim_of(peer);
        let container = container_of(pid).unwrap_or_else(|| "host".to_owned());
        let mut registrations = self.registrations.lock().unwrap_or_else(PoisonError::into_inner);
        let known = registrations.iter().find(|(_, registration)| registration.peer_pid == pid);
        if let Some((token, registration)) = known {
            return Ok(CheckedIn {
                container: registration.container.clone(),
                token: token.clone(),
            });
        }
        if registrations.len() >= MAX_REGISTRATIONS {
            return Err(Refusal::new(503, "too many sessions"));
        }
        let token = token()?;
        let registration =
            Registration { peer_pid: pid, container: container.clone(), supervised: false };
        registrations.insert(token.clone(), registration);
        Ok(CheckedIn { container, token })
    }

    /// The token must be known, and must be this peer's.
    pub(super) fn authorise(&self, peer: Peer, token: Option<&str>) -> Result<Asker, Refusal> {
        let registrations = self.registrations.lock().unwrap_or_else(PoisonError::into_inner);
        let registration = token.and_then(|token| registrations.get(token));
        match registration {
            Some(known) if known.peer_pid == self.shim_of(peer) => {
                let identity = self.identity(known.peer_pid, &known.container);
                let identity = Identity { id: String::new(), ..identity };
                Ok(Asker { container: known.container.clone(), identity, peer })
            }
            Some(_) => Err(Refusal::new(403, "the session token belongs to another process")),
            None => Err(Refusal::new(401, "invalid or missing session token")),
        }
    }

    /// Forgets a peer whose connection ended.
    pub(super) fn leave(&self, peer: Peer) {
        let pid = self.shim_of(peer);
        let mut registrations = self.registrations.lock().unwrap_or_else(PoisonError::into_inner);
        registrations.retain(|_, registration| registration.peer_pid != pid);
        self.left.notify_all();
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| !session.has_ended());
    }

    /// Takes a listener over; returns the session's id once it is served.
    pub(super) fn supervise(
        &self,
        peer: Peer,
        container: &str,
        listener: Option<OwnedFd>,
    ) -> Result<String, Refusal> {
        let listener = listener
            .ok_or_else(|| Refusal::new(400, "no seccomp listener came with the request"))?;
        let listener = Listener::adopt(listener).map_err(|errno| {
            Refusal::new(400, format!("the descriptor is no seccomp listener ({errno})"))
        })?;
        let shim = self.shim_of(peer);
        self.note_supervised(shim);
        let identity = self.identity(shim, container);
        let id = identity.id.clone();
        let guard = self.guard.clone();
        let (rules, recorder) = (self.rules.clone(), self.recorder.clone());
        let session = Session::new(identity, self.mode, rules, guard, recorder, shim);
        let session = Arc::new(session.asking(self.asks.clone()));
        session
            .record_begin(&self.profile.name)
            .map_err(|error| Refusal::new(500, error.to_string()))?;
        let pool = Pool::start(session, listener)
            .map_err(|errno| Refusal::new(500, format!("cannot start workers: {errno}")))?;
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).push(pool);
        Ok(id)
    }

    fn note_supervised(&self, shim: i32) {
        let mut registrations = self.registrations.lock().unwrap_or_else(PoisonError::into_inner);
        for registration in registrations.values_mut().filter(|known| known.peer_pid == shim) {
            registration.supervised = true;
        }
    }

    /// Whether the log takes records: without it every answer is a denial.
    pub(super) fn is_recording(&self) -> bool {
        self.recorder.is_healthy()
    }

    fn identity(&self, shim: i32, container: &str) -> Identity {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let in_container = container != "host";
        let workspace = self.workspace.clone().unwrap_or_else(|| {
            let cwd = std::fs::read_link(format!("/proc/{shim}/cwd")).unwrap_or_default();
            if in_container { "/workspace".to_owned() } else { cwd.display().to_string() }
        });
        let started = jiff::Timestamp::now().as_millisecond();
        Identity {
            id: format!("s-{started:x}-{number}"),
            agent: String::new(),
            container: if in_container { container.to_owned() } else { String::new() },
            workspace,
            ..Identity::default()
        }
    }

    fn shim_of(&self, peer: Peer) -> i32 {
        match self.embedded_shim.load(Ordering::Acquire) {
            0 => peer.pid,
            shim => shim,
        }
    }
}

/// The container of a process by its control group: the 64 hexadecimal digits that every runtime
/// puts there.
pub(crate) fn container_of(pid: i32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    text.split(|c: char| !c.is_ascii_hexdigit()).find(|word| word.len() == 64).map(str::to_owned)
}

fn token() -> Result<String, Refusal> {
    use std::io::Read;
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| Refusal::new(500, format!("no randomness: {error}")))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("tok-{digits}"))
}
