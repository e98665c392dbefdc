//! The envelope around every answer: `{"success":true,"data":…}` or `{"success":false,"error":"…"}`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A request that is turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        failure(self.status, json!({ "success": false, "error": self.message }))
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
