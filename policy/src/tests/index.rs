use proptest::prelude::*;

use crate::{ActionType, Engine, Facts, Source, SourceFile};

/// Texts that meet each other as equals, prefixes, parents and children.
fn path() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "ab", "", "..", "é"]);
    (any::<bool>(), prop::collection::vec(part, 0..4)).prop_map(|(rooted, parts)| {
        if rooted { format!("/{}", parts.join("/")) } else { parts.join("/") }
    })
}

fn leaf() -> impl Strategy<Value = String> {
    let fact = prop::sample::select(vec!["target", "file.path", "exec.cwd"]);
    let action = prop::sample::select(ActionType::ALL.to_vec());
    prop_oneof![
        (fact.clone(), path()).prop_map(|(f, p)| format!("{f} == '{p}'")),
        (fact.clone(), path()).prop_map(|(f, p)| format!("'{p}' == {f}")),
        (fact.clone(), path()).prop_map(|(f, p)| format!("{f} != '{p}'")),
        (fact.clone(), path(), path()).prop_map(|(f, p, q)| format!("{f} in ['{p}', '{q}']")),
        (fact.clone(), path()).prop_map(|(f, p)| format!("under({f}, '{p}')")),
        (fact.clone(), path()).prop_map(|(f, p)| format!("{f}.startsWith('{p}')")),
        (fact, path()).prop_map(|(f, p)| format!("{f}.endsWith('{p}')")),
        (0..3_i64).prop_map(|n| format!("network.port == {n}")),
        (0..3_i64).prop_map(|n| format!("network.port in [{n}, 7]")),
        action.prop_map(|a| format!("action_type == '{a}'")),
        path().prop_map(|p| format!("exec.argv[0] == '{p}'")),
        path().prop_map(|p| format!("exec.argv.exists(x, x == '{p}')")),
        prop::sample::select(vec![
            "10.0.0.0/8",
            "10.1.2.3",
            "0.0.0.0/0",
            "::/0",
            "::ffff:0:0/96",
            "fd00::/8"
        ])
        .prop_map(|range| format!("cidr(network.ip, '{range}')")),
        prop::sample::select(vec!["a.b", "*.a.b", "*.B", "b", "*.a.b."])
            .prop_map(|host| format!("host_matches(network.hostname, '{host}')")),
        path().prop_map(|p| format!("'{p}' in exec.argv")),
        path().prop_map(|p| format!("glob(target, '{p}*')")),
        prop::sample::select(vec![
            "source == 'api'",
            "source != 'api'",
            "action_type != 'file_access'"
        ])
        .prop_map(str::to_owned),
        path().prop_map(|p| format!("target == exec.cwd + '{p}'")),
        any::<bool>().prop_map(|b| b.to_string()),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        let items = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            items.clone().prop_map(|items| format!("({})", items.join(" && "))),
            items.prop_map(|items| format!("({})", items.join(" || "))),
            inner.prop_map(|inner| format!("!({inner})")),
        ]
    })
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
    let host =
        prop::sample::select(vec!["", "a.b", "A.b.", "x.a.b", ".a.b", "b", "x.y.A.B", "xa.b"]);
    let source = prop::sample::select(Source::ALL.to_vec());
    let action = prop::sample::select(ActionType::ALL.to_vec());
    let argv = prop::collection::vec(path(), 0..3);
    (action, source, path(), path(), path(), argv, 0..4_i64, ip, host).prop_map(
        |(action_type, source, target, file, cwd, argv, port, ip, host)| {
            let mut facts = Facts { action_type, source, target, ..Facts::default() };
            facts.network.hostname = host.to_owned();
            facts.file.path = file;
            facts.exec.cwd = cwd;
            facts.exec.argv = argv;
            facts.network.port = port;
            facts.network.ip = ip.to_owned();
            facts
        },
    )
}

fn rule() -> impl Strategy<Value = (String, &'static str)> {
    (condition(), prop::sample::select(vec!["allow", "block", "ask"]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    #[test]
    fn the_index_answers_as_asking_every_rule(
        rules in prop::collection::vec(rule(), 1..12),
        questions in prop::collection::vec(facts(), 1..8),
    ) {
        let mut text = "version: \"1\"\nrules:\n".to_owned();
        for (at, (condition, action)) in rules.iter().enumerate() {
            text.push_str(&format!("  - id: r{at}\n    condition: \"{condition}\"\n    action: {action}\n"));
        }
        let engine = Engine::load(&[SourceFile { name: "rules.yaml".into(), text }]).unwrap();
        for facts in questions {
            prop_assert_eq!(engine.decide(&facts), engine.decide_linearly(&facts));
        }
    }
}

fn engine(rules: &[(&str, &str)]) -> Engine {
    let mut text = "version: \"1\"\nrules:\n".to_owned();
    for (at, (condition, action)) in rules.iter().enumerate() {
        text += &format!("  - {{ id: r{at}, condition: \"{condition}\", action: {action} }}\n");
    }
    Engine::load(&[SourceFile { name: "rules.yaml".into(), text }]).unwrap()
}

#[test]
fn a_list_too_long_to_index_is_asked_rule_by_rule() {
    let engine = engine(&[
        ("'x' in exec.argv", "block"),
        ("exec.argv.exists(a, a == 'y')", "ask"),
        ("exec.argv.all(a, exec.argv.exists(b, a == b && b == 'z')) && 'x' in exec.argv", "block"),
        ("true", "allow"),
    ]);
    for count in [0, 10, 8_192, 8_193, 60_000, 300_000] {
        for last in ["x", "y", "z"] {
            let mut facts = Facts::default();
            facts.exec.argv = vec!["w".to_owned(); count];
            facts.exec.argv.push(last.to_owned());
            assert_eq!(engine.decide(&facts), engine.decide_linearly(&facts), "{count} {last}");
        }
    }
}

#[test]
fn only_rules_whose_key_matches_are_asked() {
    let mut rules: Vec<(String, &str)> = (0..500)
        .flat_map(|n| {
            [
                (format!("under(target, '/d{n}')"), "block"),
                (format!("target == '/e{n}'"), "block"),
                (format!("cidr(network.ip, '10.{}.{}.0/24')", n / 256, n % 256), "block"),
                (format!("host_matches(network.hostname, '*.h{n}.example')"), "block"),
                (format!("'--a{n}' in exec.argv"), "block"),
                (format!("network.port == {n}"), "block"),
                (format!("target.endsWith('.s{n}')"), "block"),
                (format!("glob(target, '/g{n}/*')"), "block"),
            ]
        })
        .collect();
    rules.push(("true".to_owned(), "allow"));
    let rules: Vec<(&str, &str)> =
        rules.iter().map(|(text, action)| (text.as_str(), *action)).collect();
    let engine = engine(&rules);
    let mut facts = Facts { target: "/d7/x.s9".into(), ..Facts::default() };
    facts.network.ip = "10.0.3.9".into();
    facts.network.hostname = "www.h4.example".into();
    facts.network.port = 900;
    facts.exec.argv = vec!["--a5".into(), "b".into()];
    let asked: Vec<usize> = engine.index.candidates(&facts).unwrap().collect();
    assert_eq!(asked.len(), 6, "{asked:?}");
}
