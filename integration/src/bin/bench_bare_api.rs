//! The least that a permission check can cost: an axum handler that returns a constant, on a Unix
//! socket, with as many threads as outcalld serves with.
#![allow(clippy::expect_used)]

use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

async fn constant(Json(_asked): Json<Value>) -> Json<Value> {
    Json(json!({
        "success": true,
        "data": { "allowed": true, "matched_rule": "rule-7f8e9d", "reason": null },
    }))
}

fn main() {
    let path = std::env::args_os().nth(1).expect("the path of a socket");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::UnixListener::bind(path).expect("a socket");
        let router = Router::new().route("/v1/permissions/check", post(constant));
        axum::serve(listener, router).await.expect("it serves");
    });
}
