//! The life of one system call, top to bottom: receive, decode, resolve, facts, judge, respond,
//! record. Each stage takes the type of the stage before it.

use std::time::Instant;

use crate::attach::session::{Mode, Session};
use crate::attach::watch::Slot;
use crate::decode::{Decoded, decode};
use crate::facts::questions;
use crate::identity::Guise;
use crate::judge::{Grant, Judgement, judge};
use crate::receive::{Notification, Reply};
use crate::record::decision::PolicyRecord;
use crate::record::{LatencySplit, Room};
use crate::resolve::exec::ExecRequest;
use crate::resolve::{Failure, Request, Resolved, Unresolved, resolve};
use crate::respond::{Answer, Attempt, Means, Outcome, act, interrupted};

mod hold;

use hold::{Held, hold};

/// How often a call is judged anew because the file system changed under it.
const MAX_ATTEMPTS: usize = 32;

/// What a worker thread brings to a call.
pub(crate) struct Worker {
    pub(crate) guise: Guise,
    pub(crate) slot: std::sync::Arc<Slot>,
}

/// Everything that is known about a call when its answer is ready.
pub(crate) struct Verdict<'s> {
    pub(crate) resolved: Result<Resolved, Failure>,
    pub(crate) judgement: Option<Judgement>,
    /// The set that judged; another may be in force by now.
    pub(crate) policy: PolicyRecord,
    pub(crate) answer: Answer,
    pub(crate) latency: LatencySplit,
    /// Kept in the log since before the call was carried out.
    pub(crate) room: Option<Room<'s>>,
}

/// Answers one notification.
pub(crate) fn pipeline(notification: Notification<'_>, session: &Session, worker: &mut Worker) {
    worker.slot.begin(notification.id(), notification.tid());
    let decoded = decode(notification.registers());
    let mut verdict = match settle(&notification, &decoded, session, worker) {
        Ok(verdict) => verdict,
        Err(Unsettled::Gone) => return,
        Err(Unsettled::Postponed) => return notification.restart(),
    };
    let recorded = session.record(&notification, &decoded, &verdict);
    if recorded.is_err() {
        // What cannot be recorded is not done. An open file or a seized task is let go below.
        verdict.answer.reply = Reply::Errno(libc::EPERM);
    }
    deliver(notification, session, &decoded, verdict);
}

/// Why a call gets no verdict.
enum Unsettled {
    /// Nobody waits for one.
    Gone,
    /// The caller must make the call again first.
    Postponed,
}

/// From the decoded call to an answer that is ready to be given.
fn settle<'s>(
    notification: &Notification<'_>,
    decoded: &Decoded,
    session: &'s Session,
    worker: &mut Worker,
) -> Result<Verdict<'s>, Unsettled> {
    let mut latency = LatencySplit::default();
    let mut grants: Vec<Grant> = Vec::new();
    for _ in 0..MAX_ATTEMPTS {
        let began = Instant::now();
        let tasks = &session.tasks;
        let resolved =
            match resolve(notification, decoded, tasks, session.shim(), &mut worker.guise) {
                Ok(resolved) => resolved,
                Err(failure) => return unresolved(failure, began, session),
            };
        latency.resolve = micros(began);
        let questions = questions(&resolved, &session.identity);
        let visit = session.is_visited_by(&resolved.request);
        let (rules, judgement, waited) = loop {
            let began = Instant::now();
            let rules = session.rules.current();
            let judgement = if visit {
                Judgement::welcome(questions.first().cloned())
            } else {
                judge(&rules, &session.guard, &resolved, &questions, &grants)
            };
            latency.decide = micros(began);
            match hold(judgement, notification, session, worker) {
                Held::Not(judgement) => break (rules, judgement, None),
                Held::Granted(grant) => grants.push(grant),
                Held::Interrupted(judgement) => {
                    notification.check().map_err(|_| Unsettled::Gone)?;
                    break (rules, judgement, Some(interrupted(worker.slot.interruption())));
                }
            }
        };
        let began = Instant::now();
        let room = session.keep_room(&resolved, &judgement);
        let allowed = judgement.allows() && room.is_some();
        let attempt = match waited {
            Some(interrupted) => interrupted,
            None => carry_out(notification, &resolved, session, worker, allowed),
        };
        latency.answer = micros(began);
        match attempt {
            Attempt::Done(answer) => {
                let (resolved, judgement) = (Ok(resolved), Some(judgement));
                let policy = rules.policy();
                return Ok(Verdict { resolved, judgement, policy, answer, latency, room });
            }
            Attempt::Changed => {}
            Attempt::Postponed => return Err(Unsettled::Postponed),
        }
    }
    // Somebody keeps changing what is judged: that somebody gets nothing.
    let failure = Failure::of(Unresolved::Errno(nix::errno::Errno::EBUSY));
    unresolved(failure, Instant::now(), session)
}

/// Does what was allowed, or refuses it.
fn carry_out(
    notification: &Notification<'_>,
    resolved: &Resolved,
    session: &Session,
    worker: &mut Worker,
    allowed: bool,
) -> Attempt {
    // Left to the kernel, a visit would end wherever the path leads.
    if session.mode == Mode::Observe && !session.is_visited_by(&resolved.request) {
        return Attempt::Done(Answer::observe());
    }
    if !allowed {
        return Attempt::Done(Answer::refuse(libc::EPERM));
    }
    let means = Means { guise: &mut worker.guise, slot: &worker.slot };
    act(notification, resolved, session, means)
}

/// A call that could not be resolved fails as the kernel would have it; it is never allowed.
fn unresolved<'s>(
    failure: Failure,
    began: Instant,
    session: &'s Session,
) -> Result<Verdict<'s>, Unsettled> {
    let answer = match (failure.why, session.mode) {
        (Unresolved::Gone, _) => return Err(Unsettled::Gone),
        (_, Mode::Observe) => Answer::observe(),
        (Unresolved::Errno(errno), Mode::Enforce) => Answer::looked_up(errno),
        (Unresolved::Guarded, Mode::Enforce) => Answer::refuse(libc::EACCES),
        (Unresolved::Unsupported, Mode::Enforce) => Answer::refuse(libc::EPERM),
    };
    let judgement = match failure.why {
        Unresolved::Guarded => Some(Judgement::guarded(&failure.requested)),
        _ => None,
    };
    let latency = LatencySplit { resolve: micros(began), ..LatencySplit::default() };
    let policy = session.rules.current().policy();
    Ok(Verdict { resolved: Err(failure), judgement, policy, answer, latency, room: None })
}

/// Gives the answer and, for an exec, stays until the new program is known to be the judged one.
fn deliver(
    notification: Notification<'_>,
    session: &Session,
    decoded: &Decoded,
    verdict: Verdict<'_>,
) {
    let Verdict { resolved, answer, .. } = verdict;
    let tgid = resolved.as_ref().map_or(0, |resolved| resolved.caller.task.tgid);
    // From here on we hold nothing of the caller's but the programs of an exec: a socket that it
    // closes after the answer must be closed.
    let exec = exec_of(resolved);
    let forget = || session.tasks.forget(tgid);
    if exec.is_some() {
        forget();
    }
    let tid = notification.tid();
    let judged = match answer.reply {
        Reply::Continue => exec.as_deref(),
        _ => None,
    };
    if let Err(errno) = notification.answer(answer.reply) {
        tracing::error!(syscall = decoded.name, tid, %errno, "the kernel refused an answer");
    }
    if let Some(seized) = answer.seized
        && let Outcome::Killed { difference } = seized.finish(judged, &forget)
    {
        session.record_killed(tid, tgid, &difference);
    }
}

fn exec_of(resolved: Result<Resolved, Failure>) -> Option<Box<ExecRequest>> {
    match resolved.ok()?.request {
        Request::Exec(exec) => Some(exec),
        _ => None,
    }
}

fn micros(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1e7).round() / 10.0
}
