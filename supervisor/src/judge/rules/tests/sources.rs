use super::*;

const OWN: &str =
    "version: \"1\"\nrules:\n  - id: own\n    condition: \"false\"\n    action: allow\n";

fn own() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("own.yaml");
    std::fs::write(&file, OWN).unwrap();
    (scratch, file)
}

#[test]
fn the_built_in_rules_have_a_name() {
    let shipped = policy::default_rules();
    assert_eq!(sources(&[]).unwrap(), shipped);
    assert_eq!(sources(&["builtin".into()]).unwrap(), shipped);
    assert_eq!(sources(&["builtin".into(), "builtin".into()]).unwrap(), shipped);
    let (_scratch, file) = own();
    assert_eq!(sources(std::slice::from_ref(&file)).unwrap().len(), 1, "paths replace them");
    let both = Rules::load(&["builtin".into(), file]).unwrap();
    let rules = both.current().engine.rules().len();
    assert_eq!(rules, Engine::load(&shipped).unwrap().rules().len() + 1);
}

#[test]
fn the_name_is_no_path() {
    let (_scratch, file) = own();
    assert!(sources(&["./builtin".into()]).is_err(), "a path of that name is a path");
    let both = Rules::load(&["builtin".into(), file.clone()]).unwrap();
    let named = std::path::absolute(BUILTIN).unwrap();
    assert!(!both.current().places.contains(&named), "nothing of that name is protected");
    assert!(both.current().places.contains(&file));
    assert_eq!(on_disk(both.paths()), [file]);
}

#[test]
fn built_in_rules_alone_are_not_watched() {
    let scratch = tempfile::tempdir().unwrap();
    let recorder = crate::record::Recorder::open(&scratch.path().join("log"), None).unwrap();
    let rules = Arc::new(Rules::load(&["builtin".into()]).unwrap());
    assert!(Watch::start(&rules, &Arc::new(recorder)).is_none());
}
