//! The `cel` crate as oracle: over the language that both understand, both give the same answer.

use std::collections::HashMap;

use cel::{Context, Program};
use proptest::prelude::*;

use super::holds;
use crate::Facts;
use crate::check::{Checker, Failure};

/// How many cases; `make fuzz` asks for more than `make test`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(5_000)
}

fn ours(text: &str, facts: &Facts) -> Result<bool, String> {
    let condition = match Checker::new(Vec::new()).condition(text) {
        Ok(condition) => condition,
        Err(Failure::Here(problem)) => panic!("{text}: {problem:?}"),
        Err(Failure::Reported) => panic!("{text}"),
    };
    holds(&condition, facts).map_err(|fault| fault.to_string())
}

fn theirs(text: &str, facts: &Facts) -> Result<bool, String> {
    let program = Program::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut context = Context::default();
    context.add_variable_from_value("target", facts.target.clone());
    context.add_variable_from_value("action_type", facts.action_type.as_str().to_owned());
    let group = |entries: Vec<(&str, cel::Value)>| -> HashMap<String, cel::Value> {
        entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    let run = group(vec![
        ("tool", facts.run.tool.clone().into()),
        ("args", facts.run.args.clone().into()),
        ("flags", facts.run.flags.clone().into()),
    ]);
    context.add_variable_from_value("run", run);
    context.add_variable_from_value("network", group(vec![("port", facts.network.port.into())]));
    let metadata: HashMap<String, String> = facts.metadata.clone().into_iter().collect();
    context.add_variable_from_value("metadata", metadata);
    match program.execute(&context) {
        Ok(cel::Value::Bool(value)) => Ok(value),
        Ok(other) => panic!("{text}: {other:?} is no truth value"),
        Err(error) => Err(error.to_string()),
    }
}

/// Texts that meet each other as equals, prefixes and parts.
fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "a", "b", "ab", "aba", "/w", "/w/x", "é", "日本", "a.b", "\\n"])
}

fn literal() -> impl Strategy<Value = String> {
    word().prop_flat_map(|word| {
        let raw = format!("r'{word}'");
        let plain = [format!("'{word}'"), format!("\"{word}\""), format!("'''{word}'''")];
        let escaped: String = match word {
            "\\n" => "\\x0a".to_owned(),
            word => word.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect(),
        };
        let same = [plain[0].clone(), plain[1].clone(), plain[2].clone(), format!("'{escaped}'")];
        prop_oneof![4 => prop::sample::select(same.to_vec()), 1 => Just(raw)]
    })
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["-1", "0", "1", "2", "443", "0x1bb", "-9223372036854775808"])
            .prop_map(str::to_owned),
        Just("network.port".to_owned()),
        text_leaf().prop_map(|text| format!("size({text})")),
        list_leaf().prop_map(|list| format!("{list}.size()")),
        (0..3_i64).prop_map(|at| format!("[1, 2][{at}]")),
        (0..3_i64)
            .prop_map(|key| format!("{{0: 5, 1: 443}}[{key}]"))
            .prop_filter("a key that is known to be missing is a load error", |text| !text
                .ends_with("[2]")),
    ]
}

fn text_leaf() -> BoxedStrategy<String> {
    prop_oneof![
        3 => literal(),
        3 => prop::sample::select(vec!["target", "run.tool", "metadata.k", "metadata['k']"])
            .prop_map(str::to_owned),
        1 => (0..4_i64).prop_map(|at| format!("run.args[{at}]")),
    ]
    .boxed()
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => text_leaf(),
        1 => (text_leaf(), text_leaf()).prop_map(|(a, b)| format!("({a} + {b})")),
        1 => (truth_leaf(), text_leaf(), text_leaf())
            .prop_map(|(test, a, b)| format!("({test} ? {a} : {b})")),
        1 => text_leaf().prop_map(|key| format!("{{'a': 'x', 'ab': target, '/w': ''}}[{key}]"))
            .prop_filter("a key that is known to be missing is a load error", |text| {
                !text.contains("[r'") && !text.contains("['") && !text.contains("[\"")
            }),
    ]
    .boxed()
}

fn list_leaf() -> BoxedStrategy<String> {
    prop_oneof![
        prop::sample::select(vec!["run.args", "run.flags"]).prop_map(str::to_owned),
        prop::collection::vec(text_leaf(), 1..4)
            .prop_map(|items| format!("[{}]", items.join(", "))),
    ]
    .boxed()
}

fn list() -> BoxedStrategy<String> {
    prop_oneof![
        3 => list_leaf(),
        1 => (list_leaf(), list_leaf()).prop_map(|(a, b)| format!("({a} + {b})")),
    ]
    .boxed()
}

fn comparison() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="])
}

fn truth_leaf() -> BoxedStrategy<String> {
    prop_oneof![
        any::<bool>().prop_map(|value| value.to_string()),
        (text_leaf(), comparison(), text_leaf()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
    ]
    .boxed()
}

fn test() -> BoxedStrategy<String> {
    let method = prop::sample::select(vec!["startsWith", "endsWith", "contains"]);
    let quantifier = prop::sample::select(vec!["exists", "all"]);
    let plain = prop::sample::select(vec!["1u", "2u", "0x2u", "18446744073709551615u"]);
    let double = prop::sample::select(vec!["0.5", "1.5", "-1.5", "1e3", "1000.0"]);
    let bytes = prop::sample::select(vec!["b'a'", "b'ab'", "b'\\xff'", "b'\\377'", "br'a'"]);
    let pattern = prop::sample::select(vec!["^a", "b$", "a.b", "^$", "[ab]+", "/w(/x)?"]);
    let same = prop::sample::select(vec!["==", "!="]);
    prop_oneof![
        4 => truth_leaf(),
        4 => (text(), comparison(), text()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        4 => (number(), comparison(), number()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        1 => (plain.clone(), comparison(), plain).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        1 => (double.clone(), comparison(), double).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        1 => (bytes.clone(), same.clone(), bytes).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        4 => (text(), method, text()).prop_map(|(a, method, b)| format!("{a}.{method}({b})")),
        2 => (text(), pattern).prop_map(|(a, pattern)| format!("{a}.matches('{pattern}')")),
        3 => (text(), list()).prop_map(|(a, list)| format!("{a} in {list}")),
        1 => number().prop_map(|n| format!("{n} in [0, 2, 443]")),
        1 => text_leaf().prop_map(|key| format!("{key} in {{'a': 1, 'ab': 2}}")),
        1 => text_leaf().prop_map(|key| format!("{key} in metadata")),
        2 => (list(), same, list()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        3 => (list(), quantifier.clone(), comparison(), text_leaf())
            .prop_map(|(list, each, op, b)| format!("{list}.{each}(x, x {op} {b})")),
        1 => (quantifier, comparison(), number())
            .prop_map(|(each, op, n)| format!("[1, 2, 443].{each}(x, x {op} {n})")),
        1 => Just("has(metadata.k)".to_owned()),
    ]
    .boxed()
}

fn condition() -> impl Strategy<Value = String> {
    test().prop_recursive(4, 24, 3, |inner| {
        let items = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            items.clone().prop_map(|items| format!("({})", items.join(" && "))),
            items.prop_map(|items| format!("({})", items.join(" || "))),
            inner.clone().prop_map(|inner| format!("!({inner})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(({a}) == ({b}))")),
            (list(), inner)
                .prop_map(|(list, inner)| format!("{list}.exists(x, x == 'a' && {inner})")),
        ]
    })
}

fn facts() -> impl Strategy<Value = Facts> {
    let port = prop::sample::select(vec![0, 1, 2, 443, -1, i64::MIN]);
    let list = || prop::collection::vec(word().prop_map(str::to_owned), 0..4);
    (word(), word(), list(), list(), port, word()).prop_map(
        |(target, tool, args, flags, port, k)| {
            let mut facts = Facts { target: target.to_owned(), ..Facts::default() };
            facts.run.tool = tool.to_owned();
            facts.run.args = args;
            facts.run.flags = flags;
            facts.network.port = port;
            facts.metadata.insert("k".to_owned(), k.to_owned());
            facts
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_global_rejects: 1 << 20, ..ProptestConfig::default() })]
    #[test]
    fn conditions_mean_what_cel_says(text in condition(), facts in facts()) {
        let (ours, theirs) = (ours(&text, &facts), theirs(&text, &facts));
        match (&ours, &theirs) {
            (Ok(a), Ok(b)) => prop_assert_eq!(a, b, "{}", text),
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "{text}: ours {ours:?}, theirs {theirs:?}"),
        }
    }
}
