//! What is refused when rules are loaded, and what fails when they are asked: each with the words
//! that are said, which a test compares.

use super::table::{code, table};

/// A condition, and what is said about it.
pub(super) struct Refusal {
    pub(super) condition: &'static str,
    pub(super) says: &'static str,
}

/// Mistakes that keep a file from loading.
pub(super) const MISTAKES: &[Refusal] = &[
    Refusal { condition: "action_type == 1", says: "a string cannot be compared with a number" },
    Refusal {
        condition: "network.port == 443u",
        says: "a number cannot be compared with an unsigned number; numbers of facts are whole and signed: write `443`",
    },
    Refusal {
        condition: "action_type == 'file_acess'",
        says: "`action_type` is never 'file_acess'; did you mean `file_access`?",
    },
    Refusal {
        condition: "file.operaton == 'read'",
        says: "`file` has no field `operaton`; did you mean `operation`?",
    },
    Refusal {
        condition: "run.args.contains('push')",
        says: "`contains` looks inside a string, this is a list of strings; membership is written `'x' in list`",
    },
    Refusal {
        condition: "'push' in run.tool",
        says: "a string cannot be in a string; `text.contains('part')` looks inside a string",
    },
    Refusal { condition: "network.port in [80, '443']", says: "expected a number, found a string" },
    Refusal {
        condition: "network.port + 1 == 444",
        says: "a number cannot be joined with a number; `+` joins strings and lists; conditions do not calculate",
    },
    Refusal {
        condition: "target.matches(file.path)",
        says: "the pattern of `matches` must be a literal",
    },
    Refusal { condition: "run.args.map(a, a) == []", says: "there is no method named `map`" },
    Refusal {
        condition: "{'git': run.args[0]}['git'] == 'push'",
        says: "a map holds literals and facts; what has to be worked out first belongs outside of it",
    },
    Refusal { condition: "target", says: "a condition must be true or false, this is a string" },
    Refusal {
        condition: "run.tool = 'git'",
        says: "`=` means nothing here; equality is written `==`",
    },
];

/// What fails for some questions: here for the program of the examples.
pub(super) const FAILURES: &[Refusal] = &[
    Refusal { condition: "exec.argv[9] == 'x'", says: "there is no item 9 in a list of 4" },
    Refusal {
        condition: "cidr(target, '10.0.0.0/8')",
        says: "`cidr` was asked about something that is not an IP address",
    },
    Refusal { condition: "{'make': 1}[run.tool] == 1", says: "the map has no such key" },
];

pub(super) fn section() -> String {
    format!(
        "### Mistakes\n\nEach of these keeps the whole set from loading:\n\n{}\n### Failures\n\nThese \
         load. Asked about the program above, they have no answer:\n\n{}",
        refusals(MISTAKES),
        refusals(FAILURES),
    )
}

fn refusals(refusals: &[Refusal]) -> String {
    let rows = refusals.iter().map(|one| vec![code(one.condition), one.says.to_owned()]);
    table(&["condition", "what is said"], rows)
}
