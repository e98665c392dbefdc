use super::*;
use crate::{Engine, SourceFile};

#[test]
fn every_fact_is_described() {
    let facts = facts_reference();
    assert_eq!(facts.len(), FACTS.len());
    for fact in facts {
        assert!(fact.doc.ends_with('.') && !fact.doc.contains("  "), "{}: {}", fact.name, fact.doc);
        assert!(!fact.example.is_empty(), "{}", fact.name);
    }
}

#[test]
fn every_example_is_a_value_of_its_fact() {
    for fact in facts_reference() {
        let FactDoc { name, example, .. } = fact;
        let condition = match fact.kind {
            "string" => format!("{name} == '{example}'"),
            "number" => format!("{name} == {example}"),
            _ => format!("size({name}) > 0"),
        };
        let text = format!(
            "version: \"1\"\nrules:\n  - id: a\n    condition: \"{condition}\"\n    action: allow\n    \
             examples: {{ match: [{{ {name}: {example} }}] }}\n",
        );
        let loaded = Engine::load(&[SourceFile { name: "a.yaml".into(), text }]);
        assert!(loaded.is_ok(), "{:?}", loaded.err());
    }
}
