//! The routes, each answering in the envelope.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use base64::Engine as _;
use serde_json::json;

use super::body::Empty;
use super::connection::Arrivals;
use super::door::{Door, Peer};
use super::pulse::Pulse;
use crate::api::envelope::{self, Refusal, success};

pub(super) fn router(door: Arc<Door>) -> Router {
    Router::new()
        .route("/v1/checkin", post(check_in))
        .route("/v1/profile", get(profile))
        .route("/v1/supervise", post(supervise))
        .route("/v1/heartbeat", get(heartbeat))
        .route("/v1/permissions/check", post(super::check::check))
        .route("/v1/denials", get(super::denials::denials))
        .route("/v1/requests/rules", post(super::requests::submit))
        .route("/v1/requests/rules/{id}", get(super::requests::status))
        .fallback(envelope::no_resource)
        .method_not_allowed_fallback(envelope::no_method)
        .with_state(door)
}

async fn check_in(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    _: Empty,
) -> Result<Response, Refusal> {
    let checked_in = door.check_in(peer).await?;
    Ok(success(json!({
        "container_id": checked_in.container,
        "session_token": checked_in.token,
        "context_keys": ["action_type", "target", "metadata"],
    })))
}

async fn profile(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    door.authorise(peer, bearer(&headers))?;
    let filter = &door.profile.filter;
    Ok(success(json!({
        "name": door.profile.name,
        "digest": filter.digest(),
        "filter": base64::engine::general_purpose::STANDARD.encode(filter.program()),
        "signal_scope": true,
    })))
}

async fn supervise(
    State(door): State<Arc<Door>>,
    Extension(peer): Extension<Peer>,
    Extension(arrivals): Extension<Arrivals>,
    Extension(pulse): Extension<Arc<Pulse>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let listener = arrivals.take();
    let asker = door.authorise(peer, bearer(&headers))?;
    let session = door.supervise(&asker, listener, &pulse)?;
    Ok(success(json!({ "session": session })))
}

/// A log that cannot be written turns answers into denials; it does not end the workload.
async fn heartbeat(State(door): State<Arc<Door>>) -> Response {
    success(json!({ "alive": true, "recording": door.is_recording() }))
}

pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}
