//! What each key of a rule file holds, and what it is for.

use serde_json::{Value, json};

use crate::source::{ACTIONS, DEFAULT_PRIORITY, MAX_ID_CHARS};

/// A key of the file.
pub(crate) fn of_file(name: &str) -> Value {
    match name {
        "version" => json!({
            "const": "1",
            "description": "The version of the format: the text \"1\".",
        }),
        "definitions" => json!({
            "type": ["object", "null"],
            "patternProperties": { "^[A-Za-z_][A-Za-z0-9_]*$": { "$ref": "#/$defs/condition" } },
            "additionalProperties": false,
            "description": "Named conditions; the conditions of this file use them as $name.",
        }),
        "rules" => json!({
            "type": ["array", "null"],
            "items": { "$ref": "#/$defs/rule" },
            "description": "The rules. The first that matches decides; without one, it is block.",
        }),
        _ => json!({}),
    }
}

/// A key of a rule.
pub(crate) fn of_rule(name: &str) -> Value {
    match name {
        "id" => json!({
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_ID_CHARS,
            "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
            "description": "The name of the rule, unique over all files of a set.",
        }),
        "condition" => json!({
            "$ref": "#/$defs/condition",
            "description": "When the rule matches: a condition over facts.",
        }),
        "action" => json!({
            "enum": ACTIONS,
            "description": "What a match means: allow, block or ask; deny reads as block.",
        }),
        "priority" => json!({
            "type": "integer",
            "minimum": i64::MIN,
            "maximum": i64::MAX,
            "default": DEFAULT_PRIORITY,
            "description": "Lower comes first; equals go by file name, then by position.",
        }),
        "description" => json!({
            "type": "string",
            "description": "What the rule is about, for those who read the rules.",
        }),
        "reason" => json!({
            "type": "string",
            "description": "Why it decides so, for the agent and the operator.",
        }),
        "log" => json!({
            "type": "boolean",
            "default": true,
            "description": "False keeps refusals of this rule off the screen; they are on record in any case.",
        }),
        "examples" => json!({
            "$ref": "#/$defs/examples",
            "description": "Actions that the condition is tried on whenever the file is loaded.",
        }),
        _ => json!({}),
    }
}

/// A key of the examples.
pub(crate) fn of_examples(name: &str) -> Value {
    let description = match name {
        "match" => "Actions that the rule matches.",
        "no_match" => "Actions that the rule does not match.",
        _ => "",
    };
    json!({ "type": "array", "items": { "$ref": "#/$defs/facts" }, "description": description })
}

/// A condition. YAML reads `condition: true` as a boolean.
pub(super) fn condition() -> Value {
    json!({
        "type": ["string", "boolean"],
        "description": "A condition over facts, as in: action_type == 'file_access'",
    })
}

/// What the facts of a group are about.
pub(super) fn group(name: &str) -> &'static str {
    match name {
        "agent" => "Who asks, as the session was registered.",
        "container" => "The container that the asking process lives in.",
        "process" => "The asking process.",
        "session" => "The supervised session.",
        "exec" => "The program about to be executed.",
        "run" => "The same program as a person would write the command.",
        "file" => "The file about to be touched.",
        "network" => "The address about to be reached.",
        "http" => "The HTTP request about to be made.",
        _ => "",
    }
}
