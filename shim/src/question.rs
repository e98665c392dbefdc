//! What the daemon is asked before an action, and the verdict that comes back.

use crate::failure::Failure;
use crate::json::Json;
use crate::text;

/// The daemon takes no longer body.
const MAX_BODY: usize = 64 * 1024;

/// One action in the vocabulary of `POST /v1/permissions/check`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// The type of the action.
    pub(crate) action: Action,
    /// What it acts on.
    pub(crate) target: String,
    /// What rules may look at besides.
    pub(crate) metadata: Vec<(String, Json)>,
}

/// The types of actions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Action {
    /// A tool by name.
    ToolExec,
    /// A request over the network.
    NetworkCall,
    /// A file.
    FileAccess,
    /// A program.
    ShellExec,
}

impl Action {
    const ALL: [Self; 4] = [Self::ToolExec, Self::NetworkCall, Self::FileAccess, Self::ShellExec];

    /// The daemon's word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ToolExec => "tool_exec",
            Self::NetworkCall => "network_call",
            Self::FileAccess => "file_access",
            Self::ShellExec => "shell_exec",
        }
    }

    /// The action of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

impl Question {
    /// The request's body.
    pub(crate) fn body(&self) -> Result<String, Failure> {
        let body = Json::Object(vec![
            member("action_type", Json::String(self.action.name().to_owned())),
            member("target", Json::String(self.target.clone())),
            member("metadata", Json::Object(self.metadata.clone())),
        ])
        .to_string();
        if body.len() > MAX_BODY {
            return Err(Failure::failed(format!(
                "the action takes {} bytes to describe, and outcalld is asked with {MAX_BODY} at \
                 most; nothing was run",
                body.len()
            )));
        }
        Ok(body)
    }
}

/// The daemon's answer to a [`Question`].
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub(crate) struct Verdict {
    /// Whether the action may be done.
    pub(crate) allowed: bool,
    /// The rule that decided, if one did.
    pub(crate) rule: Option<String>,
    /// Why.
    pub(crate) reason: Option<String>,
}

impl Verdict {
    /// Reads an answer's data. Anything but all three fields, each of its type, is no verdict.
    pub(crate) fn read(data: &Json) -> Result<Self, &'static str> {
        let text = |key| match data.get(key) {
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(Json::Null) => Ok(None),
            _ => Err(key),
        };
        Ok(Self {
            allowed: data.get("allowed").and_then(Json::as_bool).ok_or("allowed")?,
            rule: text("matched_rule")?,
            reason: text("reason")?,
        })
    }

    /// The whole verdict as a line for people.
    pub(crate) fn sentence(&self, question: &Question) -> String {
        let word = if self.allowed { "allowed" } else { "blocked" };
        let known = |text: &Option<String>| text.as_deref().unwrap_or("none").to_owned();
        text::printable(&format!(
            "{word}: {} {}; rule: {}; reason: {}",
            question.action.name(),
            question.target,
            known(&self.rule),
            known(&self.reason)
        ))
    }

    /// The whole verdict for programs.
    pub(crate) fn json(&self) -> String {
        let known = |text: &Option<String>| text.clone().map_or(Json::Null, Json::String);
        Json::Object(vec![
            member("allowed", Json::Bool(self.allowed)),
            member("matched_rule", known(&self.rule)),
            member("reason", known(&self.reason)),
        ])
        .to_string()
    }
}

/// One member of an object.
pub(crate) fn member(key: &str, value: Json) -> (String, Json) {
    (key.to_owned(), value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn question(target: &str) -> Question {
        let metadata = vec![member("cwd", Json::String("/\"w".to_owned()))];
        Question { action: Action::ShellExec, target: target.to_owned(), metadata }
    }

    #[test]
    fn a_question_cannot_be_changed_by_what_it_is_about() {
        let body = question("x\",\"action_type\":\"tool_exec\n").body().unwrap();
        let json = parse(body.as_bytes()).unwrap();
        assert_eq!(json.get("action_type").unwrap().as_str(), Some("shell_exec"));
        assert_eq!(json.get("target").unwrap().as_str(), Some("x\",\"action_type\":\"tool_exec\n"));
        assert_eq!(json.get("metadata").unwrap().get("cwd").unwrap().as_str(), Some("/\"w"));
    }

    #[test]
    fn what_is_too_long_to_ask_is_not_asked() {
        assert_eq!(question(&"x".repeat(MAX_BODY)).body().unwrap_err().exit_code(), 1);
    }

    /// FR-011, EC-005: only all three fields, each of its type, are a verdict.
    #[test]
    fn half_a_verdict_is_none() {
        let read = |text: &str| Verdict::read(&parse(text.as_bytes()).unwrap());
        let whole = read(r#"{"allowed":true,"matched_rule":"r","reason":null}"#).unwrap();
        assert_eq!(whole, Verdict { allowed: true, rule: Some("r".into()), reason: None });
        for bad in [
            "null",
            "{}",
            "[]",
            r#"{"allowed":true}"#,
            r#"{"allowed":true,"matched_rule":"r"}"#,
            r#"{"allowed":"true","matched_rule":"r","reason":null}"#,
            r#"{"allowed":1,"matched_rule":"r","reason":null}"#,
            r#"{"allowed":true,"matched_rule":7,"reason":null}"#,
            r#"{"matched_rule":"r","reason":"x"}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    /// FR-022: the whole verdict reaches the caller, in one line that steers no terminal.
    #[test]
    fn the_whole_verdict_is_told() {
        let verdict = Verdict { allowed: false, rule: None, reason: Some("no\nway".into()) };
        assert_eq!(
            verdict.sentence(&question("/bin/ls")),
            "blocked: shell_exec /bin/ls; rule: none; reason: no\\u{a}way"
        );
        assert_eq!(verdict.json(), r#"{"allowed":false,"matched_rule":null,"reason":"no\nway"}"#);
    }
}
