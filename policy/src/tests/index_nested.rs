//! The index against asking every rule, over conditions that nest in every way: definitions,
//! choices, comparisons of truth, loops, and tests that fail, with lists around the length from
//! which on nothing is indexed.

use proptest::prelude::*;

use crate::guard::MAX_LISTED;
use crate::{ActionType, Engine, Facts, Source, SourceFile};

const WORDS: [&str; 16] = [
    "", "a", "b", "ab", "/a", "/a/b", "/a/", "a.b", "x.a.b", "A.B.", ".a.b", "é", "/a*",
    "10.1.2.3", "/a/../b", "..",
];

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(WORDS.to_vec())
}

fn text_fact() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "target",
        "file.path",
        "network.ip",
        "network.hostname",
        "metadata.k",
        "exec.argv[0]",
        "run.args[1]",
        "('' + target)",
        "(target + file.path)",
        "target.after('/a')",
        "$target_text",
        "{'a': target, '/a': file.path}[file.path]",
        "(network.port == 1 ? target : file.path)",
        "[target, 'a'][network.port]",
    ])
}

fn list_fact() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["exec.argv", "run.args", "process.ancestors"])
}

fn text_test() -> impl Strategy<Value = String> {
    (text_fact(), word(), word(), 0..14_u8).prop_map(|(f, p, q, kind)| match kind {
        0 => format!("{f} == '{p}'"),
        1 => format!("'{p}' == {f}"),
        2 => format!("{f} != '{p}'"),
        3 => format!("{f} in ['{p}', '{q}']"),
        4 => format!("under({f}, '{p}')"),
        5 => format!("{f}.startsWith('{p}')"),
        6 => format!("{f}.endsWith('{p}')"),
        7 => format!("{f}.contains('{p}')"),
        8 => format!("{f} in ['{p}', target]"),
        9 => format!("{f} < '{p}'"),
        10 => format!("{f} in {{'{p}': 1, 'other': 2}}"),
        11 => format!("{f} == '{p}' + '{q}'"),
        12 => format!("size({f}) == 1"),
        _ => format!("has({f})"),
    })
}

fn list_test() -> impl Strategy<Value = String> {
    (list_fact(), list_fact(), word(), text_fact(), 0..10_u8).prop_map(|(l, m, p, f, kind)| {
        match kind {
            0 => format!("'{p}' in {l}"),
            1 => format!("{l}.exists(x, x == '{p}')"),
            2 => format!("{l}.all(x, x != '{p}')"),
            3 => format!("{f} in {l}"),
            4 => format!("'{p}' in {l} + {m}"),
            5 => format!("{l} == {m}"),
            6 => format!("{l}.exists(x, x == {f} || x.startsWith('{p}'))"),
            7 => format!("size([{l}.exists(x, x == '{p}') ? 'a' : 'b']) == 1"),
            8 => format!("size({l}) == 2"),
            _ => format!("{l}.exists(x, $looping || x == '{p}')"),
        }
    })
}

fn other_test() -> impl Strategy<Value = String> {
    let action = prop::sample::select(ActionType::ALL.to_vec());
    let range = prop::sample::select(vec![
        "10.0.0.0/8",
        "10.1.2.3",
        "0.0.0.0/0",
        "::/0",
        "::ffff:0:0/96",
        "fd00::/8",
    ]);
    let host = prop::sample::select(vec!["a.b", "*.a.b", "*.B", "b", "*.a.b.", "é", "*.é"]);
    let glob = prop::sample::select(vec![
        "/a*", "/a/**", "/a/**/b", "\\\\/a", "/\\\\a", "{/a,b}", "/a/{b,c}", "/a\\\\*", "a?", "é*",
    ]);
    prop_oneof![
        action.prop_map(|a| format!("action_type == '{a}'")),
        prop::sample::select(vec![
            "source == 'api'",
            "$from_kernel",
            "!($from_kernel)",
            "$is_file",
            "$is_file == true",
            "$is_file != $from_kernel",
            "action_type in ['file_access', 'tool_exec']",
            "'file_access' == action_type",
            "$the_action == 'file_access'",
            "source == action_type",
            "action_type > 'file_access'",
            "{'a': true, 'b': false}[target]",
            "{1: true, 2: false}[network.port]",
            "network.port == [1, 2][network.port]",
            "[1, network.port] == [network.port, 1]",
            "network.port in [0, 3]",
            "$port == 2",
            "network.port == 9223372036854775807",
            "network.port == -9223372036854775808",
            "true",
            "false",
        ])
        .prop_map(str::to_owned),
        (text_fact(), range).prop_map(|(f, range)| format!("cidr({f}, '{range}')")),
        (text_fact(), host).prop_map(|(f, host)| format!("host_matches({f}, '{host}')")),
        (text_fact(), glob).prop_map(|(f, glob)| format!("glob({f}, '{glob}')")),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![4 => text_test(), 2 => list_test(), 3 => other_test(),
        1 => prop::sample::select(vec!["$first", "$second"]).prop_map(str::to_owned)];
    leaf.prop_recursive(4, 20, 4, |inner| {
        let items = prop::collection::vec(inner.clone(), 2..5);
        let three = (inner.clone(), inner.clone(), inner.clone());
        prop_oneof![
            3 => items.clone().prop_map(|items| format!("({})", items.join(" && "))),
            3 => items.prop_map(|items| format!("({})", items.join(" || "))),
            1 => inner.clone().prop_map(|inner| format!("!({inner})")),
            1 => three.prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("(({a}) == ({b}))")),
        ]
    })
}

/// Without definitions of their own names, so that there is no circle.
fn body() -> impl Strategy<Value = String> {
    condition()
        .prop_filter("no circle", |text| !text.contains("$first") && !text.contains("$second"))
}

fn list() -> impl Strategy<Value = Vec<String>> {
    let long =
        (prop::sample::select(vec![MAX_LISTED - 1, MAX_LISTED, MAX_LISTED + 1, 30_000]), word())
            .prop_map(|(length, last)| {
                let mut items = vec!["w".to_owned(); length];
                items.push(last.to_owned());
                items
            });
    let short = prop::collection::vec(word().prop_map(str::to_owned), 0..4);
    prop_oneof![30 => short, 1 => long]
}

fn facts() -> impl Strategy<Value = Facts> {
    let ip = prop::sample::select(vec![
        "",
        "10.1.2.3",
        "9.9.9.9",
        "no address",
        "fd00::1",
        "::ffff:10.1.2.3",
        "fe80::1%eth0",
    ]);
    let doors = (
        prop::sample::select(Source::ALL.to_vec()),
        prop::sample::select(ActionType::ALL.to_vec()),
    );
    let port = prop::sample::select(vec![0, 1, 2, 3, i64::MAX, i64::MIN]);
    (doors, (word(), word(), word(), prop::option::of(word())), (list(), list(), list()), port, ip)
        .prop_map(|(doors, texts, lists, port, ip)| {
            let mut facts = Facts::default();
            (facts.source, facts.action_type) = doors;
            facts.target = texts.0.to_owned();
            facts.file.path = texts.1.to_owned();
            facts.network.hostname = texts.2.to_owned();
            facts.metadata.extend(texts.3.map(|text| ("k".to_owned(), text.to_owned())));
            (facts.exec.argv, facts.run.args, facts.process.ancestors) = lists;
            (facts.network.port, facts.network.ip) = (port, ip.to_owned());
            facts
        })
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn set(first: &str, second: &str, rules: &[(String, &str, i64)]) -> Engine {
    let mut text = format!(
        "version: \"1\"\ndefinitions:\n  \
         from_kernel: source == 'kernel'\n  is_file: action_type == 'file_access'\n  \
         the_action: action_type\n  target_text: target\n  port: network.port\n  \
         looping: run.args.exists(y, y == 'nowhere')\n  \
         first: {}\n  second: {}\nrules:\n",
        quoted(first),
        quoted(second)
    );
    for (at, (condition, action, priority)) in rules.iter().enumerate() {
        text += &format!(
            "  - {{ id: r{at}, condition: {}, action: {action}, priority: {priority} }}\n",
            quoted(condition)
        );
    }
    Engine::load(&[SourceFile { name: "rules.yaml".into(), text: text.clone() }])
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn rule() -> impl Strategy<Value = (String, &'static str, i64)> {
    (condition(), prop::sample::select(vec!["allow", "block", "ask"]), 0..3_i64)
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
    #[test]
    fn the_index_answers_as_asking_every_rule(
        first in body(),
        second in body(),
        rules in prop::collection::vec(rule(), 1..8),
        questions in prop::collection::vec(facts(), 1..8),
    ) {
        let engine = set(&first, &second, &rules);
        for facts in questions {
            let (indexed, linear) = (engine.decide(&facts), engine.decide_linearly(&facts));
            prop_assert_eq!(indexed.verdict, linear.verdict);
            prop_assert_eq!(indexed.rule, linear.rule);
        }
    }
}

fn differs(condition: &str, facts: &Facts) -> Option<String> {
    let text = format!(
        "version: \"1\"\nrules:\n  \
         - {{ id: stop, condition: {}, action: block }}\n  \
         - {{ id: rest, condition: \"true\", action: allow }}\n",
        quoted(condition)
    );
    let engine = Engine::load(&[SourceFile { name: "rules.yaml".into(), text }]).unwrap();
    let (indexed, linear) = (engine.decide(facts), engine.decide_linearly(facts));
    (indexed != linear).then(|| format!("{indexed:?}\n{linear:?}"))
}

/// A condition that uses up its steps blocks. Leaving the rule out because one of its keys does
/// not match must not hide that.
#[test]
fn steps_run_out_with_the_index_where_they_run_out_without() {
    let mut facts = Facts { target: "/x".into(), ..Facts::default() };
    facts.exec.argv = vec!["w".to_owned(); 300_000];
    facts.metadata.insert("k".into(), "v".into());
    let many = |count: usize, item: &str| vec![item; count].join(", ");
    let mut short = facts.clone();
    short.exec.argv.truncate(MAX_LISTED);
    short.run.args.clone_from(&short.exec.argv);
    for (condition, facts) in [
        (
            "size([exec.argv.exists(x, x == 'q') ? 'a' : 'b']) == 1 && target == 'q'".to_owned(),
            &facts,
        ),
        ("'q' in exec.argv && 'r' in run.args".to_owned(), &facts),
        ("!('q' in exec.argv) && 'r' in run.args".to_owned(), &facts),
        ("'q' in exec.argv || 'r' in run.args".to_owned(), &facts),
        (format!("!(target in [{}]) && target == 'q'", many(49_000, "metadata.k")), &facts),
        (
            format!(
                "!(target in [{}]) && !('p' in exec.argv) && 'q' in exec.argv",
                many(99_900, "''")
            ),
            &short,
        ),
        (
            format!(
                "!({}) && !('p' in exec.argv) && 'q' in exec.argv",
                vec!["!has(target)"; 33_000].join(" || ")
            ),
            &short,
        ),
        (format!("{} && 'q' in exec.argv", ["!('p' in run.args)"; 7].join(" && ")), &short),
        (format!("{} && 'q' in exec.argv", ["!('p' in run.args)"; 9].join(" && ")), &short),
    ] {
        let shown = &condition[..condition.len().min(100)];
        assert_eq!(differs(&condition, facts), None, "{shown}");
    }
}
