//! The life of one system call, top to bottom: receive, decode, resolve, facts, judge, respond,
//! record. Each stage takes the type of the stage before it.

use std::time::Instant;

use crate::attach::session::{Mode, Session};
use crate::attach::watch::Slot;
use crate::decode::{Decoded, decode};
use crate::facts::questions;
use crate::identity::Guise;
use crate::judge::{Judgement, judge};
use crate::receive::{Notification, Reply};
use crate::record::LatencySplit;
use crate::resolve::exec::ExecRequest;
use crate::resolve::{Failure, Request, Resolved, Unresolved, resolve};
use crate::respond::{Answer, Attempt, Means, Outcome, act};

/// How often a call is judged anew because the file system changed under it.
const MAX_ATTEMPTS: usize = 32;

/// What a worker thread brings to a call.
pub(crate) struct Worker {
    pub(crate) guise: Guise,
    pub(crate) slot: std::sync::Arc<Slot>,
}

/// Everything that is known about a call when its answer is ready.
pub(crate) struct Verdict {
    pub(crate) resolved: Result<Resolved, Failure>,
    pub(crate) judgement: Option<Judgement>,
    pub(crate) answer: Answer,
    pub(crate) latency: LatencySplit,
}

/// Answers one notification.
pub(crate) fn pipeline(notification: Notification<'_>, session: &Session, worker: &mut Worker) {
    worker.slot.begin(notification.id(), notification.tid());
    let decoded = decode(notification.registers());
    let Some(mut verdict) = settle(&notification, &decoded, session, worker) else { return };
    let recorded = session.record(&notification, &decoded, &verdict);
    if recorded.is_err() {
        // What cannot be recorded is not done. An open file or a seized task is let go below.
        verdict.answer.reply = Reply::Errno(libc::EPERM);
    }
    deliver(notification, session, &decoded, verdict);
}

/// From the decoded call to an answer that is ready to be given; `None` when the caller is gone.
fn settle(
    notification: &Notification<'_>,
    decoded: &Decoded,
    session: &Session,
    worker: &mut Worker,
) -> Option<Verdict> {
    let mut latency = LatencySplit::default();
    for _ in 0..MAX_ATTEMPTS {
        let began = Instant::now();
        let tasks = &session.tasks;
        let resolved =
            match resolve(notification, decoded, tasks, session.shim(), &mut worker.guise) {
                Ok(resolved) => resolved,
                Err(failure) => return unresolved(failure, began, session),
            };
        latency.resolve = micros(began);
        let began = Instant::now();
        let questions = questions(&resolved, &session.identity);
        let rules = session.rules.current();
        let judgement = judge(&rules.engine, &session.guard, &resolved, &questions);
        latency.decide = micros(began);
        let began = Instant::now();
        let attempt = match session.mode {
            Mode::Observe => Attempt::Done(Answer::observe()),
            Mode::Enforce if judgement.allows() && session.recorder.make_room().is_ok() => {
                let means = Means { guise: &mut worker.guise, slot: &worker.slot };
                act(notification, &resolved, means)
            }
            Mode::Enforce => Attempt::Done(Answer::refuse(libc::EPERM)),
        };
        latency.answer = micros(began);
        if let Attempt::Done(answer) = attempt {
            let (resolved, judgement) = (Ok(resolved), Some(judgement));
            return Some(Verdict { resolved, judgement, answer, latency });
        }
    }
    // Somebody keeps changing what is judged: that somebody gets nothing.
    let failure = Failure::of(Unresolved::Errno(nix::errno::Errno::EBUSY));
    unresolved(failure, Instant::now(), session)
}

/// A call that could not be resolved fails as the kernel would have it; it is never allowed.
fn unresolved(failure: Failure, began: Instant, session: &Session) -> Option<Verdict> {
    let answer = match (failure.why, session.mode) {
        (Unresolved::Gone, _) => return None,
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
    Some(Verdict { resolved: Err(failure), judgement, answer, latency })
}

/// Gives the answer and, for an exec, stays until the new program is known to be the judged one.
fn deliver(notification: Notification<'_>, session: &Session, decoded: &Decoded, verdict: Verdict) {
    let Verdict { resolved, answer, .. } = verdict;
    let exec = exec_of(&resolved);
    let tgid = resolved.as_ref().map_or(0, |resolved| resolved.caller.task.tgid);
    let forget = || session.tasks.forget(tgid);
    if exec.is_some() {
        forget();
    }
    let tid = notification.tid();
    let judged = match answer.reply {
        Reply::Continue => exec,
        _ => None,
    };
    if let Err(errno) = notification.answer(&answer.reply) {
        tracing::error!(syscall = decoded.name, tid, %errno, "the kernel refused an answer");
    }
    if let Some(seized) = answer.seized
        && let Outcome::Killed { difference } = seized.finish(judged, &forget)
    {
        session.record_killed(tid, tgid, &difference);
    }
}

fn exec_of(resolved: &Result<Resolved, Failure>) -> Option<&ExecRequest> {
    match &resolved.as_ref().ok()?.request {
        Request::Exec(exec) => Some(exec),
        _ => None,
    }
}

fn micros(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1e7).round() / 10.0
}
