//! What was denied to the asking container lately, through either door.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::door::{Door, Peer};
use super::routes::bearer;
use crate::api::envelope::{Refusal, success};
use crate::record::denials::Denial;

pub(super) async fn denials(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let asker = door.authorise(peer, bearer(&headers))?;
    let identity = &asker.identity;
    let owners: Vec<&str> = match identity.container.as_str() {
        "" => vec![&asker.container, &identity.id],
        container => vec![container],
    };
    let list: Vec<Value> = door.recorder.denials().of(&owners).iter().map(told).collect();
    Ok(success(json!({ "denials": list })))
}

fn told(denial: &Denial) -> Value {
    json!({
        "when": denial.time,
        "source": denial.source,
        "action_type": denial.action_type,
        "operation": Some(&denial.operation).filter(|word| !word.is_empty()),
        "target": denial.target,
        "matched_rule": denial.rule,
        "reason": denial.reason,
        "asking_can_help": denial.asking_can_help(),
        // An operator who is asked may answer otherwise next time; rules do not.
        "do_not_retry": !denial.asks,
    })
}
