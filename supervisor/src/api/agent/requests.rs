//! IF-003 and IF-004: an agent asks for rules, and how far its request has come.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::body::Body;
use super::door::{Door, Peer};
use super::routes::bearer;
use crate::api::envelope::{Refusal, success};
use crate::requests::{Entry, RequestsError, Status, SubmitError};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Submission {
    rule_file: String,
}

pub(super) async fn submit(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Refusal> {
    let asker = door.authorise(peer, bearer(request.headers()))?;
    let requests = door.requests()?.clone();
    door.admit_submission(&asker)?;
    let Body(Submission { rule_file }) = Body::from_request(request, &()).await?;
    let submitting =
        door.evaluate(move || requests.submit(&asker.container, &asker.identity, &rule_file));
    // What took too long may still be stored; asking for it by its number is not possible then.
    let late = || Refusal::new(503, "the rule request took too long; try again");
    let entry = submitting.await?.ok_or_else(late)?.map_err(turned_away)?;
    Ok((StatusCode::CREATED, success(told(&entry))).into_response())
}

pub(super) async fn status(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let asker = door.authorise(peer, bearer(&headers))?;
    let Path(id) = id.map_err(|rejection| Refusal::new(400, rejection.body_text()))?;
    // Another container's request and none at all look the same, and take the same way.
    let unknown = Refusal::new(404, format!("rule request {id} not found"));
    let Ok(requests) = door.requests().cloned() else { return Err(unknown) };
    let looking = spawn_blocking(move || requests.own(&asker.container, &id));
    match looking.await.map_err(internal)?.map_err(unavailable)? {
        Some(entry) => Ok(success(told(&entry))),
        None => Err(unknown),
    }
}

fn told(entry: &Entry) -> Value {
    let status = match entry.status {
        // On its way: not in force until it is approved.
        Status::Approving => Status::Pending,
        status => status,
    };
    json!({ "id": entry.id, "status": status.as_str(), "reason": entry.reason })
}

fn turned_away(error: SubmitError) -> Refusal {
    match error {
        SubmitError::Invalid(_) => Refusal::new(422, error.to_string()),
        SubmitError::Full(_) => Refusal::new(503, error.to_string()),
        SubmitError::Store(error) => unavailable(error),
        SubmitError::Randomness(_) => Refusal::new(500, error.to_string()),
    }
}

/// What is wrong with the host's disk is not for agents to know.
fn unavailable(error: RequestsError) -> Refusal {
    tracing::error!(%error, "a rule request cannot be served");
    Refusal::new(503, "rule requests cannot be kept at the moment")
}

fn internal(error: tokio::task::JoinError) -> Refusal {
    tracing::error!(%error, "a rule request failed");
    Refusal::new(500, "the request could not be handled")
}
