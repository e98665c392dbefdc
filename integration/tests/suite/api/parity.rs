//! Verdict parity: one supervised program makes calls of every kind under generated rules; the API is
//! then asked about the same facts, and gives the same answer by the same rule.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use integration::Served;
use integration::agent::Agent;
use serde_json::{Value, json};

/// Calls that are compared, at least.
const ENOUGH: usize = 1_000;

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const CLASSES: [&str; 5] = ["loopback", "private", "public", "metadata", "unix"];
const OPERATIONS: [&str; 6] = ["read", "write", "create", "delete", "rename", "metadata"];

/// A test of one fact that both doors know about such actions.
fn test(dice: &mut Dice, action: &str, tree: &str) -> String {
    let number = dice.below(20);
    match (action, dice.below(4)) {
        (_, 0) => format!("target.contains('{number}')"),
        ("file_access", 1) => format!("under(file.path, '{tree}/d{number}')"),
        ("file_access", 2) => format!("glob(target, '{tree}/**/f{number}*')"),
        ("file_access", _) => format!("file.operation == '{}'", dice.pick(&OPERATIONS)),
        ("network_call", 1) => format!("network.port == {}", 2000 + number),
        ("network_call", 2) => format!("cidr(network.ip, '127.0.{}.0/24')", number % 5),
        ("network_call", _) => format!("network.class == '{}'", dice.pick(&CLASSES)),
        (_, 1) => format!("run.tool == '{}'", dice.pick(&["true", "echo", "false", "ls"])),
        (_, 2) => format!("'a{number}' in run.args || '--f{number}' in run.flags"),
        _ => format!("size(exec.argv) > {}", 1 + number % 4),
    }
}

/// Rules that let the program itself run, and decide about what it does as the dice fall.
fn rules(dice: &mut Dice, tree: &str) -> String {
    let mut text = String::from("version: \"1\"\nrules:\n");
    let mut add = |id: &str, condition: &str, action: &str, priority: usize| {
        let condition = condition.replace('"', "\\\"");
        write!(text, "  - id: {id}\n    condition: \"{condition}\"\n    action: {action}\n    priority: {priority}\n").unwrap();
    };
    // The loader and the libraries of what runs, and the interpreter of the script.
    add(
        "start",
        &format!(
            "action_type == 'file_access' && !under(target, '{tree}') && file.operation == 'read'"
        ),
        "allow",
        1,
    );
    add(
        "begin",
        "action_type == 'shell_exec' && (run.tool.startsWith('python') || run.tool in ['sh', 'dash', 'bash'])",
        "allow",
        1,
    );
    add(
        "loader",
        "action_type == 'shell_exec' && run.tool.startsWith('ld-linux') && !('a7' in run.args)",
        "allow",
        1,
    );
    for number in 0..120 {
        let kind = dice.pick(&["file_access", "network_call", "shell_exec"]);
        let mut condition = test(dice, kind, tree);
        for _ in 0..dice.below(3) {
            let joint = dice.pick(&["&&", "&&", "||", "&& !"]);
            write!(condition, " {joint}({})", test(dice, kind, tree)).unwrap();
        }
        let condition = format!("action_type == '{kind}' && ({condition})");
        let action = dice.pick(&["allow", "allow", "block", "ask"]);
        add(&format!("r{number}"), &condition, action, 10 + dice.below(50));
    }
    text
}

const PRELUDE: &str = "import os, socket
def quietly(f, *a):
    try: return f(*a)
    except (OSError, ValueError): return None
def touch(path, flags):
    fd = quietly(os.open, path, flags, 0o600)
    if fd is not None: os.close(fd)
def run(path, *argv):
    pid = quietly(os.posix_spawn, path, [path.split('/')[-1], *argv], {})
    if pid: os.waitpid(pid, 0)
def reach(address, kind='SOCK_STREAM'):
    family = 'AF_UNIX' if isinstance(address, str) else 'AF_INET6' if ':' in address[0] else 'AF_INET'
    s = socket.socket(getattr(socket, family), getattr(socket, kind))
    s.setblocking(False)
    quietly(s.connect, address)
    s.close()
";

/// A program that opens, changes, runs and reaches.
fn program(dice: &mut Dice, tree: &str) -> String {
    let mut lines = vec![PRELUDE.to_owned(), format!("T = {tree:?}")];
    lines.extend((0..420).map(|_| touching(dice)));
    lines.extend((0..260).map(|_| running(dice)));
    lines.extend((0..420).map(|_| reaching(dice)));
    lines.join("\n")
}

fn touching(dice: &mut Dice) -> String {
    let path = format!("T + '/d{}/f{}'", dice.below(20), dice.below(30));
    let other = format!("T + '/d{}/g{}'", dice.below(20), dice.below(20));
    match dice.below(6) {
        0 => format!("touch({path}, os.O_RDONLY)"),
        1 => format!("touch({path}, os.O_WRONLY | os.O_CREAT)"),
        2 => format!("touch({path}, os.O_RDWR | os.O_APPEND)"),
        3 => format!("quietly(os.unlink, {path})"),
        4 => format!("quietly(os.rename, {path}, {other})"),
        _ => format!("quietly(os.chmod, {path}, 0o644)"),
    }
}

fn running(dice: &mut Dice) -> String {
    let tool = dice.pick(&["true", "echo", "false", "ls"]);
    let words = (0..dice.below(4))
        .map(|_| format!(", '{}{}'", dice.pick(&["a", "--f", "b"]), dice.below(20)));
    format!("run('/usr/bin/{tool}'{})", words.collect::<String>())
}

fn reaching(dice: &mut Dice) -> String {
    let (port, low) = (2000 + dice.below(20), dice.below(6));
    let kind = dice.pick(&["SOCK_STREAM", "SOCK_DGRAM"]);
    match dice.below(6) {
        0 => format!("reach(('::1', {port}), '{kind}')"),
        1 => format!("reach(('::ffff:127.0.{low}.9', {port}))"),
        2 => format!("reach(('0.0.0.0', {port}), '{kind}')"),
        3 => format!("reach(T + '/d{}/s{low}')", dice.below(20)),
        4 => format!(
            "reach(('{}', {port}), 'SOCK_DGRAM')",
            dice.pick(&["10.1.2.3", "169.254.169.254", "8.8.8.8"])
        ),
        _ => format!("reach(('127.0.{low}.{}', {port}))", 1 + dice.below(9)),
    }
}

/// The check that says what a record of the kernel's door says.
fn check(record: &Value) -> Value {
    let mut metadata = json!({});
    match record["action_type"].as_str().unwrap() {
        "file_access" => metadata["operation"] = record["operation"].clone(),
        "shell_exec" => metadata["argv"] = record["argv"].clone(),
        _ => {}
    }
    json!({ "action_type": record["action_type"], "target": record["target"], "metadata": metadata })
}

/// How many different facts of a kind were compared, by decision.
type Kinds = BTreeMap<(String, String), usize>;

/// One set of rules, one program, and the same questions to the API.
fn round(dice: &mut Dice, kinds: &mut Kinds) {
    let tree = tempfile::tempdir().unwrap();
    for number in 0..300 {
        let directory = tree.path().join(format!("d{}", number % 20));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("f{}", number % 30)), "").unwrap();
    }
    let name = tree.path().canonicalize().unwrap().display().to_string();
    let text = rules(dice, &name);
    let served = Served::with_rules(|rules| std::fs::write(rules.join("a.yaml"), &text).unwrap());
    let script = served.path().join("program.py");
    std::fs::write(&script, program(dice, &name)).unwrap();
    let output = served.session(&format!("exec /usr/bin/python3 {}", script.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let records = served.records("decision");
    let asked = |record: &&Value| {
        let rule = record["rule"].as_str().unwrap_or_default();
        record["action_type"] != "" && !rule.starts_with("builtin:")
    };
    let kernel: BTreeMap<String, &Value> =
        records.iter().filter(asked).map(|record| (check(record).to_string(), record)).collect();
    let mut agent = Agent::check_in(&served.agent_socket()).expect("a check-in");
    for record in kernel.values() {
        let path = "/v1/permissions/check";
        let answer = agent.ask_patiently("POST", path, &check(record)).expect("an answer");
        let verdict = &answer.body["data"];
        assert_eq!(verdict["allowed"], record["decision"] == "allow", "{verdict}\n{record}");
        assert_eq!(verdict["matched_rule"], record["rule"], "{verdict}\n{record}");
        let word = |key: &str| record[key].as_str().unwrap().to_owned();
        *kinds.entry((word("action_type"), word("decision"))).or_default() += 1;
    }
}

/// Verdict parity (IF-002): at least a thousand different facts, of files, programs and addresses.
#[test]
fn both_doors_answer_alike() {
    let mut kinds = Kinds::new();
    for seed in [42, 4711, 1_000_003] {
        round(&mut Dice(seed), &mut kinds);
    }
    eprintln!("{} different facts: {kinds:?}", kinds.values().sum::<usize>());
    assert!(kinds.values().sum::<usize>() >= ENOUGH, "{kinds:?}");
    for action in ["file_access", "shell_exec", "network_call"] {
        for decision in ["allow", "block", "ask"] {
            let count = kinds.get(&(action.to_owned(), decision.to_owned())).copied().unwrap_or(0);
            assert!(count >= 10, "{action} {decision}: {kinds:?}");
        }
    }
}
