use super::*;

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    #[serde(rename = "target")]
    _target: String,
}

async fn asked(content_type: Option<&str>, body: impl Into<axum::body::Body>) -> (u16, String) {
    let mut request = Request::post("/x");
    if let Some(content_type) = content_type {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    let request = request.body(body.into()).unwrap();
    match Body::<Question>::from_request(request, &()).await {
        Ok(_) => (200, String::new()),
        Err(refusal) => (refusal.status, refusal.message),
    }
}

const JSON: Option<&str> = Some("application/json");

/// IF-005: bad JSON and unknown fields are 400, another content type is 415.
#[tokio::test]
async fn a_body_is_json_of_the_right_shape_or_refused() {
    assert_eq!(asked(JSON, r#"{"target":"x"}"#).await.0, 200);
    assert_eq!(asked(Some("Application/JSON; charset=utf-8"), r#"{"target":"x"}"#).await.0, 200);
    assert_eq!(asked(Some("text/plain"), r#"{"target":"x"}"#).await.0, 415);
    assert_eq!(asked(None, r#"{"target":"x"}"#).await.0, 415);
    for bad in ["", "{", "{}x", r#"{"target":1}"#, r#"{"target":"x","target":"y"}"#, "[]", "{}"] {
        assert_eq!(asked(JSON, bad).await.0, 400, "{bad}");
    }
    assert_eq!(asked(JSON, &b"{\"target\":\"\xff\"}"[..]).await.0, 400);
    let (status, message) = asked(JSON, r#"{"targt":"x"}"#).await;
    assert_eq!(status, 400);
    assert!(message.contains("unknown field `targt`"), "{message}");
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Wide {
    #[serde(default, rename = "action_type")]
    _action_type: String,
    #[serde(default, rename = "target")]
    _target: String,
}

#[test]
fn an_unknown_field_gets_the_nearest_name() {
    let refusal = parse::<Wide>(br#"{"targt":"x"}"#).unwrap_err();
    assert!(refusal.message.ends_with("did you mean 'target'?"), "{}", refusal.message);
    let refusal = parse::<Wide>(br#"{"completely_else":"x"}"#).unwrap_err();
    assert!(!refusal.message.contains("did you mean"), "{}", refusal.message);
}

/// EC-010: a body over the limit is 413, one at the limit is not.
#[tokio::test]
async fn a_body_has_its_size() {
    let text = |length: usize| format!("{{\"target\":\"{}\"}}", "a".repeat(length - 13));
    assert_eq!(asked(JSON, text(64 * 1024)).await.0, 200);
    let (status, message) = asked(JSON, text(64 * 1024 + 1)).await;
    assert_eq!((status, message.as_str()), (413, "the body is larger than 65536 bytes"));
}
