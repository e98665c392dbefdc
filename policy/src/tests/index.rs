use proptest::prelude::*;

use crate::{ActionType, Engine, Facts, SourceFile};

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
        Just("cidr(network.ip, '10.0.0.0/8')".to_owned()),
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
    let ip = prop::sample::select(vec!["", "10.1.2.3", "9.9.9.9", "no address"]);
    let action = prop::sample::select(ActionType::ALL.to_vec());
    let argv = prop::collection::vec(path(), 0..3);
    (action, path(), path(), path(), argv, 0..4_i64, ip).prop_map(
        |(action_type, target, file, cwd, argv, port, ip)| {
            let mut facts = Facts { action_type, target, ..Facts::default() };
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
