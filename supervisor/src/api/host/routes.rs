//! The routes, each answering in the envelope.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::json;
use tokio::sync::Semaphore;

use super::peers::Operators;
use super::{answers, asks, decisions, evaluate, metrics, sessions, stream};
use crate::api::agent::{Door, Peer};
use crate::api::envelope::{self, Refusal, failure, success};
use crate::judge::rules::{ReloadError, Trigger};

/// A file of cases may be as long as a rule file; nothing else is that long.
const MAX_BODY: usize = policy::MAX_FILE_BYTES;

/// What operators are told about.
#[derive(Debug)]
pub(crate) struct Office {
    pub(crate) door: Arc<Door>,
    pub(super) operators: Operators,
    pub(super) started: jiff::Timestamp,
    /// Places for readers of the stream.
    pub(super) readers: Arc<Semaphore>,
    pub(super) connections: Connections,
}

/// Connections to the host socket since the start.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub(super) open: AtomicU64,
    pub(super) accepted: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Office {
    pub(crate) fn new(door: Arc<Door>, operators: Operators, started: jiff::Timestamp) -> Self {
        let readers = Arc::new(Semaphore::new(stream::MAX_READERS));
        Self { door, operators, started, readers, connections: Connections::default() }
    }
}

pub(super) fn router(office: Arc<Office>) -> Router {
    Router::new()
        .route("/v1/status", get(status))
        .route("/v1/sessions", get(sessions::list))
        .route("/v1/sessions/{id}", get(sessions::one))
        .route("/v1/rules", get(rules))
        .route("/v1/rules/reload", post(reload))
        .route("/v1/rules/evaluate", post(evaluate::evaluate))
        .route("/v1/rules/test", post(evaluate::test))
        .route("/v1/rules/{id}", get(rule))
        .merge(super::requests::router())
        .route("/v1/asks", get(asks::list))
        .route("/v1/asks/{id}/answer", post(asks::answer))
        .route("/v1/decisions", get(decisions::decisions))
        .route("/v1/decisions/stream", get(stream::stream))
        .route("/metrics", get(metrics::metrics))
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
    let trigger = Trigger::Operator { uid: peer.uid };
    match beside(move || door.rules.reload(trigger, &door.recorder)).await? {
        Ok(set) => Ok(success(json!({
            "generation": set.generation,
            "digest": set.engine.digest(),
            "count": set.engine.rules().len(),
        }))),
        Err(ReloadError::Rules(error)) => Ok(failure(422, answers::invalid(&error))),
        Err(error @ ReloadError::Log(_)) => Err(Refusal::new(503, error.to_string())),
    }
}

/// Does what takes time without keeping other requests waiting.
pub(super) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Refusal::new(500, error.to_string()))
}
