use super::*;

#[test]
fn definitions_are_found_through_others_and_examples_are_counted() {
    let text = "version: \"1\"\ndefinitions:\n  a: $b && target == 'x'\n  b: source == 'api'\n  \
        c: target == '$b'\nrules:\n  - id: one\n    condition: $a\n    action: allow\n    examples:\n      \
        match: [ { target: x, source: api } ]\n      no_match: [ {}, { target: y } ]\n  \
        - { id: two, condition: $c, action: ask }\n";
    let file = SourceFile { name: "a.yaml".into(), text: text.into() };
    let found = outlines(&[file]);
    let names: Vec<Vec<&str>> = found
        .iter()
        .map(|outline| outline.definitions.iter().map(|(name, _)| name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["a", "b"], vec!["c"]]);
    assert_eq!((found[0].matches, found[0].no_match, found[1].matches), (1, 2, 0));
}

#[test]
fn a_file_that_does_not_load_has_no_outline() {
    assert!(outlines(&[SourceFile { name: "a".into(), text: "[".into() }]).is_empty());
}

#[test]
fn every_shipped_rule_has_an_outline() {
    let files = crate::default_rules();
    let engine = crate::Engine::load(&files).unwrap();
    assert_eq!(outlines(&files).len(), engine.rules().len());
}
