//! Documents about rules are promises: what they show loads, and answers as they say.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use policy::{Engine, SourceFile, Suite};

/// What `rules check` protects.
const PROTECTED: [&str; 3] = ["/etc/outcall", "/var/log/outcall", "/run/outcall"];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

#[test]
fn the_reference_ends_with_what_the_command_prints() {
    let page = read(docs().join("reference/rules.md"));
    let marker = "<!-- generated: outcallctl rules reference -->\n";
    let (_, printed) = page.split_once(marker).unwrap();
    let wanted = format!("\n{}", policy::reference());
    let differs = printed.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    assert!(
        printed == wanted,
        "write the output of `outcallctl rules reference` there: {differs:?}"
    );
}

/// The recipes of the cookbook.
fn recipes() -> Vec<SourceFile> {
    let entries = fs::read_dir(docs().join("examples/rules")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with(".cases.yaml"));
    names.sort();
    assert!(names.len() >= 6, "{names:?}");
    names.into_iter().map(|name| SourceFile { text: example(&name), name }).collect()
}

fn example(name: &str) -> String {
    read(docs().join("examples/rules").join(name))
}

/// A set that loads without an error and without a warning.
fn strictly(files: &[SourceFile]) -> Engine {
    let engine = Engine::load(files).unwrap_or_else(|errors| panic!("{errors}"));
    let warnings = policy::lint(files, &engine, &PROTECTED.map(str::to_owned));
    assert!(warnings.is_empty(), "{warnings:#?}");
    engine
}

#[test]
fn every_recipe_loads_alone_and_beside_the_built_in_rules() {
    for recipe in recipes() {
        strictly(std::slice::from_ref(&recipe));
        assert_eq!(policy::format(&recipe.name, &recipe.text).unwrap(), recipe.text);
        let mut both = policy::default_rules();
        both.push(recipe);
        strictly(&both);
    }
}

#[test]
fn every_rule_of_a_recipe_decides_a_case() {
    for recipe in recipes() {
        let name = recipe.name.replace(".yaml", ".cases.yaml");
        let cases = Suite::read(&SourceFile { text: example(&name), name }).unwrap();
        let own = Engine::load(std::slice::from_ref(&recipe)).unwrap();
        let mut both = policy::default_rules();
        both.push(recipe);
        let results = cases.run(&Engine::load(&both).unwrap());
        let failed = results.iter().find(|result| !result.passed());
        assert!(failed.is_none(), "{}: {failed:#?}", cases.file);
        let deciding: BTreeSet<&str> = results
            .iter()
            .filter_map(|result| result.decision.rule.as_ref())
            .map(|rule| rule.id.as_str())
            .collect();
        let silent = own.rules().iter().find(|rule| !deciding.contains(rule.id.as_str()));
        assert!(silent.is_none(), "{}: {silent:?} decides nothing", cases.file);
    }
}

#[test]
fn the_cookbook_names_every_recipe() {
    let cookbook = read(docs().join("guide/cookbook.md"));
    for recipe in recipes() {
        assert!(
            cookbook.contains(&format!("](../examples/rules/{})", recipe.name)),
            "{}",
            recipe.name
        );
    }
}

#[test]
fn the_first_rule_file_of_the_reference_loads() {
    let page = read(docs().join("reference/rules.md"));
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    strictly(&[SourceFile { name: "rules.md".to_owned(), text: text.to_owned() }]);
}
