use super::*;
use crate::{ActionType, Facts, Verdict};

const WITHIN: Confinement<'static> =
    Confinement { prefix: "rr-1/", scope: Some(("agent.name", "it's \\a\n\"")), floor: Some(1000) };

fn file(text: &str) -> SourceFile {
    SourceFile { name: "r.yaml".to_owned(), text: text.to_owned() }
}

fn rule(condition: &str) -> SourceFile {
    file(&format!(
        "version: \"1\"\nrules:\n  - id: a\n    condition: {}\n    action: allow\n    priority: -5\n",
        double_quoted(condition)
    ))
}

fn asked(confined: &SourceFile, agent: &str) -> Verdict {
    let engine = Engine::load(std::slice::from_ref(confined)).unwrap();
    let mut facts =
        Facts { action_type: ActionType::FileAccess, target: "/x".to_owned(), ..Facts::default() };
    agent.clone_into(&mut facts.agent.name);
    engine.decide(&facts).verdict
}

#[test]
fn a_rule_holds_for_its_agent_alone() {
    for condition in [
        "true",
        "target == '/x' || true",
        "target == '/x'\n || agent.name == 'other'",
        "agent.name == 'other' ? true : true",
        "target == '/y' ? false : true",
        "!(target == '/y') || false",
    ] {
        let confined = confine(&rule(condition), &WITHIN).unwrap();
        assert_eq!(asked(&confined, "it's \\a\n\""), Verdict::Allow, "{condition}");
        for other in ["", "other", "it's", "it's \\a\n"] {
            assert_eq!(asked(&confined, other), Verdict::Block, "{condition} for {other:?}");
        }
    }
}

/// A condition that closes the parenthesis is no condition by itself.
#[test]
fn a_condition_cannot_escape_from_its_scope() {
    for condition in
        ["true) || (true", "true || true) || (false", "false)//", "true /* ) || (", "'"]
    {
        assert!(confine(&rule(condition), &WITHIN).is_err(), "{condition}");
    }
}

#[test]
fn ids_priorities_and_texts_are_kept_in_bounds() {
    let text = "version: \"1\"\ndefinitions:\n  \"d\": \"target == '/x'\"\nrules:\n  - id: \"x\\\": y\"\n    \
        condition: $d\n    action: block\n    reason: \"no\\nid: z\"\n    log: false\n    examples:\n      match:\n        \
        - { target: /x }\n  - id: late\n    condition: $d\n    action: ask\n    priority: 2000\n";
    let confined = confine(&file(text), &WITHIN).unwrap();
    let engine = Engine::load(&[confined]).unwrap();
    let rules: Vec<_> =
        engine.rules().iter().map(|rule| (rule.id.as_str(), rule.priority, rule.action)).collect();
    assert_eq!(rules, [("rr-1/x\": y", 1000, Verdict::Block), ("rr-1/late", 2000, Verdict::Ask)]);
    assert_eq!((engine.rules()[0].reason.as_str(), engine.rules()[0].log), ("no\nid: z", false));
}

#[test]
fn a_file_that_is_too_large_once_confined_is_refused() {
    let long = file(&format!(
        "version: \"1\"\nrules:\n  - id: {}\n    condition: \"true\"\n    action: allow\n",
        "i".repeat(126)
    ));
    let errors = confine(&long, &WITHIN).unwrap_err();
    assert!(errors.to_string().contains("an id has 1 to 128"), "{errors}");
    let deep = rule(&format!("{}true{}", "(".repeat(60), ")".repeat(60)));
    let _ = confine(&deep, &WITHIN);
}

#[test]
fn without_a_scope_only_ids_change() {
    let open = Confinement { prefix: "rr-2/", scope: None, floor: None };
    let engine = Engine::load(&[confine(&rule("true"), &open).unwrap()]).unwrap();
    let rule = &engine.rules()[0];
    assert_eq!((rule.id.as_str(), rule.priority, rule.condition.as_str()), ("rr-2/a", -5, "true"));
}
