//! IF-002: the permission check. An answer is on record before it is given.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::{FromRequest, Request, State};
use axum::response::Response;
use policy::{Facts, Verdict};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use super::body::Body;
use super::door::{Asker, Door, Peer};
use super::routes::bearer;
use crate::api::envelope::{Refusal, success};
use crate::attach::session::{Mode, describe};
use crate::facts::explicit::{Check, asked_by, guarded, questions};
use crate::judge::{Judgement, judge_check};
use crate::record::decision::PolicyRecord;
use crate::record::{DecisionRecord, LatencySplit};

/// Evaluations at once.
const MAX_EVALUATIONS: usize = 16;
/// How long a check waits for its turn.
const TURN: Duration = Duration::from_secs(1);
/// How long an evaluation may take; longer is a denial.
const EVALUATION: Duration = Duration::from_secs(5);

/// What a check says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    action_type: String,
    target: String,
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// Where checks are evaluated: beside the threads that serve connections, a few at a time.
#[derive(Debug)]
pub(crate) struct Evaluations {
    turns: Arc<Semaphore>,
}

impl Default for Evaluations {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(MAX_EVALUATIONS)) }
    }
}

impl Evaluations {
    /// A turn, which ends when it is dropped; 503 where none comes.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let turn = tokio::time::timeout(TURN, self.turns.clone().acquire_owned()).await;
        turn.ok()
            .and_then(Result::ok)
            .ok_or_else(|| Refusal::new(503, "too many evaluations at once; try again"))
    }
}

pub(super) async fn check(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Refusal> {
    let asker = door.authorise(peer, bearer(request.headers()))?;
    // Rates: `door.admit_check(&asker)?` belongs here.
    let Body(asked) = Body::<Asked>::from_request(request, &()).await?;
    let check = Check::new(&asked.action_type, asked.target, asked.metadata)
        .map_err(|message| Refusal::new(400, message))?;
    let inquiry = Inquiry { door, asker, check };
    inquiry.evaluate().await.map(success)
}

/// One check on its way to an answer.
#[derive(Clone, Debug)]
struct Inquiry {
    door: Arc<Door>,
    asker: Asker,
    check: Check,
}

/// What came of it, and which rules said so.
struct Judged {
    judgement: Judgement,
    asker: Facts,
    policy: PolicyRecord,
    took: Duration,
}

impl Inquiry {
    async fn evaluate(self) -> Result<Value, Refusal> {
        let turn = self.door.evaluations.turn().await?;
        // Whoever is first to settle the answer writes its record.
        let settled = Arc::new(AtomicBool::new(false));
        let (inquiry, taken) = (self.clone(), settled.clone());
        let mut evaluation = spawn_blocking(move || {
            let _turn = turn;
            let judged = inquiry.judge();
            (!taken.swap(true, Ordering::AcqRel)).then(|| inquiry.answer(&judged))
        });
        let answer = match tokio::time::timeout(EVALUATION, &mut evaluation).await {
            Ok(answer) => answer,
            Err(_) if settled.swap(true, Ordering::AcqRel) => evaluation.await,
            Err(_) => spawn_blocking(move || Some(self.answer(&self.timed_out()))).await,
        };
        answer
            .ok()
            .flatten()
            .ok_or_else(|| Refusal::new(500, "the check could not be evaluated; it is not allowed"))
    }

    fn judge(&self) -> Judged {
        let began = Instant::now();
        let asker = asked_by(&self.asker.identity, self.asker.peer.pid);
        let questions = questions(&self.check, &asker);
        let rules = self.door.rules.current();
        let judgement = judge_check(&rules, &self.door.guard, &questions, &guarded(&questions));
        Judged { judgement, asker, policy: rules.policy(), took: began.elapsed() }
    }

    fn timed_out(&self) -> Judged {
        let asker = Facts::default();
        let question = questions(&self.check, &asker).into_iter().next();
        let judgement = Judgement::timed_out(question);
        Judged { judgement, asker, policy: self.door.rules.current().policy(), took: EVALUATION }
    }

    /// Records the verdict, and says it.
    fn answer(&self, judged: &Judged) -> Value {
        let judgement = &judged.judgement;
        if self.door.recorder.decision(self.record(judged), None).is_err() {
            return denial(None, "the decision cannot be recorded, so nothing is allowed");
        }
        let rule = judgement.rule.as_deref();
        if judgement.allows() || self.door.mode == Mode::Observe {
            return json!({ "allowed": true, "matched_rule": rule, "reason": null });
        }
        match judgement.verdict {
            Verdict::Ask => {
                let reason = judgement.reason.trim_end_matches('.');
                denial(rule, &format!("{reason}; an operator would have to be asked"))
            }
            _ => denial(rule, &judgement.reason),
        }
    }

    fn record(&self, judged: &Judged) -> DecisionRecord {
        let identity = &self.asker.identity;
        let named = |id: &String| !id.is_empty();
        let mut record = DecisionRecord {
            source: "api".to_owned(),
            session: Some(&identity.id)
                .filter(|id| named(id))
                .unwrap_or(&self.asker.container)
                .clone(),
            container: Some(identity.container.clone()).filter(named),
            tid: self.asker.peer.pid,
            tgid: self.asker.peer.pid,
            exe: judged.asker.process.exe.clone(),
            answer: "told".to_owned(),
            policy: judged.policy.clone(),
            latency_us: LatencySplit {
                decide: (judged.took.as_secs_f64() * 1e7).round() / 10.0,
                ..LatencySplit::default()
            },
            mode: self.door.mode.as_str().to_owned(),
            metadata: self.check.metadata().clone(),
            ..DecisionRecord::default()
        };
        describe(&mut record, &judged.judgement);
        record
    }
}

fn denial(rule: Option<&str>, reason: &str) -> Value {
    json!({ "allowed": false, "matched_rule": rule, "reason": reason })
}
