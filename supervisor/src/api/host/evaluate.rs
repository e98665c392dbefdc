//! Questions to the rules in force, with nothing done and nothing recorded.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::StringRejection;
use axum::response::Response;
use policy::{CaseResult, Facts, LoadErrors, NearMiss, RuleRef, SourceFile, Suite};
use serde_json::{Value, json};

use super::routes::beside;
use super::{Office, answers};
use crate::api::envelope::{Refusal, failure, success};
use crate::judge::rules::{RulesError, Ruleset};

/// One question: a mapping of facts as in a rule's example.
pub(super) async fn evaluate(
    State(office): State<Arc<Office>>,
    body: Result<String, StringRejection>,
) -> Result<Response, Refusal> {
    let facts = match policy::read_question(&source("question", body)?) {
        Ok(facts) => facts,
        Err(errors) => return Ok(wrong(errors)),
    };
    let set = arc_swap::Guard::into_inner(office.door.rules.current());
    Ok(success(beside(move || evaluated(&set, &facts)).await?))
}

fn evaluated(set: &Ruleset, facts: &Facts) -> Value {
    let decision = set.engine.decide(facts);
    let misses: Vec<Value> = set.engine.near_misses(facts).iter().map(missed).collect();
    json!({
        "action_type": facts.action_type.as_str(),
        "target": facts.target,
        "verdict": decision.verdict.as_str(),
        "rule": decision.rule.as_deref().map(place),
        "reason": decision.reason(facts),
        "explanation": policy::explain(facts, &decision),
        "errors": decision.errors,
        "near_misses": misses,
        "policy": set.policy(),
    })
}

fn missed(miss: &NearMiss) -> Value {
    json!({
        "rule": place(&miss.rule),
        "action": miss.action.as_str(),
        "test": miss.test,
        "explanation": policy::explain_near_miss(miss),
    })
}

fn place(rule: &RuleRef) -> Value {
    json!({ "id": rule.id, "file": rule.file, "line": rule.line })
}

/// A file of cases, as `outcallctl rules test --cases` takes it.
pub(super) async fn test(
    State(office): State<Arc<Office>>,
    body: Result<String, StringRejection>,
) -> Result<Response, Refusal> {
    let source = source("cases", body)?;
    let set = arc_swap::Guard::into_inner(office.door.rules.current());
    let tested = beside(move || {
        let results = Suite::read(&source)?.run(&set.engine);
        let passed = results.iter().filter(|result| result.passed()).count();
        Ok(json!({
            "passed": passed,
            "failed": results.len() - passed,
            "results": results.iter().map(told).collect::<Vec<_>>(),
            "policy": set.policy(),
        }))
    });
    match tested.await? {
        Ok(results) => Ok(success(results)),
        Err(errors) => Ok(wrong(errors)),
    }
}

fn told(result: &CaseResult) -> Value {
    json!({
        "name": result.name,
        "line": result.line,
        "passed": result.passed(),
        "verdict": result.decision.verdict.as_str(),
        "rule": result.decision.rule.as_deref().map(place),
        "complaints": result.complaints,
    })
}

fn source(name: &str, body: Result<String, StringRejection>) -> Result<SourceFile, Refusal> {
    let text =
        body.map_err(|rejection| Refusal::new(rejection.status().as_u16(), rejection.body_text()))?;
    Ok(SourceFile { name: name.to_owned(), text })
}

/// Every mistake with its place.
fn wrong(errors: LoadErrors) -> Response {
    failure(422, answers::invalid(&RulesError::Invalid(errors)))
}
