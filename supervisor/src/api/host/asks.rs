//! Questions that wait for an operator, and the answers to them.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Office;
use super::answers::when;
use crate::api::agent::Peer;
use crate::api::envelope::{Refusal, success};
use crate::judge::asks::{Reply, Waiting};

/// The longest reason.
const MAX_REASON_BYTES: usize = 1024;

pub(super) async fn list(State(office): State<Arc<Office>>) -> Response {
    let asks = &office.door.asks;
    let list: Vec<Value> = asks.list().iter().map(|waiting| described(waiting)).collect();
    success(json!({ "asks": list, "attended": asks.is_attended() }))
}

/// A question as operators see it.
pub(super) fn described(waiting: &Waiting) -> Value {
    let inquiry = &waiting.inquiry;
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    json!({
        "id": name(waiting.id),
        "since": when(waiting.since),
        "until": when(waiting.until),
        "session": given(&inquiry.session),
        "container": given(&inquiry.container),
        "agent": given(&inquiry.agent),
        "pid": inquiry.pid,
        "exe": inquiry.exe,
        "action_type": inquiry.action_type,
        "operation": inquiry.operation,
        "target": inquiry.target,
        "argv": inquiry.argv,
        "rule": inquiry.rule,
        "reason": inquiry.reason,
    })
}

pub(super) fn name(id: u64) -> String {
    format!("ask-{id}")
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    allow: bool,
    #[serde(default)]
    reason: String,
}

pub(super) async fn answer(
    State(office): State<Arc<Office>>,
    Extension(peer): Extension<Peer>,
    id: Result<Path<String>, PathRejection>,
    body: Result<Json<AnswerBody>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Path(id) = id.map_err(|rejection| Refusal::new(400, rejection.body_text()))?;
    let Json(body) = body.map_err(|rejection| unreadable(&rejection))?;
    if body.reason.len() > MAX_REASON_BYTES || body.reason.chars().any(char::is_control) {
        let message = "a reason is one line of at most 1,024 bytes, without control characters";
        return Err(Refusal::new(400, message));
    }
    let reply = match body.allow {
        true => Reply::Allowed { uid: peer.uid },
        false => Reply::Denied { uid: peer.uid, reason: body.reason },
    };
    let outcome = reply.as_str();
    let number = id.strip_prefix("ask-").and_then(|number| number.parse().ok());
    match number.and_then(|number| office.door.asks.answer(number, reply)) {
        Some(_) => Ok(success(json!({ "id": id, "outcome": outcome }))),
        None => Err(Refusal::new(404, format!("no question '{id}' waits for an answer"))),
    }
}

/// JSON that cannot be read, and fields that do not exist, are 400.
fn unreadable(rejection: &JsonRejection) -> Refusal {
    let status = match rejection.status().as_u16() {
        status @ (413 | 415) => status,
        _ => 400,
    };
    Refusal::new(status, rejection.body_text())
}
