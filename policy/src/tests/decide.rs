use super::*;

fn engine(files: &[(&str, &str)]) -> Engine {
    let files: Vec<_> = files
        .iter()
        .map(|(name, rules)| SourceFile {
            name: (*name).into(),
            text: format!("version: \"1\"\nrules:\n{rules}"),
        })
        .collect();
    Engine::load(&files).unwrap()
}

fn decide(files: &[(&str, &str)]) -> (Verdict, String, String) {
    let facts = Facts { target: "/x".into(), ..Facts::default() };
    let decision = engine(files).decide(&facts);
    let reason = decision.reason(&facts).into_owned();
    let id = decision.rule.map(|rule| rule.id.clone()).unwrap_or_default();
    (decision.verdict, id, reason)
}

#[test]
fn nothing_matched_is_block_with_the_documented_reason() {
    let expected = (Verdict::Block, String::new(), "no rule allows file_access to /x".to_owned());
    assert_eq!(decide(&[]), expected);
    assert_eq!(decide(&[("a", "  - { id: r, condition: false, action: allow }\n")]), expected);
}

#[test]
fn priority_then_file_name_then_position() {
    let allow = "  - { id: a, condition: true, action: allow }\n";
    let block = "  - { id: b, condition: true, action: block }\n";
    let early = "  - { id: e, condition: true, action: ask, priority: 99 }\n";
    let late = "  - { id: l, condition: true, action: ask, priority: 101 }\n";
    for (files, id) in [
        (vec![("f", format!("{allow}{block}"))], "a"),
        (vec![("f", format!("{block}{allow}"))], "b"),
        (vec![("2", block.to_owned()), ("1", allow.to_owned())], "a"),
        (vec![("1", block.to_owned()), ("2", allow.to_owned()), ("3", early.to_owned())], "e"),
        (vec![("1", late.to_owned()), ("2", allow.to_owned())], "a"),
    ] {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        assert_eq!(decide(&files).1, id, "{files:?}");
    }
}

#[test]
fn the_reason_is_reason_then_description_then_id() {
    for (keys, action, reason) in [
        ("reason: why, description: what", "block", "why"),
        ("description: what", "deny", "what"),
        ("priority: 1", "block", "blocked by rule r"),
        ("priority: 1", "allow", "allowed by rule r"),
        ("priority: 1", "ask", "held for an operator by rule r"),
    ] {
        let rule = format!("  - {{ id: r, condition: true, action: {action}, {keys} }}\n");
        assert_eq!(decide(&[("a", &rule)]).2, reason);
    }
}

#[test]
fn errors_fail_closed_and_are_told() {
    let failing = |action: &str| {
        format!(
            "  - {{ id: f, condition: \"run.args[0] == 'x'\", action: {action} }}\n  \
             - {{ id: after, condition: true, action: allow, priority: 200 }}\n"
        )
    };
    for (action, verdict, id) in [
        ("block", Verdict::Block, "f"),
        ("ask", Verdict::Block, "f"),
        ("allow", Verdict::Allow, "after"),
    ] {
        let decision = engine(&[("a", &failing(action))]).decide(&Facts::default());
        assert_eq!((decision.verdict, decision.rule.unwrap().id.as_str()), (verdict, id));
        assert_eq!(decision.errors, ["rule f (a:3): there is no item 0 in a list of 0"]);
    }
}

#[test]
fn a_decision_names_its_rule() {
    let engine = engine(&[("a.yaml", "  - id: r\n    condition: true\n    action: ask\n")]);
    let rule = engine.decide(&Facts::default()).rule.unwrap();
    assert_eq!((rule.file.as_str(), rule.line), ("a.yaml", 3));
    assert_eq!(engine.rules()[0].condition, "true");
}

#[test]
fn allow_all_allows() {
    let decision = Engine::allow_all().decide(&Facts::default());
    assert_eq!(
        (decision.verdict, decision.rule.unwrap().id.as_str()),
        (Verdict::Allow, "allow-all")
    );
}

#[test]
fn a_rule_may_keep_its_refusals_quiet() {
    let rules = "  - { id: a, condition: \"target == 'x'\", action: block, log: false }\n  \
                 - { id: b, condition: true, action: block }\n";
    let engine = engine(&[("a", rules)]);
    let announced = |target: &str| {
        engine.decide(&Facts { target: target.into(), ..Facts::default() }).is_announced()
    };
    assert!(!announced("x") && announced("y"));
    assert!(Engine::load(&[]).unwrap().decide(&Facts::default()).is_announced());
}

#[test]
fn the_same_files_loaded_again_say_the_same() {
    let load = || Engine::load(&crate::default_rules()).unwrap();
    let (one, other) = (load(), load());
    // A pattern that more than one thread has asked keeps something for each.
    let facts = Facts { target: "/home/ann/.ssh/id_rsa".into(), ..Facts::default() };
    let _ = one.decide(&facts);
    std::thread::scope(|threads| drop(threads.spawn(|| one.decide(&facts)).join().unwrap()));
    for (a, b) in one.rules().iter().zip(other.rules()) {
        assert!(a.says_the_same_as(b), "{}", a.id);
    }
}

#[test]
fn a_loop_inside_a_definition_leaves_the_loop_around_it_alone() {
    let text = "version: \"1\"\ndefinitions:\n  \
                odd: exec.argv.exists(b, b == run.tool)\n\
                rules:\n  \
                - { id: force, condition: \"run.args.exists(a, $odd || a == '--force')\", action: block }\n  \
                - { id: rest, condition: \"true\", action: allow }\n";
    let engine =
        Engine::load(&[SourceFile { name: "rules.yaml".into(), text: text.into() }]).unwrap();
    let mut facts = Facts::default();
    facts.run.tool = "git".into();
    facts.run.args = vec!["push".into(), "--force".into()];
    facts.exec.argv = vec!["push".into(), "origin".into()];
    let decision = engine.decide(&facts);
    assert_eq!(decision.verdict, Verdict::Block, "{decision:?}");
}
