use super::*;
use crate::default_rules;
use crate::yaml::{Node, Value as Yaml, read};

fn parsed() -> Value {
    serde_json::from_str(&schema()).unwrap()
}

fn to_json(node: &Node) -> Value {
    match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => json!(value),
        Yaml::Int(value) => json!(value),
        Yaml::Float => json!(0.5),
        Yaml::Str(text) => json!(text),
        Yaml::List(items) => items.iter().map(to_json).collect(),
        Yaml::Map(entries) => Value::Object(
            entries.iter().map(|(key, node)| (key.text.clone(), to_json(node))).collect(),
        ),
    }
}

/// Whether a value satisfies a schema, for the keywords that this schema uses and no others.
fn satisfies(root: &Value, schema: &Value, value: &Value) -> bool {
    let Value::Object(keywords) = schema else { return schema == &json!(true) };
    keywords.iter().all(|(keyword, wanted)| match keyword.as_str() {
        "$schema" | "title" | "description" | "default" | "$defs" => true,
        "$ref" => {
            let target = wanted.as_str().and_then(|path| path.strip_prefix('#')).unwrap();
            satisfies(root, root.pointer(target).unwrap(), value)
        }
        "type" => match wanted {
            Value::Array(kinds) => kinds.iter().any(|kind| is_kind(value, kind)),
            kind => is_kind(value, kind),
        },
        "const" => value == wanted,
        "enum" => wanted.as_array().unwrap().contains(value),
        "required" => value.as_object().is_none_or(|object| {
            wanted.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
        }),
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| satisfies(root, wanted, item))),
        "minimum" => value.as_i64().is_none_or(|number| number >= wanted.as_i64().unwrap()),
        "maximum" => value.as_i64().is_none_or(|number| number <= wanted.as_i64().unwrap()),
        "minLength" => length(value).is_none_or(|length| length >= wanted.as_u64().unwrap()),
        "maxLength" => length(value).is_none_or(|length| length <= wanted.as_u64().unwrap()),
        "pattern" => value.as_str().is_none_or(|text| matches(wanted.as_str().unwrap(), text)),
        "properties" | "patternProperties" | "additionalProperties" => value
            .as_object()
            .is_none_or(|object| object.iter().all(|entry| is_property(root, keywords, entry))),
        other => panic!("the schema uses `{other}`, which this test does not know"),
    })
}

fn is_property(root: &Value, keywords: &Map<String, Value>, entry: (&String, &Value)) -> bool {
    let (key, value) = entry;
    let named = keywords.get("properties").and_then(|properties| properties.get(key));
    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
    let matching = patterns.into_iter().flatten().filter(|(pattern, _)| matches(pattern, key));
    let mut schemas: Vec<&Value> = matching.map(|(_, schema)| schema).chain(named).collect();
    if schemas.is_empty() {
        schemas.push(&keywords["additionalProperties"]);
    }
    schemas.iter().all(|schema| satisfies(root, schema, value))
}

fn is_kind(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        other => panic!("the schema uses the type `{other}`, which this test does not know"),
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

/// The regular expressions of JSON Schema write `\u0000` where ours write `\x00`.
fn matches(pattern: &str, text: &str) -> bool {
    let pattern = pattern.replace("\\u00", "\\x");
    regex_automata::meta::Regex::new(&pattern).unwrap().is_match(text)
}

fn accepts(text: &str) -> bool {
    let root = parsed();
    satisfies(&root, &root, &to_json(&read("a.yaml", text).unwrap()))
}

#[test]
fn every_key_and_every_fact_is_there_with_a_description() {
    let root = parsed();
    let described = |path: String| {
        let found = root.pointer(&path).unwrap_or_else(|| panic!("{path} is missing"));
        let text = found.get("description").and_then(Value::as_str).unwrap_or_default();
        assert!(!text.is_empty(), "{path} has no description");
    };
    for key in FILE_KEYS {
        described(format!("/properties/{key}"));
    }
    for key in RULE_KEYS {
        described(format!("/$defs/rule/properties/{key}"));
    }
    for key in EXAMPLE_KEYS {
        described(format!("/$defs/examples/properties/{key}"));
    }
    for fact in &FACTS {
        described(format!("/$defs/facts/properties/{}", fact.name));
        if let Some((group, field)) = fact.name.split_once('.') {
            described(format!("/$defs/facts/properties/{group}"));
            described(format!("/$defs/facts/properties/{group}/properties/{field}"));
        }
    }
}

#[test]
fn every_mapping_is_closed_or_says_what_it_holds() {
    fn walk(value: &Value) {
        if value.get("properties").is_some_and(|properties| properties.get("properties").is_none())
        {
            assert_eq!(value.get("additionalProperties"), Some(&json!(false)), "{value}");
        }
        match value {
            Value::Object(entries) => entries.values().for_each(walk),
            Value::Array(items) => items.iter().for_each(walk),
            _ => {}
        }
    }
    walk(&parsed());
}

#[test]
fn the_shipped_rules_satisfy_it() {
    for file in default_rules() {
        assert!(accepts(&file.text), "{}", file.name);
    }
}

#[test]
fn it_agrees_with_the_reader_about_shapes() {
    let rule = |lines: &str| {
        format!(
            "version: \"1\"\nrules:\n  - {{ id: a, condition: \"true\", action: allow, {lines} }}\n"
        )
    };
    for text in [
        "version: \"1\"\n".to_owned(),
        "version: \"1\"\nrules:\ndefinitions:\n".to_owned(),
        "version: \"1\"\ndefinitions: { a_1: x, b: true }\n".to_owned(),
        rule("priority: -5, description: x, reason: y"),
        rule(
            "examples: { match: [{ target: x, source: api, process: { pid: 1 } }], no_match: [] }",
        ),
        rule(
            "examples: { match: [{ process.pid: 1, container.labels: { a: b }, run.args: [x] }] }",
        ),
    ] {
        assert!(accepts(&text), "{text}");
        assert!(crate::source::read_file("a.yaml", &text).is_ok(), "{text}");
    }
    for text in [
        "rules: []\n".to_owned(),
        "version: 1\n".to_owned(),
        "version: \"1\"\nrulez: []\n".to_owned(),
        "version: \"1\"\ndefinitions: { a-b: x }\n".to_owned(),
        "version: \"1\"\nrules: [{ id: a, action: allow }]\n".to_owned(),
        "version: \"1\"\nrules: [{ id: '', condition: x, action: allow }]\n".to_owned(),
        "version: \"1\"\nrules: [{ id: \"a\\nb\", condition: x, action: allow }]\n".to_owned(),
        "version: \"1\"\nrules: [{ id: a, condition: x, action: alow }]\n".to_owned(),
        rule("priority: high"),
        rule("acton: x"),
        rule("examples: { matches: [] }"),
    ] {
        assert!(!accepts(&text), "{text}");
        assert!(crate::source::read_file("a.yaml", &text).is_err(), "{text}");
    }
    for facts in [
        "targt: x",
        "source: door",
        "process: { pid: one }",
        "process: { pidd: 1 }",
        "run.args: x",
        "run: { args: [1] }",
        "metadata: { a: 1 }",
    ] {
        assert!(!accepts(&rule(&format!("examples: {{ match: [{{ {facts} }}] }}"))), "{facts}");
    }
}
