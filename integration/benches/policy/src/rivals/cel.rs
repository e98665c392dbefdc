//! `cel`: it has expressions and no rule sets, so programs are compiled once and asked one by one.
//! Facts are flat variables, which it finds faster than members of a map, and a range of addresses
//! is two comparisons of numbers.

use ::cel::{Context, Program, Value};

use super::Rival;
use crate::{Question, Rule, Test};

pub(super) struct Cel {
    programs: Vec<(Program, bool)>,
    contexts: Vec<Context<'static, 'static>>,
}

impl Cel {
    pub(super) fn new(rules: &[Rule], questions: &[Question]) -> Self {
        let program = |rule: &Rule| {
            let text = expression(&rule.test);
            (Program::compile(&text).expect("a CEL expression"), rule.allows)
        };
        Self {
            programs: rules.iter().map(program).collect(),
            contexts: questions.iter().map(context).collect(),
        }
    }
}

fn expression(test: &Test) -> String {
    let body = match test {
        Test::Under(dir) => format!("below.startsWith('{dir}/')"),
        Test::Prefix(text) => format!("target.startsWith('{text}')"),
        Test::Suffix(text) => format!("target.endsWith('{text}')"),
        Test::Path(path) | Test::Program(path) => format!("target == '{path}'"),
        Test::Host(name) => format!("hostname == '{name}'"),
        Test::HostsBelow(name) => format!("hostname.endsWith('.{name}')"),
        Test::Range(first, length) => {
            let (low, high) = super::bounds(*first, *length);
            format!("ip >= {low} && ip <= {high}")
        }
        Test::Argument { tool, word } => {
            format!("tool == '{tool}' && args.exists(a, a == '{word}')")
        }
        Test::Word(word) => format!("'{word}' in argv"),
    };
    format!("action_type == '{}' && {body}", test.action())
}

fn context(question: &Question) -> Context<'static, 'static> {
    let mut context = Context::default();
    let mut set = |name: &str, value: Value| context.add_variable_from_value(name, value);
    set("action_type", question.action.as_str().into());
    set("target", question.target.as_str().into());
    set("below", question.below().into());
    set("hostname", question.hostname.into());
    set("ip", i64::from(question.ip.to_bits()).into());
    set("tool", question.tool().into());
    set("args", question.args().into());
    set("argv", question.argv.clone().into());
    context
}

impl Rival for Cel {
    fn allows(&mut self, question: usize) -> bool {
        let context = &self.contexts[question];
        let matching = |(program, _): &&(Program, bool)| {
            program.execute(context).expect("a value") == Value::Bool(true)
        };
        self.programs.iter().find(matching).is_some_and(|(_, allows)| *allows)
    }
}
