//! A call that a rule holds for an operator. The worker waits; the pool has others.

use policy::Verdict;

use super::Worker;
use crate::attach::session::{Mode, Session};
use crate::judge::asks::{Inquiry, Reply};
use crate::judge::{Grant, Judgement};
use crate::receive::Notification;

/// What became of a judgement.
pub(super) enum Held {
    /// It stands.
    Not(Judgement),
    /// An operator said yes to what it asks: judge again, there may be more.
    Granted(Grant),
    /// The caller was interrupted meanwhile; the judgement is what it was waiting for.
    Interrupted(Judgement),
}

/// Asks an operator, where a rule says so and one listens.
pub(super) fn hold(
    judgement: Judgement,
    notification: &Notification<'_>,
    session: &Session,
    worker: &Worker,
) -> Held {
    let asks = &session.asks;
    if judgement.verdict != Verdict::Ask || session.mode == Mode::Observe || !asks.is_attended() {
        return Held::Not(judgement);
    }
    let Some(question) = &judgement.question else { return Held::Not(judgement) };
    let rule = judgement.rule.as_deref().unwrap_or_default();
    let inquiry = Inquiry::new(&question.facts, rule, &judgement.reason);
    let slot = &worker.slot;
    let wanted = || slot.interruption().is_none() && notification.check().is_ok();
    let reply = slot.interruptible(|| asks.ask_blocking(inquiry, asks.patience(), wanted));
    match reply {
        Reply::Allowed { .. } => {
            Held::Granted(Grant { facts: question.facts.clone(), by: reply.sentence() })
        }
        Reply::Withdrawn => Held::Interrupted(judgement),
        refused => {
            let reason = format!("{}; {}", judgement.reason, refused.sentence());
            Held::Not(Judgement { reason, ..judgement })
        }
    }
}
