//! The sessions that run.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};

use super::Office;
use super::answers::when;
use super::routes::beside;
use crate::api::envelope::{Refusal, success};
use crate::attach::session::Session;

pub(super) async fn list(State(office): State<Arc<Office>>) -> Response {
    let sessions = office.door.sessions();
    let profile = &office.door.profile.name;
    let list: Vec<Value> = sessions.iter().map(|session| described(session, profile)).collect();
    success(json!({ "sessions": list }))
}

pub(super) async fn one(
    State(office): State<Arc<Office>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let Path(id) = id.map_err(|rejection| Refusal::new(400, rejection.body_text()))?;
    let sessions = office.door.sessions();
    let Some(session) = sessions.iter().find(|session| session.identity.id == id) else {
        let message = format!("no session '{id}' runs; to see all: outcallctl ps");
        return Err(Refusal::new(404, message));
    };
    let mut described = described(session, &office.door.profile.name);
    let shim = session.shim();
    described["processes"] = beside(move || descendants(shim)).await?.into_iter().collect();
    described["labels"] = json!(session.identity.labels);
    Ok(success(described))
}

fn described(session: &Session, profile: &str) -> Value {
    let identity = &session.identity;
    let [allowed, refused, failed] = session.counts();
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    json!({
        "id": identity.id,
        "container": given(&identity.container),
        "container_name": given(&identity.container_name),
        "image": given(&identity.image),
        "agent": given(&identity.agent),
        "workspace": identity.workspace,
        "mode": session.mode.as_str(),
        "profile": profile,
        "begun": when(session.begun),
        "shim": session.shim(),
        "counts": { "allowed": allowed, "refused": refused, "failed": failed },
    })
}

/// The living processes below one, as far as their parents still live.
fn descendants(root: i32) -> BTreeSet<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in procfs::process::all_processes().into_iter().flatten().flatten() {
        if let Ok(stat) = process.stat() {
            children.entry(stat.ppid).or_default().push(stat.pid);
        }
    }
    let mut found = BTreeSet::new();
    let mut unseen = vec![root];
    while let Some(parent) = unseen.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.insert(child);
            unseen.push(child);
        }
    }
    found
}
