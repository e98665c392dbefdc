//! A decision as a sentence: what, which rule, why, and the one command that comes next.

use std::path::Path;

use super::decision::{DecisionRecord, Line};

/// The sentence for a refusal, as people read it while a program runs. `log` is the log's directory
/// where the next command would not find it by itself.
pub(crate) fn refusal(line: &Line<DecisionRecord>, log: Option<&Path>) -> String {
    let record = &line.body;
    let observed = record.mode == "observe";
    let word = match (observed, record.decision.as_str()) {
        (true, _) => "would refuse",
        (false, "ask") => "refused (would have to ask)",
        (false, _) => "refused",
    };
    let who = match &record.rule {
        Some(rule) => match &record.rule_origin {
            Some(origin) => format!("rule {rule} ({origin})"),
            None => format!("rule {rule}"),
        },
        None => "the default".to_owned(),
    };
    let log = log.map_or_else(String::new, |log| format!(" --log {}", log.display()));
    format!(
        "outcall: {word} {} to {}: {who}: {}; next: outcallctl tail{log} --seq {}",
        program(record),
        what(record),
        printable(record.reason.trim_end_matches('.')),
        line.seq
    )
}

fn program(record: &DecisionRecord) -> String {
    let name = record.exe.rsplit('/').next().unwrap_or(&record.exe);
    format!("{}[{}]", printable(name), record.tgid)
}

/// What was wanted, as the object of "refused PROGRAM to …".
pub(crate) fn what(record: &DecisionRecord) -> String {
    let target = printable(&record.target);
    match (record.action_type.as_str(), record.operation.as_str()) {
        ("shell_exec", _) => format!("run {target}"),
        ("tool_exec", _) => format!("use {target}"),
        ("network_call", _) => format!("reach {target}"),
        (_, "create") => format!("create {target}"),
        (_, "write") => format!("write {target}"),
        (_, "delete") => format!("delete {target}"),
        (_, "rename") => format!("rename {target}"),
        (_, "link") => format!("link {target}"),
        (_, "metadata") => format!("change attributes of {target}"),
        _ => format!("read {target}"),
    }
}

/// Untrusted text never steers a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escape =
                c.is_control() || matches!(c, '\u{200e}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            let plain = (!escape).then_some(c);
            let escaped = escape.then(|| c.escape_unicode());
            plain.into_iter().chain(escaped.into_iter().flatten())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_which_rule_why_and_what_next() {
        let body = DecisionRecord {
            exe: "/usr/bin/cat".into(),
            tgid: 7,
            action_type: "file_access".into(),
            operation: "read".into(),
            target: "/root/.ssh/id\u{1b}[2J".into(),
            decision: "block".into(),
            rule: Some("refuse-ssh".into()),
            rule_origin: Some("10.yaml:4".into()),
            reason: "private keys stay private".into(),
            ..DecisionRecord::default()
        };
        let line = Line { v: 1, seq: 9, time: String::new(), kind: "decision".into(), body };
        assert_eq!(
            refusal(&line, Some(Path::new("/l"))),
            "outcall: refused cat[7] to read /root/.ssh/id\\u{1b}[2J: rule refuse-ssh (10.yaml:4): \
             private keys stay private; next: outcallctl tail --log /l --seq 9"
        );
    }
}
