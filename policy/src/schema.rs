//! The JSON Schema of a rule file, from the tables that the reader itself uses.

pub(crate) mod keys;

use serde_json::{Map, Value, json};

use crate::facts::{ActionType, Facts, Source};
use crate::source::{EXAMPLE_KEYS, FILE_KEYS, REQUIRED_KEYS, RULE_KEYS};
use crate::vocabulary::{FACTS, Fact, Slot, fact, fields_of, first_names, is_group, member};

/// The JSON Schema (draft 2020-12) of a rule file, for editors. What it accepts may still be
/// refused when it is loaded: conditions are texts to it, and it runs no example.
#[must_use]
pub fn schema() -> String {
    let mut root = object(&FILE_KEYS, keys::of_file);
    insert(&mut root, "$schema", json!("https://json-schema.org/draft/2020-12/schema"));
    insert(&mut root, "title", json!("Outcall rule file"));
    insert(&mut root, "description", json!("Rules that say what an agent may do."));
    insert(&mut root, "required", json!(["version"]));
    let mut rule = object(&RULE_KEYS, keys::of_rule);
    insert(&mut rule, "required", json!(REQUIRED_KEYS));
    let examples = object(&EXAMPLE_KEYS, keys::of_examples);
    let definitions = [
        ("condition", keys::condition()),
        ("rule", rule),
        ("examples", examples),
        ("facts", facts()),
    ];
    let definitions: Map<String, Value> =
        definitions.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    insert(&mut root, "$defs", Value::Object(definitions));
    format!("{root:#}\n")
}

/// A mapping with these keys and no others.
fn object(names: &[&str], of: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), of(name))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(entries) = object {
        entries.insert(key.to_owned(), value);
    }
}

/// The facts of an example: each by its dotted name, or under its group.
fn facts() -> Value {
    let mut names: Vec<&str> = FACTS.iter().map(|fact| fact.name).collect();
    names.extend(first_names().into_iter().filter(|name| is_group(name)));
    let mut facts = object(&names, |name| match fact(name) {
        Some(fact) => kind(fact),
        None => group(name),
    });
    insert(&mut facts, "description", json!("Facts of an action; those not named are empty."));
    facts
}

fn group(name: &str) -> Value {
    let field = |field: &str| member(name, field).map_or(Value::Bool(false), kind);
    let mut group = object(&fields_of(name), field);
    insert(&mut group, "description", json!(keys::group(name)));
    group
}

fn kind(fact: &Fact) -> Value {
    let mut value = match (fact.slot)(&mut Facts::default()) {
        Slot::Str(_) => json!({ "type": "string" }),
        Slot::Int(_) => json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }),
        Slot::List(_) => json!({ "type": "array", "items": { "type": "string" } }),
        Slot::Map(_) => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Slot::Source(_) => json!({ "enum": Source::ALL.map(Source::as_str) }),
        Slot::Action(_) => json!({ "enum": ActionType::ALL.map(ActionType::as_str) }),
    };
    let description = format!("{} Example: {}", fact.doc, fact.example);
    insert(&mut value, "description", json!(description));
    value
}

#[cfg(test)]
#[path = "tests/schema.rs"]
mod tests;
