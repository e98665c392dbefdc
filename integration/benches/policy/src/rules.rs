//! One set of rules, in a form from which every engine's own text is made.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use policy::{ActionType, SourceFile};

/// One test, as rules of this field make it.
#[derive(Clone, Debug)]
pub enum Test {
    /// A file in or below a directory.
    Under(String),
    /// A file whose path starts so.
    Prefix(String),
    /// A file whose path ends so.
    Suffix(String),
    /// One file.
    Path(String),
    /// One host.
    Host(String),
    /// Every host below a domain.
    HostsBelow(String),
    /// A range of addresses: its first and its length.
    Range(Ipv4Addr, u8),
    /// A tool with an argument.
    Argument {
        /// The tool's bare name.
        tool: String,
        /// The argument.
        word: String,
    },
    /// A word anywhere in the argument vector.
    Word(String),
    /// One program.
    Program(String),
}

/// A rule. Blocks come before allows, so that "the first match decides" and "a forbid wins" say the
/// same, and every engine means the same by the set.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it tests.
    pub test: Test,
    /// Whether it allows.
    pub allows: bool,
}

impl Test {
    /// The kind of action that the test speaks of.
    #[must_use]
    pub fn action(&self) -> ActionType {
        match self {
            Self::Under(_) | Self::Prefix(_) | Self::Suffix(_) | Self::Path(_) => {
                ActionType::FileAccess
            }
            Self::Host(_) | Self::HostsBelow(_) | Self::Range(..) => ActionType::NetworkCall,
            Self::Argument { .. } | Self::Word(_) | Self::Program(_) => ActionType::ShellExec,
        }
    }

    /// Our condition.
    fn condition(&self) -> String {
        let test = match self {
            Self::Under(dir) => format!("under(target, '{dir}')"),
            Self::Prefix(text) => format!("target.startsWith('{text}')"),
            Self::Suffix(text) => format!("target.endsWith('{text}')"),
            Self::Path(path) | Self::Program(path) => format!("target == '{path}'"),
            Self::Host(name) => format!("host_matches(network.hostname, '{name}')"),
            Self::HostsBelow(name) => format!("host_matches(network.hostname, '*.{name}')"),
            Self::Range(first, length) => format!("cidr(network.ip, '{first}/{length}')"),
            Self::Argument { tool, word } => {
                format!("run.tool == '{tool}' && run.args.exists(a, a == '{word}')")
            }
            Self::Word(word) => format!("'{word}' in exec.argv"),
        };
        format!("action_type == '{}' && {test}", self.action())
    }

    /// An example that matches.
    fn example(&self) -> String {
        let rest = match self {
            Self::Under(dir) => format!("target: {dir}/a/b"),
            Self::Prefix(text) => format!("target: {text}b"),
            Self::Suffix(text) => format!("target: /a/b{text}"),
            Self::Path(path) | Self::Program(path) => format!("target: {path}"),
            Self::Host(name) => format!("network: {{ hostname: {name} }}"),
            Self::HostsBelow(name) => format!("network: {{ hostname: a.{name} }}"),
            Self::Range(first, _) => format!("network: {{ ip: {first} }}"),
            Self::Argument { tool, word } => {
                format!("run: {{ tool: {tool}, args: [\"a\", \"{word}\"] }}")
            }
            Self::Word(word) => format!("exec: {{ argv: [\"a\", \"{word}\"] }}"),
        };
        format!("{{ action_type: {}, {rest} }}", self.action())
    }
}

/// The first rules of every set. The early questions hit them.
fn head() -> Vec<Test> {
    vec![
        Test::Under("/home/ann/.ssh".into()),
        Test::Path("/etc/shadow".into()),
        Test::HostsBelow("metadata.internal".into()),
        Test::Range(Ipv4Addr::new(169, 254, 0, 0), 16),
        Test::Argument { tool: "git".into(), word: "push".into() },
    ]
}

/// The last rules of every set. The late questions hit them.
fn tail() -> Vec<Test> {
    vec![
        Test::Prefix("/srv/project/src/".into()),
        Test::Suffix(".lock".into()),
        Test::Host("registry.example.org".into()),
        Test::Range(Ipv4Addr::new(10, 20, 0, 0), 16),
        Test::Word("build".into()),
    ]
}

/// `count` rules, ten at least, the same ones in every run: head, filling, tail. No question hits
/// the filling, so the verdicts are the same in every size; many come close to it.
#[must_use]
pub fn rules(count: usize) -> Vec<Rule> {
    let mut dice = Xorshift(0x9e37_79b9_7f4a_7c15);
    let (mut blocks, mut allows) = (Vec::new(), Vec::new());
    for number in 0..count.saturating_sub(head().len() + tail().len()) {
        let test = filling(&mut dice, number);
        let kind = if dice.below(5) < 2 { &mut blocks } else { &mut allows };
        kind.push(test);
    }
    let with = |allows: bool| move |test| Rule { test, allows };
    let blocks = head().into_iter().chain(blocks).map(with(false));
    blocks.chain(allows.into_iter().chain(tail()).map(with(true))).collect()
}

fn filling(dice: &mut Xorshift, number: usize) -> Test {
    const PLACES: [&str; 6] = ["/srv/project", "/srv", "/home/ann", "/var/lib", "/etc", "/opt"];
    const WORDS: [&str; 8] =
        ["notes", "cache", "build", "data", "state", "vendor", "assets", "logs"];
    const TOOLS: [&str; 12] = [
        "git",
        "cargo",
        "npm",
        "docker",
        "kubectl",
        "python3",
        "make",
        "apt",
        "pip",
        "curl",
        "ssh",
        "terraform",
    ];
    let (place, word) = (dice.of(&PLACES), dice.of(&WORDS));
    match dice.below(10) {
        0 => Test::Under(format!("{place}/{word}{number}")),
        1 => Test::Prefix(format!("{place}/{word}{number}-")),
        2 => Test::Suffix(format!(".{word}{number}")),
        3 => Test::Path(format!("{place}/{word}/{number}.conf")),
        4 => Test::Host(format!("{word}{number}.example.org")),
        5 => Test::HostsBelow(format!("{word}{number}.example.net")),
        6 => {
            let length = 20 + u8::try_from(dice.below(9)).unwrap_or_default();
            let low = u32::try_from(dice.below(1 << 20)).unwrap_or_default();
            let address = (0xac10_0000 | low) & (u32::MAX << (32 - length));
            Test::Range(Ipv4Addr::from_bits(address), length)
        }
        7 => Test::Argument { tool: dice.of(&TOOLS).into(), word: format!("{word}{number}") },
        8 => Test::Word(format!("--{word}{number}")),
        _ => Test::Program(format!("/opt/{word}/{number}/bin/tool")),
    }
}

/// The set as our rule files, two examples a rule, 1,000 rules a file.
#[must_use]
pub fn files(rules: &[Rule]) -> Vec<SourceFile> {
    let mut number = 0;
    let file = |(at, rules): (usize, &[Rule])| {
        let mut text = String::from("version: \"1\"\nrules:\n");
        for rule in rules {
            number += 1;
            let (action, priority) = if rule.allows { ("allow", 100) } else { ("block", 10) };
            // Writing into a string cannot fail.
            let _ = write!(
                text,
                "  - id: rule-{number}\n    condition: \"{}\"\n    action: {action}\n    \
                 priority: {priority}\n    description: Rule {number} of the bench\n    examples:\n      \
                 match: [{}]\n      no_match: [{{ action_type: tool_exec, target: x }}]\n",
                rule.test.condition(),
                rule.test.example(),
            );
        }
        SourceFile { name: format!("{at:02}.yaml"), text }
    };
    rules.chunks(1_000).enumerate().map(file).collect()
}

/// Numbers that look random and are the same in every run.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let at = usize::try_from(self.below(words.len() as u64)).unwrap_or_default();
        words.get(at).copied().unwrap_or_default()
    }
}
