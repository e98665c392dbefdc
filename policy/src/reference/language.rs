//! Values, operators, functions and methods, each with a condition that a test evaluates.

use super::table::{code, table};

/// One thing that conditions are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// How it is written; several ways are separated by two spaces.
    pub(super) form: &'static str,
    pub(super) meaning: &'static str,
    pub(super) condition: &'static str,
    /// The questions of [`QUESTIONS`] that the condition holds for.
    pub(super) holds: &'static [&'static str],
}

const FILE: &str = "file";
const PROGRAM: &str = "program";
const CONNECTION: &str = "connection";

/// What the conditions are tried on.
pub(super) const QUESTIONS: &str = "\
file:
  action_type: file_access
  target: /workspace/src/main.rs
  file: { operation: write, requested: src/main.rs, flags: [append] }
  session: { workspace: /workspace }
program:
  action_type: shell_exec
  target: /usr/bin/git
  exec: { argv: [git, push, --force, origin], cwd: /workspace }
  run: { tool: git, args: [push, origin], flags: [--force], cwd: /workspace }
  container: { labels: { team: web } }
connection:
  source: api
  action_type: network_call
  target: example.com:443
  network: { ip: 93.184.215.14, port: 443, class: public, hostname: example.com }
  metadata: { ticket: OPS-42 }
";

/// A definition that the conditions use.
pub(super) const DEFINITION: (&str, &str) = ("work", "under(target, session.workspace)");

pub(super) const VALUES: &[Element] = &[
    Element {
        form: "443  0x1bb  -1",
        meaning: "A whole number with a sign, of 64 bits.",
        condition: "network.port == 0x1bb",
        holds: &[CONNECTION],
    },
    Element {
        form: "'text'  \"text\"",
        meaning: "A string, on one line, with the escapes of CEL, as `\\n`, `\\\\` and `\\u00e9`.",
        condition: "file.operation == 'write'",
        holds: &[FILE],
    },
    Element {
        form: "r'text'",
        meaning: "A raw string: a backslash is a backslash.",
        condition: "target.matches(r'\\.rs$')",
        holds: &[FILE],
    },
    Element {
        form: "'''text'''",
        meaning: "A string that may hold quotes and go over lines.",
        condition: "run.tool != '''it's'''",
        holds: &[FILE, PROGRAM, CONNECTION],
    },
    Element {
        form: "true  false",
        meaning: "A condition.",
        condition: "true",
        holds: &[FILE, PROGRAM, CONNECTION],
    },
    Element {
        form: "['a', 'b']  [1, 2]",
        meaning: "A list, of one type.",
        condition: "network.port in [80, 443]",
        holds: &[CONNECTION],
    },
    Element {
        form: "{'a': 1, 'b': 2}",
        meaning: "A map: literals and facts of one type, under strings or numbers.",
        condition: "run.tool in {'git': 1, 'make': 2}",
        holds: &[PROGRAM],
    },
    Element {
        form: "7u  1.5  b'x'  null",
        meaning: "Other values of CEL. No fact has their types, and each compares with its like.",
        condition: "[1u, 2u].exists(n, n == 2u)",
        holds: &[FILE, PROGRAM, CONNECTION],
    },
    Element {
        form: "$name",
        meaning: "What stands under `definitions` of the same file: a condition, or any value.",
        condition: "$work && file.operation == 'write'",
        holds: &[FILE],
    },
];

/// Those that bind tighter come first.
pub(super) const OPERATORS: &[Element] = &[
    Element {
        form: "map.key  map['key']",
        meaning: "An entry of a map.",
        condition: "container.labels.team == 'web'",
        holds: &[PROGRAM],
    },
    Element {
        form: "list[0]",
        meaning: "An item of a list, counted from 0. One that is not there is a failure.",
        condition: "size(exec.argv) > 1 && exec.argv[1] == 'push'",
        holds: &[PROGRAM],
    },
    Element {
        form: "!a",
        meaning: "Not.",
        condition: "!under(target, '/workspace')",
        holds: &[PROGRAM, CONNECTION],
    },
    Element {
        form: "a + b",
        meaning: "Strings, bytes or lists, joined.",
        condition: "target == session.workspace + '/src/main.rs'",
        holds: &[FILE],
    },
    Element {
        form: "a == b  a != b",
        meaning: "Equality, of one type; of lists too.",
        condition: "run.args == ['push', 'origin']",
        holds: &[PROGRAM],
    },
    Element {
        form: "a < b  a <= b  a > b  a >= b",
        meaning: "Order of numbers, of strings by their characters, and of bytes.",
        condition: "network.port > 0 && network.port < 1024",
        holds: &[CONNECTION],
    },
    Element {
        form: "a in b",
        meaning: "Whether a list has the item, or a map the key.",
        condition: "'--force' in run.flags || 'ticket' in metadata",
        holds: &[PROGRAM, CONNECTION],
    },
    Element {
        form: "a && b",
        meaning: "Both. False on either side is the answer, also where the other side fails.",
        condition: "action_type == 'file_access' && 'append' in file.flags",
        holds: &[FILE],
    },
    Element {
        form: "a || b",
        meaning: "Either. True on either side is the answer, also where the other side fails.",
        condition: "run.tool == 'git' || network.port == 443",
        holds: &[PROGRAM, CONNECTION],
    },
    Element {
        form: "a ? b : c",
        meaning: "`b` if `a` holds, otherwise `c`; both of one type.",
        condition: "(source == 'api' ? network.hostname : network.ip) == 'example.com'",
        holds: &[CONNECTION],
    },
];

pub(super) const FUNCTIONS: &[Element] = &[
    Element {
        form: "under(path, dir)",
        meaning: "Whether the path is the directory or lies below it, name by name. A path with \
                  `.` or `..` in it is under nothing, and nothing is under `''`.",
        condition: "under(target, '/workspace')",
        holds: &[FILE],
    },
    Element {
        form: "cidr(ip, 'range')",
        meaning: "Whether the address lies in the range, or is the one address. `''` lies in none; \
                  other text that is no address is a failure.",
        condition: "cidr(network.ip, '93.184.215.0/24')",
        holds: &[CONNECTION],
    },
    Element {
        form: "glob(text, 'pattern')",
        meaning: "Whether the whole text fits: `*` and `?` within a name, `**` across names, \
                  `{a,b}` either; a backslash takes the meaning from what follows.",
        condition: "glob(target, '/workspace/**/*.{rs,toml}')",
        holds: &[FILE],
    },
    Element {
        form: "host_matches(host, 'pattern')",
        meaning: "Whether it is the host, in any case of letters. `*.example.com` is every name \
                  below `example.com`, and not that name itself.",
        condition: "host_matches(network.hostname, 'Example.com')",
        holds: &[CONNECTION],
    },
    Element {
        form: "has(fact)",
        meaning: "Whether a fact is not `''`, 0 or empty; of an entry of a map, whether it is \
                  there, whatever it holds.",
        condition: "has(metadata.ticket)",
        holds: &[CONNECTION],
    },
    Element {
        form: "size(value)",
        meaning: "Characters of a string, items of a list, entries of a map, or bytes.",
        condition: "size(exec.argv) == 4",
        holds: &[PROGRAM],
    },
];

pub(super) const METHODS: &[Element] = &[
    Element {
        form: "value.size()",
        meaning: "The same as `size(value)`.",
        condition: "run.args.size() == 2",
        holds: &[PROGRAM],
    },
    Element {
        form: "text.startsWith(part)",
        meaning: "Whether the text begins so. For directories take `under`.",
        condition: "network.ip.startsWith('93.')",
        holds: &[CONNECTION],
    },
    Element {
        form: "text.endsWith(part)",
        meaning: "Whether the text ends so.",
        condition: "target.endsWith('.rs')",
        holds: &[FILE],
    },
    Element {
        form: "text.contains(part)",
        meaning: "Whether the part is anywhere in the text.",
        condition: "target.contains('/src/')",
        holds: &[FILE],
    },
    Element {
        form: "text.matches('regex')",
        meaning: "Whether the regular expression is found anywhere in the text; anchor it with `^` \
                  and `$`. Its time is linear in the text. `\\d`, `\\w` and `(?i)` speak of ASCII.",
        condition: "run.tool.matches('^g(it|h)$')",
        holds: &[PROGRAM],
    },
    Element {
        form: "list.exists(x, a)",
        meaning: "Whether `a` holds for an item, named `x` in it.",
        condition: "run.flags.exists(flag, flag.startsWith('--force'))",
        holds: &[PROGRAM],
    },
    Element {
        form: "list.all(x, a)",
        meaning: "Whether `a` holds for every item; it does for an empty list.",
        condition: "run.args.all(word, word != 'pull') && run.tool == 'git'",
        holds: &[PROGRAM],
    },
    Element {
        form: "text.after(prefix)",
        meaning: "What follows the prefix; `''` if the text does not begin with it.",
        condition: "target.after('/workspace/') == 'src/main.rs'",
        holds: &[FILE],
    },
];

pub(super) fn section() -> String {
    let (name, text) = DEFINITION;
    format!(
        "## Conditions\n\nThe examples of this section are tried on these three questions, with the \
         definition `{name}: {text}`:\n\n```yaml\n{QUESTIONS}```\n\n### Values\n\n{}\n### \
         Operators\n\nThose that bind tighter come first.\n\n{}\n### Functions\n\nA range or a \
         pattern is a literal: it is read when the rules are loaded.\n\n{}\n### Methods\n\n{}",
        elements(VALUES),
        elements(OPERATORS),
        elements(FUNCTIONS),
        elements(METHODS),
    )
}

fn elements(elements: &[Element]) -> String {
    let rows = elements.iter().map(|element| {
        let forms: Vec<String> = element.form.split("  ").map(code).collect();
        let holds = match element.holds.len() {
            3 => "all three".to_owned(),
            _ => element.holds.join(", "),
        };
        vec![forms.join(" "), element.meaning.to_owned(), code(element.condition), holds]
    });
    table(&["written", "meaning", "example", "holds for"], rows)
}
