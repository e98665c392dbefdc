//! One supervised program tree, from the hand-over of its listener to the death of its last task.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::entrance::Entrance;
use crate::decode::Decoded;
use crate::facts::Question;
use crate::identity::Membership;
use crate::judge::asks::Asks;
use crate::judge::rules::Rules;
use crate::judge::{Guard, Judgement};
use crate::pipeline::Verdict;
use crate::receive::Notification;
use crate::record::{DecisionRecord, LogError, ObjectRecord, Recorder, Room};
use crate::resolve::names::text;
use crate::resolve::{Object, Request, Resolved, Tasks};
use crate::respond::{Class, ERESTARTSYS};

/// What a record takes of an exec's arguments; the kernel itself takes megabytes.
const MAX_ARGV_BYTES: usize = 64 * 1024;

/// Whether decisions bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They do.
    Enforce,
    /// They are recorded, and the kernel carries on.
    Observe,
}

impl Mode {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
        }
    }
}

/// Who a session is, as rules and records name it. Nothing of it comes from the supervised side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) agent: String,
    /// Empty outside containers.
    pub(crate) container: String,
    /// What the container runtime says about it.
    pub(crate) container_name: String,
    pub(crate) image: String,
    pub(crate) labels: std::collections::BTreeMap<String, String>,
    pub(crate) workspace: String,
}

impl Identity {
    /// Sets the facts that nobody inside can set.
    pub(crate) fn describe(&self, facts: &mut policy::Facts) {
        facts.agent.name.clone_from(&self.agent);
        facts.container.id.clone_from(&self.container);
        facts.container.name.clone_from(&self.container_name);
        facts.container.image.clone_from(&self.image);
        facts.container.labels.clone_from(&self.labels);
        facts.session.id.clone_from(&self.id);
        facts.session.workspace.clone_from(&self.workspace);
    }
}

/// The way in for a session's programs, and who they are there.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) socket: Arc<Entrance>,
    pub(crate) membership: Arc<Membership>,
}

/// A session: what its workers share.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) identity: Arc<Identity>,
    pub(crate) mode: Mode,
    pub(crate) tasks: Tasks,
    pub(crate) rules: Arc<Rules>,
    pub(crate) guard: Guard,
    pub(crate) recorder: Arc<Recorder>,
    /// Where `ask` rules lead.
    pub(crate) asks: Arc<Asks>,
    pub(crate) begun: jiff::Timestamp,
    shim: AtomicI32,
    entrance: Option<Way>,
    allowed: AtomicU64,
    refused: AtomicU64,
    /// Calls that failed by themselves, before there was anything to decide.
    failed: AtomicU64,
}

impl Session {
    pub(crate) fn new(
        identity: Identity,
        mode: Mode,
        rules: Arc<Rules>,
        guard: Guard,
        recorder: Arc<Recorder>,
        shim: i32,
    ) -> Self {
        Self {
            identity: Arc::new(identity),
            mode,
            tasks: Tasks::default(),
            rules,
            guard,
            recorder,
            asks: Arc::new(Asks::new(std::time::Duration::ZERO)),
            begun: jiff::Timestamp::now(),
            shim: AtomicI32::new(shim),
            entrance: None,
            allowed: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// The same session, whose questions go to these operators.
    pub(crate) fn asking(self, asks: Arc<Asks>) -> Self {
        Self { asks, ..self }
    }

    /// How many calls were allowed, refused, and failed by themselves.
    pub(crate) fn counts(&self) -> [u64; 3] {
        [&self.allowed, &self.refused, &self.failed].map(|count| count.load(Ordering::Relaxed))
    }

    /// Where its programs reach us, and what their tokens belong to.
    pub(crate) fn entering_at(mut self, socket: Arc<Entrance>, container: &str) -> Self {
        let (container, identity) = (container.to_owned(), self.identity.clone());
        let membership = Arc::new(Membership { container, identity });
        self.entrance = Some(Way { socket, membership });
        self
    }

    pub(crate) fn entrance(&self) -> Option<&Way> {
        self.entrance.as_ref()
    }

    /// Whether a request is a connection to the agent socket.
    pub(crate) fn is_visited_by(&self, request: &Request) -> bool {
        let (Some(way), Request::Connect(connect)) = (&self.entrance, request) else {
            return false;
        };
        way.socket.is_meant(&connect.destination)
    }

    /// The shim's process id: every process of the session descends from it.
    pub(crate) fn shim(&self) -> i32 {
        self.shim.load(Ordering::Relaxed)
    }

    pub(crate) fn record_begin(&self, profile: &str) -> Result<(), LogError> {
        let body = serde_json::json!({
            "session": self.identity.id,
            "container": self.identity.container,
            "workspace": self.identity.workspace,
            "mode": self.mode.as_str(),
            "profile": profile,
            "policy": self.rules.current().policy(),
        });
        self.recorder.control("session_begin", body).map(drop)
    }

    pub(crate) fn record_end(&self) {
        let [allowed, refused, failed] = self.counts();
        let body = serde_json::json!({
            "session": self.identity.id,
            "allowed": allowed,
            "refused": refused,
            "failed": failed,
        });
        if let Err(error) = self.recorder.control("session_end", body) {
            tracing::error!(%error, "the end of a session is not on record");
        }
    }

    /// Records that an exec turned out to be another one than was judged, and was killed.
    pub(crate) fn record_killed(&self, tid: i32, tgid: i32, difference: &str) {
        let body = serde_json::json!({
            "session": self.identity.id, "tid": tid, "tgid": tgid, "difference": difference,
        });
        tracing::warn!(tgid, difference, "an exec was not the judged one; killed");
        if let Err(error) = self.recorder.control("exec_killed", body) {
            tracing::error!(%error, "a killed exec is not on record");
        }
    }

    /// Keeps room in the log for the record of a call; `None`: there is none. Long arguments are
    /// not counted: an exec is recorded before anything is done.
    pub(crate) fn keep_room(&self, resolved: &Resolved, judged: &Judgement) -> Option<Room<'_>> {
        let about = judged.question.as_ref().map_or(0, |Question { facts, object }| {
            facts.target.len() + object.requested.len() + object.resolved.len()
        });
        let requested = match &resolved.request {
            Request::PathOnly { requested } => requested.len(),
            _ => 0,
        };
        let said = judged.reason.len() + judged.errors.iter().map(String::len).sum::<usize>();
        self.recorder.keep_room(about + requested + resolved.caller.task.exe.len() + said).ok()
    }

    /// Writes the record of a call whose answer is ready.
    pub(crate) fn record(
        &self,
        notification: &Notification<'_>,
        decoded: &Decoded,
        verdict: &Verdict<'_>,
    ) -> Result<u64, LogError> {
        let refused = verdict.answer.class == Class::Refused;
        let counter = match &verdict.judgement {
            _ if refused => &self.refused,
            Some(judgement) if judgement.allows() => &self.allowed,
            Some(_) => &self.refused,
            None => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut record = DecisionRecord {
            source: "kernel".to_owned(),
            session: self.identity.id.clone(),
            container: Some(self.identity.container.clone()).filter(|id| !id.is_empty()),
            tid: notification.tid(),
            arch: "x86_64".to_owned(),
            syscall: decoded.name.to_owned(),
            args: notification.registers().args.iter().map(|arg| format!("{arg:#x}")).collect(),
            decision: "none".to_owned(),
            errno: verdict.answer.errno().map(errno_name),
            answer: verdict.answer.class.as_str().to_owned(),
            policy: verdict.policy.clone(),
            latency_us: verdict.latency,
            mode: self.mode.as_str().to_owned(),
            ..DecisionRecord::default()
        };
        let task = match &verdict.resolved {
            Ok(resolved) => Some(&resolved.caller.task),
            Err(failure) => failure.task.as_ref(),
        };
        if let Some(task) = task {
            record.tgid = task.tgid;
            record.exe = text(&task.exe);
            record.exec_id = task.exec_id;
            record.parent_exec_id = task.parent_exec_id;
        }
        match &verdict.resolved {
            Ok(resolved) => {
                if let Request::PathOnly { requested } = &resolved.request {
                    record.object.requested = text(requested);
                }
            }
            Err(failure) => record.object.requested = text(&failure.requested),
        }
        if let Some(judgement) = &verdict.judgement {
            describe(&mut record, judgement);
        }
        self.recorder.decision(record, verdict.room.as_ref())
    }
}

/// Puts a judgement into its record.
pub(crate) fn describe(record: &mut DecisionRecord, judgement: &Judgement) {
    judgement.verdict.as_str().clone_into(&mut record.decision);
    record.rule.clone_from(&judgement.rule);
    record.rule_origin.clone_from(&judgement.origin);
    record.reason.clone_from(&judgement.reason);
    record.errors.clone_from(&judgement.errors);
    record.quiet = judgement.quiet;
    if let Some(Question { facts, object }) = &judgement.question {
        facts.action_type.as_str().clone_into(&mut record.action_type);
        record.operation.clone_from(&facts.file.operation);
        record.target.clone_from(&facts.target);
        (record.argv, record.argv_cut) = recorded_argv(&facts.exec.argv);
        record.object = object_record(object);
    }
}

/// The arguments as far as a record takes them, and how many bytes it leaves out.
fn recorded_argv(argv: &[String]) -> (Vec<String>, usize) {
    let mut room = MAX_ARGV_BYTES;
    let fits = |word: &&String| {
        let fits = word.len() <= room;
        room = room.saturating_sub(word.len());
        fits
    };
    let kept: Vec<String> = argv.iter().take_while(fits).cloned().collect();
    let cut = argv[kept.len()..].iter().map(String::len).sum();
    (kept, cut)
}

fn object_record(object: &Object) -> ObjectRecord {
    ObjectRecord {
        requested: text(&object.requested),
        resolved: text(&object.resolved),
        dev: object.device,
        ino: object.inode,
    }
}

fn errno_name(errno: i32) -> String {
    if errno == ERESTARTSYS {
        return "ERESTARTSYS".to_owned();
    }
    format!("{:?}", nix::errno::Errno::from_raw(errno))
}
