//! The envelope: what counts as an answer, and why a request has none.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::failure::Failure;
use crate::http::Response;
use crate::json::{self, Json};

/// Why a request has no good answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The peer closed the connection.
    Closed,
    /// The socket's file is gone.
    Vanished,
    /// The kernel refused to send or receive.
    Io(io::Error),
    /// No complete answer in time.
    TimedOut(Duration),
    /// An answer that breaks the protocol.
    Malformed(&'static str),
    /// A well-formed refusal: status and the daemon's sentence.
    Refused(u16, String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed"),
            Self::Vanished => f.write_str("the agent socket is gone"),
            Self::Io(error) => write!(f, "the connection failed: {error}"),
            Self::TimedOut(limit) => write!(f, "no answer within {} s", limit.as_secs()),
            Self::Malformed(what) => write!(f, "the answer has {what}"),
            Self::Refused(status, sentence) => write!(f, "{sentence} (HTTP {status})"),
        }
    }
}

impl Failure {
    /// A request without a good answer: exit 5.
    pub(crate) fn from_call(what: &str, error: &CallError) -> Self {
        match error {
            CallError::Refused(..) => Self::unreachable(format!("{what} refused: {error}")),
            CallError::Malformed(_) => Self::unreachable(format!("{what} failed: {error}")),
            _ => Self::lost_because(format!("{what}: {error}")),
        }
    }
}

/// A complete response with the JSON of its body.
#[derive(Debug)]
pub(crate) struct Answer {
    status: u16,
    envelope: Json,
}

impl Answer {
    /// Reads a response.
    pub(crate) fn read(response: &Response) -> Result<Self, CallError> {
        let envelope =
            json::parse(&response.body).ok_or(CallError::Malformed("a body that is not JSON"))?;
        Ok(Self { status: response.status, envelope })
    }

    /// The data of an answer with the status that means success. A status and an envelope that
    /// contradict each other are no answer.
    pub(crate) fn data(self, good: u16) -> Result<Json, CallError> {
        let success = self.envelope.get("success").and_then(Json::as_bool);
        let absent = |key| self.envelope.get(key).is_none_or(|value| *value == Json::Null);
        match (success, self.status, self.envelope.get("error")) {
            (Some(true), status, _) if status == good && absent("error") => {
                Ok(self.envelope.get("data").cloned().unwrap_or(Json::Null))
            }
            (Some(false), 400.., Some(Json::String(sentence))) if absent("data") => {
                Err(CallError::Refused(self.status, sentence.clone()))
            }
            _ => Err(CallError::Malformed("a status and an envelope that do not fit together")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(status: u16, body: &str) -> Result<Json, CallError> {
        Answer::read(&Response { status, body: body.into() })?.data(200)
    }

    /// FR-011, EC-005: an envelope that contradicts itself or its status is no answer.
    #[test]
    fn only_a_consistent_envelope_is_an_answer() {
        assert!(data(200, r#"{"success":true,"data":{"a":1}}"#).unwrap().get("a").is_some());
        let refused = data(403, r#"{"success":false,"error":"no"}"#);
        assert_eq!(refused.unwrap_err().to_string(), "no (HTTP 403)");
        for (status, body) in [
            (200, r#"{"success":false,"error":"no"}"#),
            (200, r#"{"success":false,"data":{"allowed":true}}"#),
            (200, r#"{"success":true,"data":{},"error":"no"}"#),
            (201, r#"{"success":true,"data":{}}"#),
            (302, r#"{"success":true,"data":{}}"#),
            (403, r#"{"success":true,"data":{}}"#),
            (403, r#"{"success":false,"error":"no","data":{"allowed":true}}"#),
            (200, r#"{"success":"true","data":{}}"#),
            (200, r#"{"success":true,"success":true,"data":{}}"#),
            (200, r#"{"data":{}}"#),
            (500, r#"{"success":false}"#),
            (200, "[]"),
            (200, "not json"),
            (200, ""),
        ] {
            let outcome = data(status, body);
            assert!(matches!(outcome, Err(CallError::Malformed(_))), "{status} {body}");
        }
    }
}
