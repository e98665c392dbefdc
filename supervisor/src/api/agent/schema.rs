//! The agent API as an OpenAPI document: every request, every answer.

use serde_json::{Map, Value, json};

use crate::facts::explicit::{MAX_ENTRIES, MAX_TARGET};

/// The document.
pub(crate) fn openapi() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Outcall agent API",
            "version": "1",
            "summary": "What agents ask before they act, on /run/outcall/agent.sock.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "http://outcall", "description": "HTTP/1.1 over the Unix socket; the host name means nothing" }],
        "security": [{ "token": [] }],
        "paths": paths(),
        "components": {
            "securitySchemes": { "token": {
                "type": "http", "scheme": "bearer",
                "description": "The session_token of the check-in. It is worth something in its own container only.",
            } },
            "responses": responses(),
            "schemas": schemas(),
        },
    })
}

fn paths() -> Value {
    let id =
        json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }]);
    let mut check_in = operation(
        "checkIn",
        "Registers the calling container, by what the kernel says about it.",
        200,
        "CheckIn",
        &[400, 413, 415],
    );
    check_in["security"] = json!([]);
    check_in["requestBody"] = json!({ "required": false, "content": content("Nothing") });
    let mut heartbeat =
        operation("heartbeat", "Whether decisions can be had.", 200, "Heartbeat", &[]);
    heartbeat["security"] = json!([{}, { "token": [] }]);
    let taking = |mut operation: Value, body: &str| {
        operation["requestBody"] = json!({ "required": true, "content": content(body) });
        operation
    };
    let check = operation(
        "check",
        "A verdict before an action; a denial is a 200.",
        200,
        "Verdict",
        &[400, 413, 415],
    );
    let submit = operation(
        "submitRules",
        "Asks an operator for rules.",
        201,
        "RuleRequest",
        &[400, 413, 415, 422],
    );
    let mut status = operation(
        "ruleRequest",
        "How far one's own request has come.",
        200,
        "RuleRequest",
        &[400, 404],
    );
    status["parameters"] = id;
    json!({
        "/v1/checkin": { "post": check_in },
        "/v1/permissions/check": { "post": taking(check, "Check") },
        "/v1/requests/rules": { "post": taking(submit, "Submission") },
        "/v1/requests/rules/{id}": { "get": status },
        "/v1/denials": { "get": operation("denials", "What was denied to this container lately.", 200, "Denials", &[]) },
        "/v1/heartbeat": { "get": heartbeat },
        "/v1/profile": { "get": operation("profile", "The seccomp filter of this container.", 200, "Profile", &[]) },
        "/v1/supervise": { "post": operation("supervise", "Hands a seccomp listener over: the descriptor rides on the request's first bytes.", 200, "Supervised", &[400]) },
    })
}

/// An operation with its answer, and with the failures that any request can meet beside its own.
fn operation(id: &str, summary: &str, status: u16, answer: &str, failures: &[u16]) -> Value {
    let mut responses = Map::new();
    let described =
        json!({ "description": "Done", "content": content(&format!("{answer}Answer")) });
    responses.insert(status.to_string(), described);
    let always = [401, 403, 405, 408, 500, 503];
    for failure in always.iter().chain(failures) {
        let reference = json!({ "$ref": "#/components/responses/Failure" });
        responses.insert(failure.to_string(), reference);
    }
    responses.insert("429".to_owned(), json!({ "$ref": "#/components/responses/TooMany" }));
    json!({ "operationId": id, "summary": summary, "responses": responses })
}

fn content(schema: &str) -> Value {
    json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") } } })
}

fn responses() -> Value {
    json!({
        "Failure": { "description": "Turned away, and why", "content": content("Failure") },
        "TooMany": {
            "description": "Too many requests; Retry-After says when to come back",
            "headers": { "Retry-After": {
                "required": true,
                "description": "Whole seconds, at least 1",
                "schema": { "type": "integer", "minimum": 1 },
            } },
            "content": content("Failure"),
        },
    })
}

fn schemas() -> Value {
    let mut all = Map::new();
    for (name, schema) in requests().into_iter().chain(plain_answers()).chain(answers_on_rules()) {
        if !matches!(name, "Nothing" | "Check" | "Submission" | "Denial") {
            let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
            let envelope = record(&[("success", json!({ "const": true })), ("data", reference)]);
            all.insert(format!("{name}Answer"), envelope);
        }
        all.insert(name.to_owned(), schema);
    }
    let failure = record(&[
        ("success", json!({ "const": false })),
        ("error", json!({ "type": "string", "minLength": 1 })),
    ]);
    all.insert("Failure".to_owned(), failure);
    Value::Object(all)
}

fn requests() -> Vec<(&'static str, Value)> {
    let actions: Vec<&str> = policy::ActionType::ALL.iter().map(|action| action.as_str()).collect();
    let mut check = record(&[
        ("action_type", json!({ "enum": actions })),
        (
            "target",
            json!({
                "type": "string", "minLength": 1, "maxLength": MAX_TARGET, "pattern": "^[^\\u0000]*$",
                "description": "A tool, a URL or address, a path, a command",
            }),
        ),
    ]);
    check["properties"]["metadata"] = json!({
        "type": "object", "maxProperties": MAX_ENTRIES,
        "description": "For rules to match on: texts, numbers and truths become text, the rest compact JSON. \
            command, args, argv, cwd, operation, mode, flags, method, protocol, path and url become facts.",
    });
    vec![
        ("Nothing", json!({ "type": "object" })),
        ("Check", check),
        (
            "Submission",
            record(&[(
                "rule_file",
                json!({
                    "type": "string", "description": "A whole rule file (YAML)",
                }),
            )]),
        ),
    ]
}

fn plain_answers() -> Vec<(&'static str, Value)> {
    let text = || json!({ "type": "string" });
    vec![
        (
            "CheckIn",
            record(&[
                ("container_id", json!({ "type": "string", "minLength": 1 })),
                ("session_token", json!({ "type": "string", "pattern": "^tok-[0-9a-f]{32}$" })),
                ("context_keys", json!({ "const": ["action_type", "target", "metadata"] })),
            ]),
        ),
        (
            "Heartbeat",
            record(&[
                ("alive", json!({ "const": true })),
                ("recording", json!({ "type": "boolean" })),
            ]),
        ),
        (
            "Profile",
            record(&[
                ("name", text()),
                ("digest", text()),
                ("filter", json!({ "type": "string", "contentEncoding": "base64" })),
                ("signal_scope", json!({ "type": "boolean" })),
            ]),
        ),
        ("Supervised", record(&[("session", text())])),
    ]
}

fn answers_on_rules() -> Vec<(&'static str, Value)> {
    let text = || json!({ "type": "string" });
    let text_or_null = || json!({ "type": ["string", "null"] });
    let truth = || json!({ "type": "boolean" });
    let verdict = |allowed: bool, reason: Value| {
        record(&[
            ("allowed", json!({ "const": allowed })),
            ("matched_rule", text_or_null()),
            ("reason", reason),
        ])
    };
    let denial = record(&[
        ("when", text()),
        ("source", json!({ "enum": ["kernel", "api"] })),
        ("action_type", text()),
        ("operation", text_or_null()),
        ("target", text()),
        ("matched_rule", text_or_null()),
        ("reason", text()),
        ("asking_can_help", truth()),
        ("do_not_retry", truth()),
    ]);
    let list = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Denial" } });
    vec![
        (
            "Verdict",
            json!({ "oneOf": [
            verdict(true, json!({ "type": "null" })),
            verdict(false, json!({ "type": "string", "minLength": 1 })),
        ] }),
        ),
        (
            "RuleRequest",
            record(&[
                ("id", json!({ "type": "string", "pattern": "^rr-[0-9a-f]{16}$" })),
                ("status", json!({ "enum": ["pending", "approved", "rejected"] })),
                ("reason", text_or_null()),
            ]),
        ),
        ("Denial", denial),
        ("Denials", record(&[("denials", list)])),
    ]
}

/// An object with exactly these fields.
fn record(fields: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object", "additionalProperties": false,
        "required": required, "properties": properties,
    })
}

#[cfg(test)]
mod tests {
    /// The shipped document is what the code says.
    #[test]
    fn the_document_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/agent-api.openapi.json");
        let shipped = std::fs::read_to_string(path).unwrap_or_default();
        let current = serde_json::to_string_pretty(&super::openapi()).unwrap() + "\n";
        assert!(
            shipped == current,
            "next: outcallctl api schema > docs/reference/agent-api.openapi.json"
        );
    }
}
