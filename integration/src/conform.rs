//! Answers against the OpenAPI document: as much of JSON Schema as it uses, and nothing is skipped.

use serde_json::Value;

/// The shipped document.
#[must_use]
pub fn document() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/agent-api.openapi.json");
    let text = std::fs::read_to_string(path).expect("the document");
    serde_json::from_str(&text).expect("the document is JSON")
}

/// What is wrong with an answer; nothing if it is as documented.
#[must_use]
pub fn mistakes(
    document: &Value,
    method: &str,
    path: &str,
    status: u16,
    body: &Value,
) -> Vec<String> {
    let operation = &document["paths"][path][method.to_ascii_lowercase()];
    let response = followed(document, &operation["responses"][status.to_string()]);
    let schema = &response["content"]["application/json"]["schema"];
    if schema.is_null() {
        return vec![format!("{method} {path}: status {status} is not documented")];
    }
    let mut mistakes = Vec::new();
    check(document, schema, body, "$", &mut mistakes);
    mistakes
}

fn followed<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).expect("a reference leads somewhere"),
        None => schema,
    }
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, mistakes: &mut Vec<String>) {
    let schema = followed(document, schema);
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        let holds = match keyword.as_str() {
            "type" => wanted.as_array().map_or_else(
                || is_a(wanted, value),
                |any| any.iter().any(|wanted| is_a(wanted, value)),
            ),
            "const" => wanted == value,
            "enum" => wanted.as_array().expect("a list").contains(value),
            "required" => {
                let names = wanted.as_array().expect("a list");
                names.iter().all(|name| value.get(name.as_str().unwrap_or_default()).is_some())
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                value
                    .as_object()
                    .is_none_or(|fields| fields.keys().all(|key| known.get(key).is_some()))
            }
            "properties" => {
                for (name, schema) in wanted.as_object().expect("fields") {
                    if let Some(field) = value.get(name) {
                        check(document, schema, field, &format!("{at}.{name}"), mistakes);
                    }
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, wanted, item, &format!("{at}[{index}]"), mistakes);
                }
                true
            }
            "oneOf" => {
                let fits = |schema: &&Value| {
                    let mut found = Vec::new();
                    check(document, schema, value, at, &mut found);
                    found.is_empty()
                };
                wanted.as_array().expect("a list").iter().filter(fits).count() == 1
            }
            "minLength" => {
                value.as_str().is_none_or(|text| text.len() as u64 >= wanted.as_u64().unwrap_or(0))
            }
            "pattern" => {
                matches_hex(wanted.as_str().unwrap_or_default(), value.as_str().unwrap_or_default())
            }
            "description" | "contentEncoding" => true,
            other => panic!("the schema uses {other}, which this does not know"),
        };
        if !holds {
            mistakes.push(format!("{at}: {value} is against {keyword}: {wanted}"));
        }
    }
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64(),
        other => panic!("no type {other}"),
    }
}

/// Patterns of the form `^prefix-[0-9a-f]{N}$`, the only ones in answers.
fn matches_hex(pattern: &str, text: &str) -> bool {
    let (prefix, rest) = pattern[1..].split_once('[').expect("a pattern of that form");
    let count = rest.split(['{', '}']).nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    let digits = text.strip_prefix(prefix).unwrap_or_default();
    digits.len() == count && digits.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}
