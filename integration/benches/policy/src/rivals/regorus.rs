//! `regorus`: rules are data, by kind of test, and loops of Rego go over them on its virtual
//! machine. Measured at 1,000 rules, the same set as a thousand partial rules takes three times as
//! long, and the interpreter four times as long as the machine.

use std::collections::BTreeMap;

use ::regorus::languages::rego::compiler::Compiler;
use ::regorus::rvm::vm::RegoVM;
use ::regorus::{Engine, Value};
use serde_json::json;

use super::Rival;
use crate::{Question, Rule, Test};

const ENTRY: &str = "data.bench.allow";
const LOOPS: &str = r#"package bench
import rego.v1

default allow := false
allow if { not blocked; permitted }
blocked if matches(data.block)
permitted if matches(data.allow)

matches(t) if { input.action_type == "file_access"; some d in t.under; startswith(input.below, d) }
matches(t) if { input.action_type == "file_access"; some p in t.prefix; startswith(input.target, p) }
matches(t) if { input.action_type == "file_access"; some s in t.suffix; endswith(input.target, s) }
matches(t) if { input.action_type == "file_access"; input.target in t.path }
matches(t) if { input.action_type == "network_call"; input.hostname in t.host }
matches(t) if { input.action_type == "network_call"; some d in t.domain; endswith(input.hostname, d) }
matches(t) if { input.action_type == "network_call"; some r in t.range; input.ip >= r[0]; input.ip <= r[1] }
matches(t) if { input.action_type == "shell_exec"; some a in t.argument; input.tool == a[0]; a[1] in input.args }
matches(t) if { input.action_type == "shell_exec"; some w in t.word; w in input.argv }
matches(t) if { input.action_type == "shell_exec"; input.target in t.program }
"#;

pub(super) struct Regorus {
    machine: RegoVM,
    inputs: Vec<Value>,
}

impl Regorus {
    pub(super) fn new(rules: &[Rule], questions: &[Question]) -> Self {
        let data = json!({ "block": tables(rules, false), "allow": tables(rules, true) });
        let data = value(&data);
        let mut engine = Engine::new();
        engine.add_data(data.clone()).expect("data");
        engine.add_policy("bench.rego".into(), LOOPS.into()).expect("a policy");
        let policy = engine.compile_with_entrypoint(&ENTRY.into()).expect("a compiled policy");
        let program = Compiler::compile_from_policy(&policy, &[ENTRY]).expect("a program");
        let mut machine = RegoVM::new();
        machine.load_program(program);
        machine.set_max_instructions(usize::MAX);
        machine.set_data(data).expect("data");
        Self { machine, inputs: questions.iter().map(input).collect() }
    }
}

fn tables(rules: &[Rule], allows: bool) -> BTreeMap<&'static str, Vec<serde_json::Value>> {
    let mut tables = BTreeMap::new();
    for rule in rules.iter().filter(|rule| rule.allows == allows) {
        let (name, item) = match &rule.test {
            Test::Under(dir) => ("under", json!(format!("{dir}/"))),
            Test::Prefix(text) => ("prefix", json!(text)),
            Test::Suffix(text) => ("suffix", json!(text)),
            Test::Path(path) => ("path", json!(path)),
            Test::Host(name) => ("host", json!(name)),
            Test::HostsBelow(name) => ("domain", json!(format!(".{name}"))),
            Test::Range(first, length) => ("range", json!(super::bounds(*first, *length))),
            Test::Argument { tool, word } => ("argument", json!([tool, word])),
            Test::Word(word) => ("word", json!(word)),
            Test::Program(path) => ("program", json!(path)),
        };
        tables.entry(name).or_insert_with(Vec::new).push(item);
    }
    tables
}

fn input(question: &Question) -> Value {
    value(&json!({
        "action_type": question.action.as_str(),
        "target": question.target,
        "below": question.below(),
        "hostname": question.hostname,
        "ip": question.ip.to_bits(),
        "tool": question.tool(),
        "args": question.args(),
        "argv": question.argv,
    }))
}

fn value(json: &serde_json::Value) -> Value {
    Value::from_json_str(&json.to_string()).expect("a value")
}

impl Rival for Regorus {
    fn allows(&mut self, question: usize) -> bool {
        self.machine.set_input(self.inputs[question].clone());
        self.machine.execute().expect("an answer") == Value::from(true)
    }
}
