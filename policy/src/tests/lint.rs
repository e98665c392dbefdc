use super::*;

/// The warnings about rules, each `line:column: message (hint)`.
fn warnings(rules: &str) -> Vec<String> {
    let text = format!("version: \"1\"\n{rules}");
    let files = [SourceFile { name: "a.yaml".into(), text }];
    let engine = Engine::load(&files).unwrap_or_else(|errors| panic!("{errors}"));
    let found = lint(&files, &engine, &["/etc/outcall".to_owned(), "/run/outcall".to_owned()]);
    let hint = |warning: &Diagnostic| warning.hint.clone().unwrap_or_default();
    found.iter().map(|w| format!("{}:{}: {} ({})", w.line, w.column, w.message, hint(w))).collect()
}

/// The warnings about two rules in order: the first blocks, the second allows.
fn pair(first: &str, second: &str) -> Vec<String> {
    warnings(&format!(
        "rules:\n  - {{ id: a, action: block, condition: \"{first}\" }}\n  \
         - {{ id: b, action: allow, condition: \"{second}\" }}\n"
    ))
}

#[track_caller]
fn assert_shadowed(first: &str, second: &str) {
    let found = pair(first, second);
    assert_eq!(
        found,
        [
            "4:40: rule `b` can never match: rule `a` (a.yaml:3) comes first and covers it (to have it \
          decide, give it `priority: 99`, or narrow `a`)"
        ],
        "{first} / {second}"
    );
}

#[test]
fn a_covered_rule_is_found() {
    for (first, second) in [
        ("true", "target == 'x'"),
        ("under(target, '/w')", "under(target, '/w/src')"),
        ("under(target, '/w')", "target == '/w/src/a'"),
        ("under(target, '/w')", "target in ['/w/a', '/w/b'] && file.operation == 'read'"),
        ("target.startsWith('/w/')", "target.startsWith('/w/a/') && target.endsWith('x')"),
        ("target.endsWith('.rs')", "target.endsWith('a.rs')"),
        ("target in ['a', 'b', 'c']", "target in ['c', 'a']"),
        ("network.port > 10", "network.port == 443"),
        ("network.port in [80, 443]", "network.port == 443"),
        ("cidr(network.ip, '10.0.0.0/8')", "cidr(network.ip, '10.1.0.0/16') && network.port == 1"),
        ("host_matches(network.hostname, '*.a.b')", "host_matches(network.hostname, '*.x.a.b')"),
        ("host_matches(network.hostname, '*.a.b')", "host_matches(network.hostname, 'x.a.b')"),
        ("glob(target, '/w/**')", "target == '/w/a'"),
        ("target.matches('^/w')", "target == '/w/a'"),
        ("target == 'a' || target == 'b'", "target == 'b'"),
        ("target != 'a'", "target == 'b'"),
        ("!(target == 'a' && file.operation == 'x')", "target == 'b'"),
        ("action_type == 'file_access'", "action_type == 'file_access' && 'x' in run.args"),
        ("'x' in run.args", "'x' in run.args && target == 'y'"),
        ("run.args.all(a, a == 'x')", "run.args.all(a, a == 'x') && target == 'y'"),
    ] {
        assert_shadowed(first, second);
    }
}

#[test]
fn rules_that_can_match_are_left_alone() {
    for (first, second) in [
        ("under(target, '/w/src')", "under(target, '/w')"),
        ("under(target, '/w')", "under(target, '/w-evil')"),
        ("under(target, '/w')", "target == '/w/../x'"),
        ("under(target, '/w')", "target.startsWith('/w/')"),
        ("target == 'a'", "target in ['a', 'b']"),
        ("network.port == 443", "network.port > 10"),
        ("cidr(network.ip, '10.1.0.0/16')", "cidr(network.ip, '10.0.0.0/8')"),
        ("host_matches(network.hostname, '*.a.b')", "host_matches(network.hostname, 'a.b')"),
        ("target == 'a' && source == 'api'", "target == 'a'"),
        ("run.args[0] == 'x'", "target == 'y'"),
        ("target != 'a'", "target == 'a'"),
        ("'x' in run.args", "run.args.exists(a, a == 'y')"),
    ] {
        assert_eq!(pair(first, second), [""; 0], "{first} / {second}");
    }
}

#[test]
fn the_same_verdict_twice_is_to_be_removed() {
    let found = warnings(
        "rules:\n  - { id: a, action: allow, condition: \"target == 'x'\" }\n  \
         - { id: b, action: allow, condition: \"target == 'x'\", priority: 200 }\n",
    );
    assert!(found[0].ends_with("(both say the same: remove this one)"), "{found:?}");
}

#[test]
fn a_condition_that_is_never_true_is_found() {
    for condition in [
        "false",
        "target == 'a' && target == 'b'",
        "target == 'a' && target != 'a'",
        "target == 'a' && !(target == 'a')",
        "target == 'a' && target.startsWith('b')",
        "target == '/x' && under(target, '/w')",
        "under(target, '/a') && under(target, '/b')",
        "target.startsWith('/a/') && target.startsWith('/b/')",
        "target in ['a', 'b'] && target in ['c']",
        "network.port < 10 && network.port > 20",
        "network.port == 5 && network.port >= 6",
        "cidr(network.ip, '10.0.0.0/8') && cidr(network.ip, '192.168.0.0/16')",
        "action_type == 'file_access' && action_type == 'network_call'",
        "action_type == 'file_access' && action_type != 'file_access'",
        "(target == 'a' || target == 'b') && target == 'c'",
        "under(target, '/w/src') && !under(target, '/w')",
        "'x' in run.args && !('x' in run.args)",
    ] {
        let rule = format!("rules:\n  - {{ id: a, action: block, condition: \"{condition}\" }}\n");
        let expected = "3:40: this condition is never true (the tests exclude each other: remove the \
                        rule, or one of them)";
        assert_eq!(warnings(&rule), [expected], "{condition}");
    }
    for condition in [
        "target == 'a' || target == 'b'",
        "under(target, '/a') && under(target, '/a/b')",
        "network.port > 10 && network.port < 12",
        "cidr(network.ip, '::ffff:0:0/96') && cidr(network.ip, '10.0.0.0/8')",
        "'x' in run.args && !('y' in run.args)",
        "target.startsWith('/a/') && target.endsWith('/a')",
    ] {
        let rule = format!("rules:\n  - {{ id: a, action: block, condition: \"{condition}\" }}\n");
        assert_eq!(warnings(&rule), [""; 0], "{condition}");
    }
}

#[test]
fn an_allow_of_everything_is_found() {
    for condition in [
        "true",
        "target.startsWith('')",
        "target == 'a' || !(target == 'a')",
        "glob(target, '**')",
        "target.matches('.*') && true",
    ] {
        let rule = format!("rules:\n  - {{ id: a, action: allow, condition: \"{condition}\" }}\n");
        let found = warnings(&rule);
        assert!(
            found[0].starts_with("3:40: rule `a` allows everything that comes to it"),
            "{condition}: {found:?}"
        );
        // It reaches Outcall's own directories as well.
        assert_eq!(found.len(), 2, "{found:?}");
    }
    assert_eq!(warnings("rules:\n  - { id: a, action: block, condition: true }\n"), [""; 0]);
}

#[test]
fn an_unused_definition_is_found_and_a_used_one_is_not() {
    let found = warnings(
        "definitions:\n  a: $b\n  b: target == 'x'\n  c: $d\n  d: target == 'y'\nrules:\n  \
         - { id: a, action: block, condition: $a }\n",
    );
    assert_eq!(
        found,
        [
            "5:6: the definition `c` is used by no rule of this file (remove it, or use it as `$c`)",
            "6:6: the definition `d` is used by no rule of this file (remove it, or use it as `$d`)",
        ]
    );
}

#[test]
fn a_prefix_that_matches_more_than_it_seems_is_found() {
    let found = warnings(
        "definitions:\n  w: \"target.startsWith('/workspace')\"\nrules:\n  - id: a\n    action: block\n    \
         condition: \"$w && exec.cwd.startsWith('/home/ann')\"\n",
    );
    assert_eq!(
        found,
        [
            "3:7: this also matches `/workspace-other`, not only what lies in `/workspace` (write \
             `under(target, '/workspace')`)",
            "7:23: this also matches `/home/ann-other`, not only what lies in `/home/ann` (write \
             `under(exec.cwd, '/home/ann')`)",
        ]
    );
    for condition in [
        "target.startsWith('/workspace/')",
        "target.startsWith('/')",
        "target.startsWith('unix:/run')",
        "run.tool.startsWith('/x')",
        "target.endsWith('/x')",
    ] {
        let rule = format!("rules:\n  - {{ id: a, action: block, condition: \"{condition}\" }}\n");
        assert_eq!(warnings(&rule), [""; 0], "{condition}");
    }
}

#[test]
fn an_allow_that_reaches_outcall_itself_is_found() {
    let found = warnings(
        "rules:\n  - { id: own, action: block, condition: \"under(target, '/run/outcall')\" }\n  \
         - { id: etc, action: allow, condition: \"under(target, '/etc') && file.operation == 'read'\" }\n  \
         - { id: run, action: allow, condition: \"under(target, '/run')\" }\n",
    );
    assert_eq!(
        found,
        ["4:42: rule `etc` allows to read /etc/outcall, which belongs to Outcall itself (add `&& \
          !under(target, '/etc/outcall')`)"]
    );
}

#[test]
fn the_built_in_rules_have_no_warnings() {
    let files = crate::default_rules();
    let engine = Engine::load(&files).unwrap();
    let protected = ["/etc/outcall", "/run/outcall", "/var/log/outcall"].map(str::to_owned);
    let found = lint(&files, &engine, &protected);
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

#[test]
fn a_block_that_decides_by_failing_is_not_called_covered() {
    let rules = |first: &str, second: &str| {
        warnings(&format!(
            "rules:\n  - {{ id: a, action: allow, condition: \"{first}\" }}\n  \
             - {{ id: b, action: block, condition: \"{second}\" }}\n"
        ))
    };
    let (wide, narrow) = ("cidr(network.ip, '10.0.0.0/8')", "cidr(network.ip, '10.1.0.0/16')");
    assert_eq!(rules(wide, narrow), [""; 0]);
    assert_eq!(rules("target in ['a', 'b']", "target == 'a'").len(), 1);
}
