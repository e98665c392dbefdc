use super::*;
use crate::{SourceFile, explain_near_miss};

const RULES: &str = r#"
version: "1"
definitions:
  file: action_type == 'file_access'
  workspace: $file && under(target, '/w')
rules:
  - { id: read, condition: "$workspace && file.operation == 'read'", action: allow }
  - { id: sources, condition: "$workspace && target.endsWith('.rs') || $file && target == '/x'", action: block }
  - { id: all, condition: "$workspace && exec.argv.all(a, a == 'b')", action: allow }
  - { id: failing, condition: "$file && exec.argv[0] == 'b' && false", action: allow }
  - { id: single, condition: "target == '/w/b'", action: allow }
  - { id: network, condition: "action_type == 'network_call' && under(target, '/w')", action: allow }
"#;

fn near(target: &str, operation: &str) -> Vec<(String, String)> {
    let text = RULES.to_owned();
    let engine = Engine::load(&[SourceFile { name: "r.yaml".into(), text }]).unwrap();
    let mut facts = Facts { target: target.into(), ..Facts::default() };
    facts.file.operation = operation.into();
    facts.exec.argv = vec!["a".into()];
    let misses = engine.near_misses(&facts);
    misses.into_iter().map(|miss| (miss.rule.id.clone(), miss.test)).collect()
}

#[test]
fn rules_that_failed_by_one_test_are_named_with_it() {
    let pair = |id: &str, test: &str| (id.to_owned(), test.to_owned());
    assert_eq!(
        near("/w/a", "write"),
        [
            pair("read", "file.operation == 'read'"),
            pair("sources", "target.endsWith('.rs')"),
            pair("all", "exec.argv.all(a, a == 'b')"),
        ]
    );
    // Two tests fail of the first and the third; the second has a branch that fails by one.
    assert_eq!(near("/y", "write"), [pair("sources", "target == '/x'")]);
}

#[test]
fn a_near_miss_is_a_sentence() {
    let text = RULES.to_owned();
    let engine = Engine::load(&[SourceFile { name: "r.yaml".into(), text }]).unwrap();
    let mut facts = Facts { target: "/w/a".into(), ..Facts::default() };
    facts.file.operation = "write".into();
    let misses = engine.near_misses(&facts);
    assert_eq!(
        explain_near_miss(&misses[0]),
        "rule read (r.yaml:7) would have allowed it, had `file.operation == 'read'` held"
    );
}
