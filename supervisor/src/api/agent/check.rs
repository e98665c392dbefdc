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
use tokio::runtime::RuntimeFlavor;
use tokio::task::{block_in_place, spawn_blocking};

use super::body::Body;
use super::door::{Asker, Door, Peer};
use super::routes::bearer;
use crate::api::envelope::{Refusal, success};
use crate::attach::session::{Mode, describe};
use crate::facts::explicit::{Check, asked_by, guarded, questions};
use crate::judge::asks::{self, Reply};
use crate::judge::{Grant, Judgement, judge_check};
use crate::record::decision::PolicyRecord;
use crate::record::{DecisionRecord, LatencySplit};

/// Checks up to this size are settled where they are read.
const QUICK_BYTES: usize = 4 * 1024;
/// Questions of one check that operators may be asked.
const MAX_GRANTS: usize = 8;

/// What a check says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    action_type: String,
    target: String,
    #[serde(default)]
    metadata: Map<String, Value>,
}

pub(super) async fn check(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Refusal> {
    let asker = door.authorise(peer, bearer(request.headers()))?;
    door.admit_check(&asker)?;
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

/// How far an evaluation came.
enum Settled {
    /// It is on record, and this is the answer.
    Told(Value),
    /// An operator is to be asked first.
    Held(Box<Judged>),
}

/// What became of a judgement.
enum Held {
    /// It stands.
    Not(Box<Judged>),
    /// An operator said yes to what it asks: judge again, there may be more.
    Granted(Box<Grant>),
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
        let mut grants = Vec::new();
        let judged = loop {
            let settled = match self.is_quick() {
                true => block_in_place(|| self.settle(&grants)),
                false => self.settled(grants.clone()).await?,
            };
            let judged = match settled {
                Settled::Told(answer) => return Ok(answer),
                Settled::Held(judged) => *judged,
            };
            match self.held(judged).await {
                Held::Granted(grant) if grants.len() < MAX_GRANTS => grants.push(*grant),
                Held::Granted(_) => break self.timed_out(),
                Held::Not(judged) => break *judged,
            }
        };
        spawn_blocking(move || self.answer(&judged)).await.map_err(|_| failed())
    }

    /// Whether there is so little to look at that another thread would only cost more.
    fn is_quick(&self) -> bool {
        let threads = tokio::runtime::Handle::current().runtime_flavor();
        self.check.size() <= QUICK_BYTES && threads == RuntimeFlavor::MultiThread
    }

    fn settle(&self, grants: &[Grant]) -> Settled {
        let judged = self.judge(grants);
        if judged.took > Duration::from_secs(self.door.limits.evaluation_seconds) {
            return Settled::Told(self.answer(&self.timed_out()));
        }
        match self.is_held(&judged) {
            true => Settled::Held(Box::new(judged)),
            false => Settled::Told(self.answer(&judged)),
        }
    }

    /// Evaluated, recorded and answered beside the serving threads, in one go. What takes too long
    /// is a denial; what comes of it afterwards is nobody's answer, and not on record.
    async fn settled(&self, grants: Vec<Grant>) -> Result<Settled, Refusal> {
        let late = Arc::new(AtomicBool::new(false));
        let (inquiry, is_late) = (self.clone(), late.clone());
        let evaluation = self.door.evaluate(move || {
            let judged = inquiry.judge(&grants);
            if inquiry.is_held(&judged) || is_late.load(Ordering::Acquire) {
                return Settled::Held(Box::new(judged));
            }
            Settled::Told(inquiry.answer(&judged))
        });
        if let Some(settled) = evaluation.await? {
            return Ok(settled);
        }
        late.store(true, Ordering::Release);
        let inquiry = self.clone();
        let answer = spawn_blocking(move || inquiry.answer(&inquiry.timed_out())).await;
        answer.map(Settled::Told).map_err(|_| failed())
    }

    /// Whether an operator is to be asked, and one listens.
    fn is_held(&self, judged: &Judged) -> bool {
        judged.judgement.verdict == Verdict::Ask
            && self.door.mode == Mode::Enforce
            && self.door.asks.is_attended()
    }

    /// Asks an operator.
    async fn held(&self, mut judged: Judged) -> Held {
        let (asks, judgement) = (&self.door.asks, &mut judged.judgement);
        let Some(question) = judgement.question.as_ref() else {
            return Held::Not(Box::new(judged));
        };
        let facts = question.facts.clone();
        let rule = judgement.rule.as_deref().unwrap_or_default();
        let inquiry = asks::Inquiry::new(&facts, rule, &judgement.reason);
        let reply = asks.ask(inquiry, asks.patience()).await;
        match reply {
            Reply::Allowed { .. } => Held::Granted(Box::new(Grant { facts, by: reply.sentence() })),
            refused => {
                judgement.reason = after(&judgement.reason, &refused);
                Held::Not(Box::new(judged))
            }
        }
    }

    fn judge(&self, grants: &[Grant]) -> Judged {
        let began = Instant::now();
        let asker = asked_by(&self.asker.identity, &self.asker.peer);
        let questions = questions(&self.check, &asker);
        let rules = self.door.rules.current();
        let guarded = guarded(&questions);
        let judgement = judge_check(&rules, &self.door.guard, &questions, &guarded, grants);
        Judged { judgement, asker, policy: rules.policy(), took: began.elapsed() }
    }

    fn timed_out(&self) -> Judged {
        let asker = Facts::default();
        let question = questions(&self.check, &asker).into_iter().next();
        let judgement = Judgement::timed_out(question);
        Judged {
            judgement,
            asker,
            policy: self.door.rules.current().policy(),
            took: Duration::from_secs(self.door.limits.evaluation_seconds),
        }
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
            Verdict::Ask if !self.door.asks.is_attended() => {
                denial(rule, &after(&judgement.reason, &Reply::Unattended))
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

/// The rule's sentence, and how asking for an operator ended.
fn after(reason: &str, reply: &Reply) -> String {
    format!("{}; {}", reason.trim_end_matches('.'), reply.sentence())
}

fn failed() -> Refusal {
    Refusal::new(500, "the check could not be evaluated; it is not allowed")
}

fn denial(rule: Option<&str>, reason: &str) -> Value {
    json!({ "allowed": false, "matched_rule": rule, "reason": reason })
}
