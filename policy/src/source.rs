//! A rule file's tree to raw rules: every key known, every value of its kind.

use crate::Verdict;
use crate::error::{Diagnostic, did_you_mean};
use crate::lex::is_name;
use crate::load::MAX_DIAGNOSTICS;
use crate::yaml::{At, Key, Node, Value, read};

/// Priority of a rule that names none.
pub(crate) const DEFAULT_PRIORITY: i64 = 100;

pub(crate) const MAX_ID_CHARS: usize = 128;
pub(crate) const FILE_KEYS: [&str; 3] = ["version", "definitions", "rules"];
pub(crate) const RULE_KEYS: [&str; 8] =
    ["id", "condition", "action", "priority", "description", "reason", "log", "examples"];
pub(crate) const REQUIRED_KEYS: [&str; 3] = ["id", "condition", "action"];
pub(crate) const EXAMPLE_KEYS: [&str; 2] = ["match", "no_match"];
pub(crate) const ACTIONS: [&str; 4] = ["allow", "block", "ask", "deny"];

/// A rule file as it is written.
#[derive(Debug, Default)]
pub(crate) struct RawFile {
    pub(crate) definitions: Vec<(String, Text)>,
    pub(crate) rules: Vec<RawRule>,
}

/// A rule as it is written.
#[derive(Debug)]
pub(crate) struct RawRule {
    pub(crate) id: Text,
    pub(crate) at: At,
    pub(crate) condition: Text,
    pub(crate) action: Verdict,
    pub(crate) priority: i64,
    pub(crate) description: String,
    pub(crate) reason: String,
    pub(crate) log: bool,
    pub(crate) matches: Vec<Node>,
    pub(crate) no_match: Vec<Node>,
}

/// A text with its place.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) value: String,
    pub(crate) at: At,
}

/// Reads one file, and reports everything that is wrong with its shape.
pub(crate) fn read_file(name: &str, text: &str) -> Result<RawFile, Vec<Diagnostic>> {
    let root = read(name, text).map_err(|diagnostic| vec![diagnostic])?;
    let mut reader = Reader::new(name, text);
    let file = reader.file(root);
    reader.finish(file)
}

/// Reads a tree strictly, and collects everything that is wrong with it.
pub(crate) struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text, diagnostics: Vec::new() }
    }

    /// What was read, if nothing was wrong.
    pub(crate) fn finish<T>(self, read: T) -> Result<T, Vec<Diagnostic>> {
        if self.diagnostics.is_empty() { Ok(read) } else { Err(self.diagnostics) }
    }

    pub(crate) fn report(&mut self, at: At, message: impl Into<String>, hint: Option<String>) {
        if self.diagnostics.len() > MAX_DIAGNOSTICS {
            return;
        }
        let diagnostic = Diagnostic::new(self.name, self.text, at.place, message);
        self.diagnostics.push(diagnostic.with_hint(hint));
    }

    fn file(&mut self, root: Node) -> RawFile {
        let mut file = RawFile::default();
        let at = root.at;
        let Some(entries) = self.entries(root, "a rule file", &FILE_KEYS) else { return file };
        let mut version = false;
        for (key, node) in entries {
            match key.text.as_str() {
                "version" => {
                    version = true;
                    self.version(&node);
                }
                "definitions" => file.definitions = self.definitions(node),
                _ => file.rules = self.rules(node),
            }
        }
        if !version {
            let hint = "the first line of a rule file is `version: \"1\"`".to_owned();
            self.report(at, "the file does not say its version", Some(hint));
        }
        file
    }

    pub(crate) fn version(&mut self, node: &Node) {
        if node.value != Value::Str("1".to_owned()) {
            let hint = "write `version: \"1\"`, with the quotes".to_owned();
            self.report(node.at, "the version must be the text \"1\"", Some(hint));
        }
    }

    fn definitions(&mut self, node: Node) -> Vec<(String, Text)> {
        let entries = match node.value {
            Value::Map(entries) => entries,
            Value::Null => Vec::new(),
            other => {
                self.expected(node.at, "`definitions`", "a mapping of names to conditions", &other);
                Vec::new()
            }
        };
        let mut definitions = Vec::new();
        for (key, node) in entries {
            if !is_name(&key.text) {
                let message = format!("`{}` cannot name a definition", key.text.escape_debug());
                let hint = "use letters, digits and `_`, a letter first".to_owned();
                self.report(key.at, message, Some(hint));
            }
            if let Some(text) = self.condition(&key, node) {
                definitions.push((key.text, text));
            }
        }
        definitions
    }

    fn rules(&mut self, node: Node) -> Vec<RawRule> {
        match node.value {
            Value::List(items) => items.into_iter().filter_map(|item| self.rule(item)).collect(),
            Value::Null => Vec::new(),
            other => {
                self.expected(node.at, "`rules`", "a list", &other);
                Vec::new()
            }
        }
    }

    fn rule(&mut self, node: Node) -> Option<RawRule> {
        let at = node.at;
        let entries = self.entries(node, "a rule", &RULE_KEYS)?;
        let (mut id, mut condition, mut action) = (None, None, None);
        let (mut missing, mut priority) = (REQUIRED_KEYS.to_vec(), DEFAULT_PRIORITY);
        let (mut description, mut reason) = (String::new(), String::new());
        let (mut log, mut examples) = (true, (Vec::new(), Vec::new()));
        for (key, node) in entries {
            missing.retain(|name| *name != key.text);
            match key.text.as_str() {
                "id" => id = self.id(&key, node),
                "condition" => condition = self.condition(&key, node),
                "action" => action = self.action(&key, node),
                "priority" => priority = self.priority(&node),
                "description" => description = self.string(&key, node)?.value,
                "reason" => reason = self.string(&key, node)?.value,
                "log" => log = self.log(&node),
                _ => examples = self.examples(node),
            }
        }
        for name in missing {
            self.report(at, format!("the rule has no `{name}`"), None);
        }
        let (id, condition, action) = (id?, condition?, action?);
        let (matches, no_match) = examples;
        let at = At { place: at.place, ..id.at };
        Some(RawRule {
            id,
            at,
            condition,
            action,
            priority,
            description,
            reason,
            log,
            matches,
            no_match,
        })
    }

    fn id(&mut self, key: &Key, node: Node) -> Option<Text> {
        let id = self.string(key, node)?;
        let count = id.value.chars().count();
        // Ids are printed in logs and terminals, where a control character could forge a line.
        if count == 0 || count > MAX_ID_CHARS || id.value.chars().any(char::is_control) {
            let message = format!("an id has 1 to {MAX_ID_CHARS} printable characters");
            self.report(id.at, message, None);
            return None;
        }
        Some(id)
    }

    fn condition(&mut self, key: &Key, node: Node) -> Option<Text> {
        match node.value {
            // `condition: true` is how a catch-all is written, and YAML reads a boolean there.
            Value::Bool(value) => Some(Text { value: value.to_string(), at: node.at }),
            _ => self.string(key, node),
        }
    }

    pub(crate) fn action(&mut self, key: &Key, node: Node) -> Option<Verdict> {
        let action = self.string(key, node)?;
        match action.value.as_str() {
            "allow" => Some(Verdict::Allow),
            "block" | "deny" => Some(Verdict::Block),
            "ask" => Some(Verdict::Ask),
            other => {
                let message = format!("`{}` is not an action", other.escape_debug());
                let hint = did_you_mean(other, &ACTIONS)
                    .unwrap_or_else(|| "an action is `allow`, `block` or `ask`".to_owned());
                self.report(action.at, message, Some(hint));
                None
            }
        }
    }

    fn priority(&mut self, node: &Node) -> i64 {
        match node.value {
            Value::Int(value) => value,
            ref other => {
                self.expected(node.at, "`priority`", "a whole number", other);
                DEFAULT_PRIORITY
            }
        }
    }

    fn log(&mut self, node: &Node) -> bool {
        match node.value {
            Value::Bool(value) => value,
            ref other => {
                self.expected(node.at, "`log`", "true or false", other);
                true
            }
        }
    }

    fn examples(&mut self, node: Node) -> (Vec<Node>, Vec<Node>) {
        let mut examples = (Vec::new(), Vec::new());
        let entries = self.entries(node, "`examples`", &EXAMPLE_KEYS);
        for (key, node) in entries.unwrap_or_default() {
            match node.value {
                Value::List(items) if key.text == "match" => examples.0 = items,
                Value::List(items) => examples.1 = items,
                other => self.expected(node.at, &format!("`{}`", key.text), "a list", &other),
            }
        }
        examples
    }

    pub(crate) fn string(&mut self, key: &Key, node: Node) -> Option<Text> {
        match node.value {
            Value::Str(value) => Some(Text { value, at: node.at }),
            other => {
                self.expected(node.at, &format!("`{}`", key.text), "a text", &other);
                None
            }
        }
    }

    pub(crate) fn entries(
        &mut self,
        node: Node,
        what: &str,
        known: &[&str],
    ) -> Option<Vec<(Key, Node)>> {
        let Value::Map(mut entries) = node.value else {
            self.expected(node.at, what, "a mapping", &node.value);
            return None;
        };
        entries.retain(|(key, _)| {
            let is_known = known.contains(&key.text.as_str());
            if !is_known {
                let message = format!("{what} has no key `{}`", key.text.escape_debug());
                let hint = did_you_mean(&key.text, known)
                    .unwrap_or_else(|| format!("the keys are {}", known.join(", ")));
                self.report(key.at, message, Some(hint));
            }
            is_known
        });
        Some(entries)
    }

    pub(crate) fn expected(&mut self, at: At, what: &str, wanted: &str, found: &Value) {
        self.report(at, format!("{what} must be {wanted}, here is {}", found.name()), None);
    }
}

#[cfg(test)]
#[path = "tests/source.rs"]
mod tests;
