//! What is claimed about conditions, against every combination of a few facts.

use proptest::prelude::*;

use super::Meaning;
use crate::check::{Checker, DefinitionText};
use crate::compile::Bool;
use crate::eval::holds;
use crate::{ActionType, Facts, Source};

const TEXTS: [&str; 12] =
    ["", "a", "ab", "/a", "/a/b", "/b", "a/b", "/", ".", "/a/../b", "a.b", "x.a.b"];
const IPS: [&str; 6] = ["", "10.1.2.3", "10.2.0.1", "no", "::ffff:10.1.2.3", "fd00::1"];

fn text() -> impl Strategy<Value = &'static str> {
    prop::sample::select(TEXTS.to_vec())
}

fn text_fact() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["target", "target", "target", "$same", "exec.argv[0]", "metadata.k"])
}

fn leaf() -> impl Strategy<Value = String> {
    let texts = (text_fact(), text(), text(), 0..12_u8).prop_map(|(f, p, q, kind)| match kind {
        0 => format!("{f} == '{p}'"),
        1 => format!("'{p}' == {f}"),
        2 => format!("{f} != '{p}'"),
        3 => format!("{f} in ['{p}', '{q}']"),
        4 => format!("under({f}, '{p}')"),
        5 => format!("{f}.startsWith('{p}')"),
        6 => format!("{f}.endsWith('{p}')"),
        7 => format!("{f}.contains('{p}')"),
        8 => format!("host_matches({f}, '*.a.b')"),
        9 => format!("host_matches({f}, 'A.b')"),
        10 => format!("{f} < '{p}'"),
        _ => format!("glob({f}, '{p}*')"),
    });
    let number = (prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]), 0..4_i64, 0..5_u8)
        .prop_map(|(operator, n, kind)| match kind {
            0 => format!("{n} {operator} network.port"),
            1 => format!("network.port in [{n}, 2]"),
            2 => format!("network.port {operator} -9223372036854775808"),
            3 => format!("network.port {operator} 9223372036854775807"),
            _ => format!("network.port {operator} {n}"),
        });
    prop_oneof![
        5 => texts,
        3 => number,
        1 => range().prop_map(|range| format!("cidr(network.ip, '{range}')")),
        2 => fixed().prop_map(str::to_owned),
    ]
}

fn range() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "10.0.0.0/8",
        "10.1.0.0/16",
        "10.1.2.3",
        "0.0.0.0/0",
        "::/0",
        "::ffff:0:0/96",
        "fd00::/8",
    ])
}

fn fixed() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "true",
        "false",
        "'a' in exec.argv",
        "'ab' in exec.argv",
        "exec.argv == ['a']",
        "exec.argv.exists(x, x == 'a')",
        "exec.argv.all(x, x == 'a')",
        "target.matches('^a')",
        "target.matches('b$')",
        "target.matches('a|b')",
        "target.matches('a|c')",
        "target.matches('.*')",
        "target.matches('')",
        "exec.argv[0].matches('.*')",
        "glob(target, '**')",
        "glob(target, '{a,b}')",
        "glob(target, '{a,/b}')",
        "action_type == 'file_access'",
        "action_type != 'file_access'",
        "action_type in ['file_access', 'tool_exec']",
        "source == 'api'",
        "$named",
        "target == target",
        "{'a': true, 'b': false}[target]",
        "size(exec.argv) == 1",
    ])
}

fn condition() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 8, 3, |inner| {
        let items = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            items.clone().prop_map(|items| format!("({})", items.join(" && "))),
            items.prop_map(|items| format!("({})", items.join(" || "))),
            inner.clone().prop_map(|inner| format!("!({inner})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("(({a}) == ({b}))")),
        ]
    })
}

fn compiled(text: &str) -> Bool {
    let definition =
        |name: &str, text: &str| DefinitionText { name: name.into(), text: text.into() };
    let definitions = vec![
        definition("same", "target"),
        definition("named", "target == 'a' || network.port > 1"),
    ];
    match Checker::new(definitions).condition(text) {
        Ok(condition) => condition,
        Err(_) => panic!("{text}"),
    }
}

fn questions() -> Vec<Facts> {
    let mut questions = Vec::new();
    for text in TEXTS {
        for port in [0, 1, 2, 3, 4, i64::MIN, i64::MAX] {
            for (ip, argv) in IPS.iter().flat_map(|ip| (0..4).map(move |argv| (ip, argv))) {
                let mut facts = Facts { target: text.to_owned(), ..Facts::default() };
                let door = questions.len();
                facts.action_type = ActionType::ALL[door % ActionType::ALL.len()];
                facts.source = Source::ALL[door / 3 % Source::ALL.len()];
                facts.network.port = port;
                facts.network.ip = (*ip).to_owned();
                let argvs: [&[&str]; 4] = [&[], &["a"], &["ab", "a"], &["/a/b"]];
                facts.exec.argv = argvs[argv].iter().map(|item| (*item).to_owned()).collect();
                facts.metadata.insert("k".to_owned(), TEXTS[door % TEXTS.len()].to_owned());
                questions.push(facts);
            }
        }
    }
    questions
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
    #[test]
    fn what_is_claimed_about_conditions_is_true(texts in prop::collection::vec(condition(), 2..6)) {
        let questions = questions();
        let conditions: Vec<Bool> = texts.iter().map(|text| compiled(text)).collect();
        let answers: Vec<Vec<_>> = conditions
            .iter()
            .map(|condition| questions.iter().map(|facts| holds(condition, facts)).collect())
            .collect();
        for (a, meaning) in conditions.iter().enumerate() {
            let Some(meaning) = Meaning::of(meaning) else { continue };
            if meaning.is_never() {
                prop_assert!(!answers[a].contains(&Ok(true)), "never: {}", texts[a]);
            }
            if meaning.is_always() {
                prop_assert!(!answers[a].contains(&Ok(false)), "always: {}", texts[a]);
            }
            for (b, other) in conditions.iter().enumerate() {
                let Some(other) = Meaning::of(other) else { continue };
                if meaning.implies(&other) {
                    let mut both = answers[a].iter().zip(&answers[b]);
                    let counter = both.position(|pair| pair.0 == &Ok(true) && pair.1 != &Ok(true));
                    prop_assert!(
                        counter.is_none(),
                        "{} implies {}: {:?}", texts[a], texts[b], counter.map(|at| &questions[at])
                    );
                }
            }
        }
    }
}
