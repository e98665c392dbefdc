//! The envelope around every answer: `{"success":true,"data":…}` or `{"success":false,"error":"…"}`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A request that is turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// After how many seconds it is worth another try.
    pub(crate) retry_after: Option<u64>,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    /// Too much for now: 429, and when to come back, in whole seconds and never at once.
    pub(crate) fn too_many(message: impl Into<String>, wait: std::time::Duration) -> Self {
        let seconds = wait.as_millis().div_ceil(1000).clamp(1, u128::from(u32::MAX));
        let retry_after = Some(u64::try_from(seconds).unwrap_or(1));
        Self { status: 429, message: message.into(), retry_after }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({ "success": false, "error": self.message });
        let mut response = failure(self.status, body);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// An answer with data.
pub(super) fn success(data: Value) -> Response {
    Json(json!({ "success": true, "data": data })).into_response()
}

/// An answer that says more about what went wrong than one sentence.
pub(super) fn failure(status: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(body)).into_response()
}

pub(super) async fn no_resource() -> Refusal {
    Refusal::new(404, "no such resource")
}

pub(super) async fn no_method() -> Refusal {
    Refusal::new(405, "that method is not for this resource")
}
