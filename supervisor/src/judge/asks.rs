//! Questions that wait for an operator: where a rule says `ask`, and somebody listens who can answer.
//! Who waits is let go by an answer, by the end of patience, or by its own end; only a yes allows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::{broadcast, oneshot};

/// Questions that wait at once, and of them those of one container or session.
const MAX_WAITING: usize = 1024;
const MAX_WAITING_OF_ONE: usize = 64;
/// Announcements that wait for the slowest listener; each can look up what it missed.
const RING: usize = 256;
/// How often a waiting thread looks whether anybody still wants to know.
const TICK: Duration = Duration::from_millis(50);

/// What an operator is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inquiry {
    /// Empty outside of sessions.
    pub(crate) session: String,
    /// Empty outside of containers.
    pub(crate) container: String,
    pub(crate) agent: String,
    pub(crate) pid: i64,
    pub(crate) exe: String,
    pub(crate) action_type: String,
    pub(crate) operation: String,
    pub(crate) target: String,
    pub(crate) argv: Vec<String>,
    /// The rule that asks, and what it says.
    pub(crate) rule: String,
    pub(crate) reason: String,
}

impl Inquiry {
    /// A question by its facts, and the rule that makes it one.
    pub(crate) fn new(facts: &policy::Facts, rule: &str, reason: &str) -> Self {
        Self {
            session: facts.session.id.clone(),
            container: facts.container.id.clone(),
            agent: facts.agent.name.clone(),
            pid: facts.process.pid,
            exe: facts.process.exe.clone(),
            action_type: facts.action_type.as_str().to_owned(),
            operation: facts.file.operation.clone(),
            target: facts.target.clone(),
            argv: facts.exec.argv.clone(),
            rule: rule.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Whose share of the table it takes.
    fn asker(&self) -> &str {
        if self.container.is_empty() { &self.session } else { &self.container }
    }
}

/// A question that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) id: u64,
    pub(crate) inquiry: Inquiry,
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
}

/// How a question ended. Anything but `Allowed` is a denial.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reply {
    Allowed {
        uid: u32,
    },
    Denied {
        uid: u32,
        reason: String,
    },
    TimedOut,
    /// Nobody listens who could answer.
    Unattended,
    /// Too many wait already.
    Crowded,
    /// Nobody wants to know any more.
    Withdrawn,
}

impl Reply {
    /// The word for it.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Allowed { .. } => "allowed",
            Self::Denied { .. } => "denied",
            Self::TimedOut => "timed_out",
            Self::Unattended => "unattended",
            Self::Crowded => "crowded",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// A sentence that goes after the rule's own.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Allowed { uid } => format!("an operator (uid {uid}) allowed it"),
            Self::Denied { uid, reason } if reason.is_empty() => {
                format!("an operator (uid {uid}) denied it")
            }
            Self::Denied { uid, reason } => format!("an operator (uid {uid}) denied it: {reason}"),
            Self::TimedOut => "timed_out: no operator answered in time".to_owned(),
            Self::Unattended => "an operator would have to be asked, and none listens".to_owned(),
            Self::Crowded => "too many questions wait for an operator".to_owned(),
            Self::Withdrawn => "nobody waits for the answer any more".to_owned(),
        }
    }
}

/// What listeners are told.
#[derive(Clone, Debug)]
pub(crate) enum Announcement {
    Asked(Arc<Waiting>),
    Over { id: u64, outcome: &'static str },
}

enum Waiter {
    Thread(SyncSender<Reply>),
    Task(oneshot::Sender<Reply>),
}

/// Every question that waits, and who listens.
pub(crate) struct Asks {
    waiting: Mutex<BTreeMap<u64, (Arc<Waiting>, Waiter)>>,
    next: AtomicU64,
    listeners: AtomicUsize,
    announcements: broadcast::Sender<Announcement>,
    patience: Duration,
}

impl std::fmt::Debug for Asks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asks").field("patience", &self.patience).finish_non_exhaustive()
    }
}

/// Somebody who can answer, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Attendance {
    asks: Arc<Asks>,
    pub(crate) announcements: broadcast::Receiver<Announcement>,
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.asks.listeners.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A place in the table; given up, it is free.
struct Place<'a> {
    asks: &'a Asks,
    id: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.asks.lock().remove(&self.id).is_some() {
            self.asks.announce(Announcement::Over { id: self.id, outcome: "withdrawn" });
        }
    }
}

impl Asks {
    /// `patience`: how long a call waits for an answer.
    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            waiting: Mutex::new(BTreeMap::new()),
            next: AtomicU64::new(1),
            listeners: AtomicUsize::new(0),
            announcements: broadcast::Sender::new(RING),
            patience,
        }
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Listens, so that questions wait.
    pub(crate) fn attend(self: &Arc<Self>) -> Attendance {
        let announcements = self.announcements.subscribe();
        self.listeners.fetch_add(1, Ordering::AcqRel);
        Attendance { asks: self.clone(), announcements }
    }

    pub(crate) fn is_attended(&self) -> bool {
        self.listeners.load(Ordering::Acquire) > 0
    }

    /// The questions that wait, oldest first.
    pub(crate) fn list(&self) -> Vec<Arc<Waiting>> {
        self.lock().values().map(|(waiting, _)| waiting.clone()).collect()
    }

    /// Answers a question. `None`: no such question waits.
    pub(crate) fn answer(&self, id: u64, reply: Reply) -> Option<Arc<Waiting>> {
        let (waiting, waiter) = self.lock().remove(&id)?;
        self.announce(Announcement::Over { id, outcome: reply.as_str() });
        // Who has just stopped waiting is not told.
        match waiter {
            Waiter::Thread(sender) => drop(sender.try_send(reply)),
            Waiter::Task(sender) => drop(sender.send(reply)),
        }
        Some(waiting)
    }

    /// Asks and waits. Dropped, the question is withdrawn.
    pub(crate) async fn ask(&self, inquiry: Inquiry, patience: Duration) -> Reply {
        let (sender, receiver) = oneshot::channel();
        let place = match self.enter(inquiry, patience, Waiter::Task(sender)) {
            Ok(place) => place,
            Err(reply) => return reply,
        };
        match tokio::time::timeout(patience, receiver).await {
            Ok(reply) => reply.unwrap_or(Reply::Withdrawn),
            Err(_) => self.time_out(&place),
        }
    }

    /// Asks and blocks, for as long as `wanted` holds.
    pub(crate) fn ask_blocking(
        &self,
        inquiry: Inquiry,
        patience: Duration,
        wanted: impl Fn() -> bool,
    ) -> Reply {
        let (sender, receiver) = mpsc::sync_channel(1);
        let place = match self.enter(inquiry, patience, Waiter::Thread(sender)) {
            Ok(place) => place,
            Err(reply) => return reply,
        };
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(left.min(TICK)) {
                Ok(reply) => return reply,
                Err(RecvTimeoutError::Disconnected) => return Reply::Withdrawn,
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return self.time_out(&place),
                Err(RecvTimeoutError::Timeout) if !wanted() => return Reply::Withdrawn,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn enter(
        &self,
        inquiry: Inquiry,
        patience: Duration,
        waiter: Waiter,
    ) -> Result<Place<'_>, Reply> {
        if !self.is_attended() {
            return Err(Reply::Unattended);
        }
        let since = Timestamp::now();
        let until = since.checked_add(patience).unwrap_or(Timestamp::MAX);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut table = self.lock();
        let same = table.values().filter(|(other, _)| other.inquiry.asker() == inquiry.asker());
        if table.len() >= MAX_WAITING || same.count() >= MAX_WAITING_OF_ONE {
            return Err(Reply::Crowded);
        }
        let waiting = Arc::new(Waiting { id, inquiry, since, until });
        table.insert(id, (waiting.clone(), waiter));
        drop(table);
        self.announce(Announcement::Asked(waiting));
        Ok(Place { asks: self, id })
    }

    /// The end of patience, unless an answer came at the last moment: then it counts as late.
    fn time_out(&self, place: &Place<'_>) -> Reply {
        if self.lock().remove(&place.id).is_some() {
            self.announce(Announcement::Over { id: place.id, outcome: Reply::TimedOut.as_str() });
        }
        Reply::TimedOut
    }

    fn announce(&self, announcement: Announcement) {
        // Without listeners there is nobody to tell.
        let _ = self.announcements.send(announcement);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (Arc<Waiting>, Waiter)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "tests/asks.rs"]
mod tests;
