//! Documents are promises: what they name must exist, and what exists must be named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod transcripts;

const CRATES: [&str; 4] = ["supervisor", "shim", "policy", "seccomp-profiles"];
const PROFILES: [&str; 2] = ["default", "observe"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below a directory, by its path from the root.
fn files(directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(directory)).expect("a directory").flatten() {
        let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// The words between backticks, code blocks left out.
fn quoted(text: &str) -> BTreeSet<String> {
    let prose: String = text.split("\n```").step_by(2).flat_map(|part| [part, "\n"]).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of the first table below a heading, as trimmed cells, without the head.
fn rows(text: &str, heading: &str) -> Vec<Vec<String>> {
    let start = text.find(heading).unwrap_or_else(|| panic!("no heading {heading:?}"));
    text[start..]
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split(" | ").map(|c| c.trim().to_owned()).collect())
        .collect()
}

/// A module as ARCHITECTURE names it: `mod.rs` by its directory. Test code is not architecture.
fn module(path: &str) -> Option<String> {
    let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
    let name = path.strip_suffix("mod.rs").unwrap_or(path);
    (path.ends_with(".rs") && !is_test).then(|| name.to_owned())
}

#[test]
fn architecture_names_every_module() {
    let named = quoted(&read("docs/ARCHITECTURE.md"));
    let modules = CRATES.iter().flat_map(|name| files(&format!("{name}/src")));
    let modules: Vec<String> = modules.filter_map(|path| module(&path)).collect();
    assert!(modules.len() > 60, "{modules:?}");
    let missing: Vec<_> = modules.iter().filter(|path| !named.contains(*path)).collect();
    assert!(missing.is_empty(), "docs/ARCHITECTURE.md does not name {missing:#?}");
}

#[test]
fn what_architecture_names_exists() {
    let ours = |name: &&String| CRATES.iter().any(|c| name.starts_with(&format!("{c}/")));
    let named = quoted(&read("docs/ARCHITECTURE.md"));
    let gone: Vec<_> =
        named.iter().filter(ours).filter(|name| !root().join(name).exists()).collect();
    assert!(gone.is_empty(), "docs/ARCHITECTURE.md names what is not there: {gone:#?}");
}

/// The names of all tests of a file: what is declared below `#[test]`.
fn tests_in(text: &str) -> Vec<String> {
    text.split("#[test]")
        .skip(1)
        .filter_map(|rest| rest.split_once("fn ")?.1.split_once('('))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[test]
fn known_attacks_name_tests_that_exist() {
    let tests: BTreeSet<String> = ["integration/tests", "shim/tests", "seccomp-profiles/tests"]
        .into_iter()
        .map(str::to_owned)
        .chain(CRATES.iter().map(|name| format!("{name}/src")))
        .flat_map(|directory| files(&directory))
        .flat_map(|path| tests_in(&read(path)))
        .collect();
    let rows = rows(&read("docs/known-attacks.md"), "# Known attacks");
    assert!(rows.len() > 20);
    for row in rows {
        let [vector, _, test] = row.as_slice() else { panic!("not three cells: {row:?}") };
        let named = quoted(test);
        assert!(!named.is_empty() || test == "no test yet", "{vector}: {test}");
        for name in named {
            let function = name.rsplit("::").next().unwrap_or(&name);
            assert!(tests.contains(function), "{vector}: no test {name}");
        }
    }
}

#[test]
fn relative_links_lead_somewhere() {
    let mut documents: Vec<String> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned).into();
    documents.extend(files("docs").into_iter().filter(|path| path.ends_with(".md")));
    for document in documents {
        let text = read(&document);
        let directory = root().join(&document).parent().expect("a directory").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or(link);
            let leads = link.contains("://") || directory.join(path).exists();
            assert!(leads, "{document}: {link} leads nowhere");
        }
    }
}

/// The calls that a built-in profile asks about.
fn notified(profile: &str) -> BTreeSet<String> {
    let text = read(format!("seccomp-profiles/profiles/{profile}.json"));
    let profile: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entries = profile["syscalls"].as_array().expect("entries").iter();
    entries
        .filter(|entry| entry["action"] == "SCMP_ACT_NOTIFY")
        .flat_map(|entry| entry["names"].as_array().expect("names"))
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn every_notified_call_has_a_safety_class() {
    let rows = rows(&read("docs/THREAT-MODEL.md"), "## Safety class of each call");
    let said = |row: &Vec<String>| quoted(&row[0]);
    let known: BTreeSet<String> = rows.iter().flat_map(said).collect();
    let asked: BTreeSet<String> = PROFILES.iter().flat_map(|name| notified(name)).collect();
    assert!(asked.len() > 30);
    assert_eq!(known, asked, "rows of docs/THREAT-MODEL.md and notified calls differ");
    let observed = rows.iter().filter(|row| row[1].starts_with("yes")).flat_map(said).collect();
    assert_eq!(notified("observe"), observed, "the column `observe` differs from the profile");
    let unsafe_rows = rows.iter().find(|row| row[2].contains("racy"));
    assert!(unsafe_rows.is_none(), "{unsafe_rows:?}");
}
