//! Rule requests, for operators: which wait, what they would do, and yes or no.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use policy::{Engine, SourceFile, Verdict};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::answers::{diagnosed, listed, shown};
use super::routes::Office;
use crate::api::agent::Peer;
use crate::api::envelope::{Refusal, failure, success};
use crate::judge::rules::{ReloadError, RulesError};
use crate::requests::{Approval, DecideError, Entry, FLOOR, Requests, Status, confined, raised};

/// Bytes of a rejection's reason.
const MAX_REASON: usize = 1_024;

pub(super) fn router() -> Router<Arc<Office>> {
    Router::new()
        .route("/v1/requests/rules", get(list))
        .route("/v1/requests/rules/{id}", get(show))
        .route("/v1/requests/rules/{id}/approve", post(approve))
        .route("/v1/requests/rules/{id}/reject", post(reject))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approving {
    #[serde(default)]
    widen: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rejecting {
    reason: String,
}

type Id = Result<Path<String>, PathRejection>;
type Text = Result<Bytes, BytesRejection>;

async fn list(State(office): State<Arc<Office>>, uri: Uri) -> Result<Response, Refusal> {
    let status = wanted_status(uri.query().unwrap_or_default())?;
    let requests = office.door.requests()?.clone();
    let entries = blocking(move || Ok(requests.list(status)?)).await.map_err(plain)?;
    let list: Vec<Value> = entries.iter().map(summary).collect();
    Ok(success(json!({ "requests": list })))
}

async fn show(State(office): State<Arc<Office>>, id: Id) -> Result<Response, Refusal> {
    let id = named(id)?;
    blocking(move || {
        let entry = requests(&office)?.find(&id)?.ok_or(DecideError::Unknown(id))?;
        Ok(success(described(&office, &entry)))
    })
    .await
    .map_err(plain)
}

async fn approve(
    State(office): State<Arc<Office>>,
    Extension(peer): Extension<Peer>,
    id: Id,
    body: Text,
) -> Result<Response, Refusal> {
    let id = named(id)?;
    let Approving { widen } = parsed(body, true)?;
    let approving = move || {
        let door = &office.door;
        requests(&office)?.approve(&id, widen, peer.uid, &door.rules, &door.recorder)
    };
    match blocking(approving).await {
        Ok(approval) => Ok(success(approved(&approval))),
        Err(error) => refused(error),
    }
}

async fn reject(
    State(office): State<Arc<Office>>,
    Extension(peer): Extension<Peer>,
    id: Id,
    body: Text,
) -> Result<Response, Refusal> {
    let id = named(id)?;
    let Rejecting { reason } = parsed(body, false)?;
    if reason.is_empty() || reason.len() > MAX_REASON || reason.chars().any(char::is_control) {
        let message = format!("a reason has 1 to {MAX_REASON} bytes and no control characters");
        return Err(Refusal::new(400, message));
    }
    let rejecting =
        move || requests(&office)?.reject(&id, &reason, peer.uid, &office.door.recorder);
    blocking(rejecting).await.map(|entry| success(summary(&entry))).map_err(plain)
}

fn requests(office: &Office) -> Result<&Arc<Requests>, DecideError> {
    office.door.requests().map_err(|refusal| DecideError::Unknown(refusal.message))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DecideError> + Send + 'static,
) -> Result<T, DecideError> {
    spawn_blocking(work).await.map_err(|error| std::io::Error::other(error.to_string()))?
}

fn wanted_status(query: &str) -> Result<Option<Status>, Refusal> {
    let mut wanted = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key != "status" {
            return Err(Refusal::new(400, format!("no parameter '{key}' here; there is 'status'")));
        }
        let status = Status::parse(value).ok_or_else(|| {
            let names = Status::ALL.map(Status::as_str);
            let near = crate::config::nearest(value, &names).unwrap_or("pending");
            Refusal::new(400, format!("no request is '{value}'; did you mean '{near}'?"))
        })?;
        wanted = Some(status);
    }
    Ok(wanted)
}

fn named(id: Id) -> Result<String, Refusal> {
    id.map(|Path(id)| id).map_err(|rejection| Refusal::new(400, rejection.body_text()))
}

/// A body of this shape; an empty one stands for `{}` where nothing is required.
fn parsed<T: DeserializeOwned>(body: Text, optional: bool) -> Result<T, Refusal> {
    let body = body.map_err(|error| Refusal::new(error.status().as_u16(), error.body_text()))?;
    let text: &[u8] = if optional && body.is_empty() { b"{}" } else { &body };
    serde_json::from_slice(text)
        .map_err(|error| Refusal::new(400, format!("the body is not what this takes: {error}")))
}

fn plain(error: DecideError) -> Refusal {
    let status = match &error {
        DecideError::Unknown(_) => 404,
        DecideError::Decided { .. } => 409,
        DecideError::Scopeless(_) | DecideError::Invalid(_) => 422,
        DecideError::Reload(ReloadError::Rules(_)) => 422,
        DecideError::Reload(ReloadError::Log(_)) | DecideError::Store(_) => 503,
        DecideError::File(_) => 500,
    };
    Refusal::new(status, error.to_string())
}

fn refused(error: DecideError) -> Result<Response, Refusal> {
    match &error {
        DecideError::Reload(ReloadError::Rules(cause @ RulesError::Invalid(_))) => {
            let mut body = super::answers::invalid(cause);
            body["error"] = crate::judge::rules::bounded(error.to_string()).into();
            Ok(failure(422, body))
        }
        _ => Err(plain(error)),
    }
}

fn summary(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "container": entry.container,
        "agent": entry.scope.agent,
        "status": entry.status.as_str(),
        "reason": entry.reason,
        "created": entry.created,
        "decided": entry.decided,
        "decided_by": entry.decided_by,
        "widened": entry.widened,
        "error": entry.error,
    })
}

/// A request with what it would do: its rules as an approval would write them, what is odd about
/// them, and whether they would load beside those in force.
fn described(office: &Office, entry: &Entry) -> Value {
    let rules = &office.door.rules;
    let mut told = summary(entry);
    told["rule_file"] = entry.rule_file.clone().into();
    told["scope"] = scope(entry);
    told["priority_floor"] = FLOOR.into();
    told["priorities_raised"] = raised(entry).into();
    let (files, trial) = match confined(entry, false) {
        Ok(file) if entry.status == Status::Pending => (vec![file.clone()], rules.trial(file)),
        Ok(file) => (vec![file], Ok(())),
        Err(errors) => (Vec::new(), Err(RulesError::Invalid(errors))),
    };
    told["confined_file"] = files.first().map(|file| file.text.clone()).into();
    told["diagnostics"] = match &trial {
        Err(RulesError::Invalid(errors)) => errors.iter().map(diagnosed).collect(),
        Err(error) => vec![json!({ "message": error.to_string() })],
        Ok(()) => Vec::new(),
    }
    .into();
    told["warnings"] = warnings(office, entry);
    let Ok(engine) = Engine::load(&files) else { return told };
    let list = |wanted: &dyn Fn(Verdict) -> bool| -> Value {
        let each = engine.rules().iter().filter(|rule| wanted(rule.action)).map(|rule| {
            let mut told = listed(rule);
            told["condition"] = rule.condition.clone().into();
            told
        });
        each.collect::<Vec<_>>().into()
    };
    told["rules"] = list(&|_| true);
    told["would_allow"] = list(&|action| action == Verdict::Allow);
    told
}

/// What is odd about the file as it was sent: within a scope nothing allows everything.
fn warnings(office: &Office, entry: &Entry) -> Value {
    let files = [SourceFile { name: format!("{}.yaml", entry.id), text: entry.rule_file.clone() }];
    let Ok(engine) = Engine::load(&files) else { return json!([]) };
    let places = &office.door.rules.current().places;
    let protected: Vec<String> = places.iter().map(|path| shown(path)).collect();
    policy::lint(&files, &engine, &protected).iter().map(diagnosed).collect()
}

fn scope(entry: &Entry) -> Value {
    match entry.scope.condition() {
        Some((fact, value)) => json!({ "fact": fact, "value": value }),
        None => Value::Null,
    }
}

fn approved(approval: &Approval) -> Value {
    let entry = &approval.entry;
    let mut told = summary(entry);
    let kept = if entry.widened { Value::Null } else { scope(entry) };
    told["says"] = match (entry.scope.condition(), entry.widened) {
        (Some((fact, value)), false) => {
            format!("its rules hold where {fact} is '{value}', and come after priority {FLOOR}")
        }
        _ => "its rules hold for everybody, with the priorities that they name".to_owned(),
    }
    .into();
    told["scope"] = kept;
    told["priorities_raised"] = approval.raised.clone().into();
    told["file"] = shown(&approval.file).into();
    told["generation"] = approval.set.generation.into();
    told["digest"] = approval.set.engine.digest().into();
    told
}
