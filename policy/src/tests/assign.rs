use proptest::prelude::*;

use super::*;
use crate::Source;

fn set(assignments: &[(&str, &str)]) -> Facts {
    let mut facts = Facts::default();
    for (name, value) in assignments {
        set_fact(&mut facts, name, value).unwrap();
    }
    facts
}

#[test]
fn every_kind_of_fact_can_be_set() {
    let facts = set(&[
        ("source", "api"),
        ("action_type", "shell_exec"),
        ("target", "/bin/sh"),
        ("process.uid", "-1"),
        ("exec.argv", "sh"),
        ("exec.argv", "a=b,c"),
        ("container.labels.team", "x"),
        ("container.labels.com.example.tier", "y"),
        ("metadata.k", ""),
    ]);
    assert_eq!((facts.source, facts.action_type), (Source::Api, ActionType::ShellExec));
    assert_eq!((facts.target.as_str(), facts.process.uid), ("/bin/sh", -1));
    assert_eq!(facts.exec.argv, ["sh", "a=b,c"]);
    assert_eq!(facts.container.labels["team"], "x");
    assert_eq!(facts.container.labels["com.example.tier"], "y");
    assert_eq!(facts.metadata["k"], "");
}

#[test]
fn the_last_of_two_texts_stands() {
    assert_eq!(set(&[("target", "a"), ("target", "b")]).target, "b");
}

#[test]
fn what_is_not_in_the_table_is_refused_with_the_nearest_name() {
    let refused = |name: &str, value: &str| {
        let mut facts = Facts::default();
        let error = set_fact(&mut facts, name, value).unwrap_err();
        assert_eq!(facts, Facts::default(), "{name}");
        error.to_string()
    };
    for (name, value, message) in [
        (
            "file.operaton",
            "read",
            "there is no fact named `file.operaton`; did you mean `file.operation`?",
        ),
        ("zzz", "1", "there is no fact named `zzz`"),
        ("", "1", "there is no fact named ``"),
        ("file", "x", "there is no fact named `file`"),
        ("target.x", "1", "there is no fact named `target.x`; did you mean `target`?"),
        ("metadata.", "1", "there is no fact named `metadata.`; did you mean `metadata`?"),
        ("metadata", "1", "`metadata` is a map: name an entry of it, as in `metadata.KEY`"),
        ("network.port", "http", "`network.port` is a number, and \"http\" is not"),
        ("source", "kernl", "\"kernl\" is no source; did you mean \"kernel\"?"),
    ] {
        let found = refused(name, value);
        assert!(found.starts_with(message), "{name}: {found}");
    }
    assert!(!refused("a\u{1b}[2J", "x").contains('\u{1b}'));
}

#[test]
fn paths_follow_the_target_unless_they_are_given() {
    let mut facts = set(&[("target", "/x")]);
    complete(&mut facts);
    assert_eq!(facts.file.path, "/x");
    let mut facts = set(&[("target", "/x"), ("action_type", "shell_exec"), ("exec.path", "/y")]);
    complete(&mut facts);
    assert_eq!((facts.exec.path.as_str(), facts.file.path.as_str()), ("/y", ""));
}

#[test]
fn every_name_of_the_vocabulary_leads_to_its_own_fact() {
    for fact in &FACTS {
        let (found, entry) = find(fact.name).unwrap();
        assert_eq!((found.name, entry), (fact.name, None));
    }
}

proptest! {
    #[test]
    fn arbitrary_names_and_values_never_panic(name in any::<String>(), value in any::<String>()) {
        let _ = set_fact(&mut Facts::default(), &name, &value).map_err(|error| error.to_string());
    }
}
