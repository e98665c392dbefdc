//! An explicit check as questions: what the kernel's door would ask, as far as words can tell. One
//! rule then governs both doors.

use std::collections::BTreeMap;

use policy::{ActionType, Facts, Source};
use serde_json::{Map, Value};

use super::{Question, command};
use crate::attach::session::Identity;
use crate::identity::Peer;
use crate::resolve::Object;
use crate::resolve::names::text;

mod address;
mod paths;
mod words;

use paths::{folded, plain};
use words::{Command, read_command};

/// Entries of a check's metadata.
pub(crate) const MAX_ENTRIES: usize = 64;
/// Bytes of a key of it.
pub(crate) const MAX_KEY: usize = 128;
/// Bytes of a value of it, as text.
pub(crate) const MAX_VALUE: usize = 16 * 1024;
/// Bytes of a target.
pub(crate) const MAX_TARGET: usize = 32 * 1024;

/// What somebody wants to do, in their own words.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    action: ActionType,
    target: String,
    metadata: BTreeMap<String, String>,
    /// Metadata that are lists of words.
    lists: BTreeMap<String, Vec<String>>,
}

impl Check {
    /// Takes a check that is within its limits, or says which one it passes.
    pub(crate) fn new(
        action: &str,
        target: String,
        metadata: Map<String, Value>,
    ) -> Result<Self, String> {
        let action = action.parse().map_err(|error: policy::UnknownName| error.to_string())?;
        if target.is_empty() {
            return Err("target is empty; say what the action is about".to_owned());
        }
        if target.len() > MAX_TARGET {
            return Err(format!("target is larger than {MAX_TARGET} bytes"));
        }
        if target.contains('\0') {
            return Err("target has a NUL character, which no name can have".to_owned());
        }
        if metadata.len() > MAX_ENTRIES {
            return Err(format!("metadata has more than {MAX_ENTRIES} entries"));
        }
        let mut check = Self { action, target, metadata: BTreeMap::new(), lists: BTreeMap::new() };
        for (key, value) in metadata {
            check.add(key, value)?;
        }
        Ok(check)
    }

    fn add(&mut self, key: String, value: Value) -> Result<(), String> {
        if key.len() > MAX_KEY {
            return Err(format!("a key of metadata is larger than {MAX_KEY} bytes"));
        }
        if let Value::Array(items) = &value
            && let Some(words) = items.iter().map(word).collect::<Option<Vec<String>>>()
        {
            self.lists.insert(key.clone(), words);
        }
        let text = word(&value).unwrap_or_else(|| value.to_string());
        if text.len() > MAX_VALUE {
            return Err(format!("metadata.{key} is larger than {MAX_VALUE} bytes"));
        }
        self.metadata.insert(key, text);
        Ok(())
    }

    /// How much it says.
    pub(crate) fn size(&self) -> usize {
        let entries = self.metadata.iter().map(|(key, value)| key.len() + value.len());
        self.target.len() + entries.sum::<usize>()
    }

    /// What the check is about, for its record.
    pub(crate) fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    fn entry(&self, key: &str) -> &str {
        self.metadata.get(key).map_or("", String::as_str)
    }
}

/// A plain value as a word.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The facts that nobody who asks can set: door, agent, container, session and process.
pub(crate) fn asked_by(identity: &Identity, peer: &Peer) -> Facts {
    let mut facts = Facts { source: Source::Api, ..Facts::default() };
    identity.describe(&mut facts);
    facts.process.pid = i64::from(peer.pid);
    facts.process.uid = i64::from(peer.uid);
    if let Some(task) = peer.task() {
        facts.process.exe = text(&task.exe);
        facts.process.ancestors.clone_from(&task.ancestors);
    }
    facts
}

/// The questions of a check. More than one where the words say more than one thing; the strictest
/// answer stands.
pub(crate) fn questions(check: &Check, asker: &Facts) -> Vec<Question> {
    let mut base = asker.clone();
    base.action_type = check.action;
    base.target.clone_from(&check.target);
    base.metadata.clone_from(&check.metadata);
    let facts = match check.action {
        ActionType::FileAccess => vec![file(check, &check.target, base)],
        ActionType::ShellExec => commands(check, &check.target, &base),
        ActionType::NetworkCall => address::facts(check, &check.target, base),
        ActionType::ToolExec => tool(check, base),
    };
    facts.into_iter().map(|facts| question(check, facts)).collect()
}

/// The same objects as paths that are sure to be understood: what protects Outcall itself must not
/// be led astray by `..`.
pub(crate) fn guarded(questions: &[Question]) -> Vec<Question> {
    let each = questions.iter().filter_map(|question| {
        let facts = &question.facts;
        let path = match facts.action_type {
            ActionType::NetworkCall => facts.target.strip_prefix("unix:")?,
            _ => facts.file.path.as_str(),
        };
        let target = folded(path)?;
        let mut shadow = question.clone();
        shadow.facts.target = match facts.action_type {
            ActionType::NetworkCall => format!("unix:{target}"),
            _ => target,
        };
        if facts.action_type == ActionType::ToolExec {
            shadow.facts.action_type = ActionType::FileAccess;
        }
        Some(shadow)
    });
    each.collect()
}

fn question(check: &Check, facts: Facts) -> Question {
    let requested = check.target.clone().into_bytes();
    let resolved = facts.target.clone().into_bytes();
    Question { object: Object { requested, resolved, ..Object::default() }, facts }
}

fn file(check: &Check, path: &str, mut facts: Facts) -> Facts {
    path.clone_into(&mut facts.file.requested);
    facts.file.path = plain(path, check.entry("cwd"));
    facts.file.operation = operation(check);
    facts.file.flags = flags(check);
    if check.action == ActionType::FileAccess {
        facts.target.clone_from(&facts.file.path);
    }
    facts
}

/// What is done to the file: `metadata.operation`, else what `metadata.mode` comes to, else a read.
fn operation(check: &Check) -> String {
    let given = check.entry("operation");
    if !given.is_empty() {
        return given.to_ascii_lowercase();
    }
    let mode = check.entry("mode").to_ascii_lowercase();
    let known = ["write", "create", "delete", "rename", "link", "metadata"];
    match mode.as_str() {
        "append" => "write",
        "" | "read" => "read",
        mode if known.contains(&mode) => mode,
        // As fopen has it.
        mode if mode.starts_with('r') && !mode.contains(['w', '+']) => "read",
        mode if mode.starts_with(['r', 'w', 'a', 'x']) => "write",
        // A number is the mode of a file, not of an access.
        mode if mode.bytes().all(|byte| byte.is_ascii_digit()) => "read",
        // Unknown words are no read: rules that allow reading do not speak of them.
        mode => mode,
    }
    .to_owned()
}

fn flags(check: &Check) -> Vec<String> {
    let mode = check.entry("mode").to_ascii_lowercase();
    let append = (mode == "append" || mode.starts_with('a')).then(|| "append".to_owned());
    let given = check.lists.get("flags").cloned().unwrap_or_default();
    append.into_iter().chain(given).collect()
}

/// A program with its arguments. A text that only a shell can read is the shell that reads it, and
/// every command in it.
fn commands(check: &Check, target: &str, base: &Facts) -> Vec<Facts> {
    let cwd = check.entry("cwd");
    let line = Some(check.entry("command")).filter(|text| !text.is_empty()).unwrap_or(target);
    let with = |argv: Vec<String>| program(target, &argv, cwd, base.clone());
    if let Some(argv) = check.lists.get("argv").filter(|argv| !argv.is_empty()) {
        return vec![with(argv.clone())];
    }
    if let Some(args) = check.lists.get("args") {
        return vec![with(std::iter::once(line.to_owned()).chain(args.clone()).collect())];
    }
    match read_command(line) {
        Command::Words(argv) => vec![with(argv)],
        Command::Shell(parts) => {
            let shell = ["sh", "-c", line].map(str::to_owned).to_vec();
            std::iter::once(shell).chain(parts).map(with).collect()
        }
    }
}

fn program(target: &str, argv: &[String], cwd: &str, mut facts: Facts) -> Facts {
    let named = argv.first().map_or("", String::as_str);
    // A target that is a path is the program, whatever it is called in its arguments.
    let is_path = target.starts_with('/') && !target.contains(char::is_whitespace);
    let path = if is_path { target } else { named };
    facts.exec.path = if path.starts_with('/') { plain(path, "") } else { path.to_owned() };
    facts.exec.argv = argv.to_vec();
    cwd.clone_into(&mut facts.exec.cwd);
    facts.run = command(&facts.exec.path, argv, cwd);
    if facts.exec.path.starts_with('/') && facts.action_type == ActionType::ShellExec {
        facts.target.clone_from(&facts.exec.path);
    }
    facts
}

/// A tool call has no counterpart in the kernel; what its metadata name is told in the same words.
fn tool(check: &Check, mut facts: Facts) -> Vec<Facts> {
    if let Some(path) = check.metadata.get("path") {
        facts = file(check, path, facts);
    }
    if let Some(url) = check.metadata.get("url") {
        let target = facts.target.clone();
        facts = address::facts(check, url, facts).swap_remove(0);
        facts.target = target;
    }
    let names_command =
        ["command", "args", "argv"].iter().any(|key| check.metadata.contains_key(*key));
    if names_command {
        return commands(check, &check.target, &facts);
    }
    facts.run.tool.clone_from(&check.target);
    check.entry("cwd").clone_into(&mut facts.run.cwd);
    vec![facts]
}

#[cfg(test)]
#[path = "tests/explicit.rs"]
mod tests;
