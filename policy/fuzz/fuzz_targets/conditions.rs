//! Conditions from the words of the language: a byte chooses a word; 0xff and a length let text
//! through as it is; 0xfe starts the next definition or rule; 0xfd and a number repeat what the
//! condition has so far, or at its start the condition before, since what costs too much mostly
//! costs it by repetition.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[global_allocator]
static BOUNDED: policy_fuzz::Bounded = policy_fuzz::Bounded;

const RAW: u8 = 0xff;
const NEXT: u8 = 0xfe;
const REPEAT: u8 = 0xfd;

/// What all conditions together may have: as much as the other target's files.
const MAX_TEXT: usize = 1 << 16;

#[rustfmt::skip]
const WORDS: &[&str] = &[
    // Facts.
    "action_type", "source", "target", "agent.name", "container.image", "container.labels",
    "process.exe", "process.uid", "process.ancestors", "session.workspace", "exec.path",
    "exec.argv", "exec.interpreter", "run.tool", "run.args", "run.flags", "file.path",
    "file.operation", "file.flags", "network.ip", "network.port", "network.class",
    "network.hostname", "http.url", "metadata", "metadata.k", "run", "network",
    // Operators and brackets.
    "==", "!=", "<", "<=", ">", ">=", "&&", "||", "!", "in", "?", ":", "(", ")", "[", "]", ",",
    ".", "-", "((((((((", "))))))))", "!!!!!!!!",
    // Functions, methods, macros.
    "under(", "glob(", "cidr(", "host_matches(", "has(", "size(", ".startsWith(", ".endsWith(",
    ".contains(", ".matches(", ".after(", ".size()", ".exists(a,", ".all(b,", ".exists(c,",
    // Variables and definitions.
    "a", "b", "c", "$d0", "$d1", "$d2", "$nope",
    // Literals.
    "true", "false", "0", "1", "443", "-1", "0x7fffffffffffffff", "99999999999999999999", "''",
    "'a'", "'/'", "'/workspace'", "'/workspace/src/'", "'.rs'", "'file_access'", "'network_call'",
    "'shell_exec'", "'kernel'", "'read'", "'git'", "'push'", "'10.0.0.0/8'", "'::/0'",
    "'fd00:ec2::254/128'", "'*.example.com'", "'example.com'", "'**/{a,{b,c}}/*.rs'", "'{'",
    "'[^/]*(a|b)+$'", "'(?i)\\\\d{2,9}'", "'(a{99}){99}'", "r'\\w+'", "'\\u00e9'", "'k'",
    // Whole tests, so that deep conditions also load.
    "target == 'a' ||", "action_type == 'file_access' &&", "run.args.exists(a, a == 'push')",
    "run.args.all(b, run.args.exists(a, a == b))", "['/tmp', session.workspace].exists(a,",
    "under(target, '/workspace') &&", "cidr(network.ip, '10.0.0.0/8') ||", "run.args[0] ==",
    "glob(target, '**/*.rs') &&", "'push' in exec.argv &&",
];

fuzz_target!(|bytes: &[u8]| {
    if let Some(text) = rule_file(bytes) {
        policy_fuzz::load_and_ask(text);
    }
});

/// A file with up to three definitions, then rules.
fn rule_file(bytes: &[u8]) -> Option<String> {
    let conditions = conditions(bytes)?;
    let mut text = String::from("version: \"1\"\ndefinitions:\n");
    let definitions = conditions.len().saturating_sub(1).min(3);
    for (number, condition) in conditions.iter().take(definitions).enumerate() {
        text.push_str(&format!("  d{number}: {}\n", quoted(condition)));
    }
    text.push_str("rules:\n");
    for (number, condition) in conditions.iter().skip(definitions).enumerate() {
        let action = ["allow", "block", "ask"][number % 3];
        let condition = quoted(condition);
        text.push_str(&format!("- id: r{number}\n  condition: {condition}\n  action: {action}\n"));
    }
    Some(text)
}

fn conditions(bytes: &[u8]) -> Option<Vec<String>> {
    let mut conditions = Vec::new();
    let mut condition = String::new();
    let (mut rest, mut size) = (bytes, 0);
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let before = condition.len();
        match *first {
            RAW => {
                let (length, after) = rest.split_first()?;
                let (raw, after) = after.split_at_checked(usize::from(*length))?;
                condition.push_str(std::str::from_utf8(raw).ok()?);
                rest = after;
            }
            NEXT => conditions.push(std::mem::take(&mut condition)),
            REPEAT => {
                let (times, after) = rest.split_first()?;
                rest = after;
                let again = if condition.is_empty() { conditions.last()? } else { &condition };
                let (again, times) = (again.clone(), usize::from(*times));
                if size + again.len() * times > MAX_TEXT {
                    return None;
                }
                if condition.is_empty() {
                    size += again.len() * times;
                    conditions.extend(std::iter::repeat_n(again, times));
                } else {
                    condition.push_str(&again.repeat(times));
                }
            }
            word => {
                condition.push_str(WORDS[usize::from(word) % WORDS.len()]);
                condition.push(' ');
            }
        }
        size += condition.len().saturating_sub(before);
    }
    conditions.push(condition);
    Some(conditions)
}

/// A text as YAML writes it between single quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
