//! Documents about rules are promises: what they show loads, and answers as they say.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

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
