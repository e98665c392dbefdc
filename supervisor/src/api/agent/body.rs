//! A request's body: JSON of one shape, within its size, in time.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::api::Refusal;
use crate::config::limits::Limits;

/// How large a body may be, and how long it may take to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) size: usize,
    pub(crate) patience: Duration,
}

/// A body that is too large is read on, so that the next request on the connection can be; up to here.
const MAX_DRAINED: usize = 8 * 1024 * 1024;

impl Default for BodyLimits {
    fn default() -> Self {
        Self { size: 64 * 1024, patience: Duration::from_secs(10) }
    }
}

impl From<&Limits> for BodyLimits {
    fn from(limits: &Limits) -> Self {
        let patience = Duration::from_secs(limits.body_seconds);
        Self { size: limits.body_bytes, patience }
    }
}

/// A body of the shape `T`, which denies unknown fields. Limits are an extension of the request.
#[derive(Debug)]
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let limits = request.extensions().get::<BodyLimits>().copied().unwrap_or_default();
        let (head, body) = request.into_parts();
        let bytes = collect(body, limits).await?;
        require_json(&head.headers)?;
        parse(&bytes).map(Self)
    }
}

/// No body, or `{}`.
#[derive(Debug)]
pub(super) struct Empty;

impl<S: Send + Sync> FromRequest<S> for Empty {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        let limits = request.extensions().get::<BodyLimits>().copied().unwrap_or_default();
        let (head, body) = request.into_parts();
        let bytes = collect(body, limits).await?;
        if !bytes.is_empty() {
            require_json(&head.headers)?;
            let Nothing {} = parse(&bytes)?;
        }
        Ok(Self)
    }
}

/// Reads a body to its end, or refuses it.
pub(super) async fn collect(
    mut body: axum::body::Body,
    limits: BodyLimits,
) -> Result<Bytes, Refusal> {
    let mut kept = Vec::new();
    let mut length = 0;
    let reading = async {
        while let Some(frame) = body.frame().await {
            let frame = frame
                .map_err(|error| Refusal::new(400, format!("the body ends too early: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            length += data.len();
            if length <= limits.size {
                kept.extend_from_slice(&data);
            } else if length > MAX_DRAINED {
                break;
            }
        }
        Ok(())
    };
    tokio::time::timeout(limits.patience, reading)
        .await
        .map_err(|_| Refusal::new(408, "the body does not come"))??;
    if length > limits.size {
        let size = limits.size;
        return Err(Refusal::new(413, format!("the body is larger than {size} bytes")));
    }
    Ok(Bytes::from(kept))
}

fn require_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = given.map(|given| given.split(';').next().unwrap_or_default().trim());
    match essence {
        Some(essence) if essence.eq_ignore_ascii_case("application/json") => Ok(()),
        _ => Err(Refusal::new(415, "the body must be JSON: send Content-Type: application/json")),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = if error.is_data() {
            format!("the body is not what this request takes: {error}{}", hint(&error.to_string()))
        } else {
            format!("the body is not JSON: {error}")
        };
        Refusal::new(400, message)
    })
}

/// The field that was meant, where serde tells of one that it does not know. It sets names in
/// backticks, the unknown one first.
fn hint(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    if !message.starts_with("unknown field") {
        return String::new();
    }
    // The distance is quadratic in length.
    let typed = names.next().filter(|typed| typed.len() <= 64).unwrap_or_default();
    let known: Vec<&str> = names.collect();
    crate::config::nearest(typed, &known)
        .map(|name| format!("; did you mean '{name}'?"))
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "tests/body.rs"]
mod tests;
