//! The routes, each answering in the envelope.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::json;

use super::answers;
use crate::api::agent::{Door, Peer};
use crate::api::envelope::{self, Refusal, failure, success};
use crate::judge::rules::{ReloadError, Trigger};

/// No request has a body worth reading.
const MAX_BODY: usize = 64 * 1024;

/// What operators are told about.
#[derive(Debug)]
pub(crate) struct Office {
    pub(crate) door: Arc<Door>,
    pub(crate) started: jiff::Timestamp,
}

pub(super) fn router(office: Arc<Office>) -> Router {
    Router::new()
        .route("/v1/status", get(status))
        .route("/v1/rules", get(rules))
        .route("/v1/rules/reload", post(reload))
        .route("/v1/rules/{id}", get(rule))
        .merge(super::requests::router())
        .fallback(envelope::no_resource)
        .method_not_allowed_fallback(envelope::no_method)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(office)
}

async fn status(State(office): State<Arc<Office>>) -> Response {
    success(answers::status(&office))
}

async fn rules(State(office): State<Arc<Office>>) -> Response {
    let current = office.door.rules.current();
    let list: Vec<_> = current.engine.rules().iter().map(answers::listed).collect();
    success(json!({ "generation": current.generation, "rules": list }))
}

async fn rule(
    State(office): State<Arc<Office>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let Path(id) = id.map_err(|rejection| Refusal::new(400, rejection.body_text()))?;
    let current = office.door.rules.current();
    match current.engine.rules().iter().find(|rule| rule.id == id) {
        Some(rule) => Ok(success(answers::described(rule))),
        None => Err(Refusal::new(404, answers::unknown_rule(&id, current.engine.rules()))),
    }
}

async fn reload(
    State(office): State<Arc<Office>>,
    Extension(peer): Extension<Peer>,
) -> Result<Response, Refusal> {
    let door = office.door.clone();
    let reloading = tokio::task::spawn_blocking(move || {
        let trigger = Trigger::Operator { uid: peer.uid };
        door.rules.reload(trigger, &door.recorder)
    });
    let result = reloading.await.map_err(|error| Refusal::new(500, error.to_string()))?;
    match result {
        Ok(set) => Ok(success(json!({
            "generation": set.generation,
            "digest": set.engine.digest(),
            "count": set.engine.rules().len(),
        }))),
        Err(ReloadError::Rules(error)) => Ok(failure(422, answers::invalid(&error))),
        Err(error @ ReloadError::Log(_)) => Err(Refusal::new(503, error.to_string())),
    }
}
