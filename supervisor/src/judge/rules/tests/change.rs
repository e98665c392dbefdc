use policy::SourceFile;

use super::*;

fn engine(text: &str) -> Engine {
    Engine::load(&[SourceFile { name: "a.yaml".to_owned(), text: text.to_owned() }]).unwrap()
}

fn rule(id: &str, condition: &str) -> String {
    format!("  - id: {id}\n    condition: \"{condition}\"\n    action: allow\n    description: d\n")
}

#[test]
fn rules_are_told_apart_by_what_they_say_and_not_by_where() {
    let head =
        |home: &str| format!("version: \"1\"\ndefinitions:\n  home: target == '{home}'\nrules:\n");
    let old = [&head("/a"), &rule("stays", "true"), &rule("meant", "$home"), &rule("goes", "true")];
    let new =
        [&head("/b"), &rule("comes", "true"), &rule("meant", "$home"), &rule("stays", "true")];
    let [old, new] = [old, new].map(|parts| engine(&parts.map(String::as_str).concat()));
    let told = difference(&old, &new);
    assert_eq!(told["added"], serde_json::json!({ "count": 1, "ids": ["comes"] }));
    assert_eq!(told["removed"], serde_json::json!({ "count": 1, "ids": ["goes"] }));
    assert_eq!(told["changed"], serde_json::json!({ "count": 1, "ids": ["meant"] }));
}

#[test]
fn a_long_list_is_cut_and_counted() {
    let many: String = (0..100).map(|number| rule(&format!("r{number}"), "true")).collect();
    let old = engine(&format!("version: \"1\"\nrules:\n{}", rule("x", "true")));
    let new = engine(&format!("version: \"1\"\nrules:\n{many}"));
    let added = &difference(&old, &new)["added"];
    assert_eq!((added["count"].as_u64(), added["ids"].as_array().unwrap().len()), (Some(100), 32));
    assert_eq!(counts(&new)["allow"], 100);
}
