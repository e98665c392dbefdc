//! Transcripts of commands about rules: run again, they say what the document shows.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::read;

/// What a document shows: a file with its text, or commands with their output.
enum Shown {
    File { name: String, text: String },
    Transcript(String),
}

/// The blocks that say what they are: `yaml NAME` and `console`.
fn blocks(document: &str) -> Vec<Shown> {
    let blocks = document.split("\n```").skip(1).step_by(2);
    blocks
        .filter_map(|block| {
            let (label, text) = block.split_once('\n')?;
            match label.split_once(' ') {
                Some(("yaml", name)) => {
                    Some(Shown::File { name: name.to_owned(), text: format!("{text}\n") })
                }
                _ if label == "console" => Some(Shown::Transcript(format!("{text}\n"))),
                _ => None,
            }
        })
        .collect()
}

/// What the shell shows for one command, and its exit code. `$?` is that of the command before.
fn outcome(command: &str, before: i32, directory: &Path) -> (String, i32) {
    let path = std::env::var("PATH").expect("a PATH");
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; (exit {before}); {command}")])
        .env("PATH", format!("{}:{path}", integration::dist().display()))
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .expect("bash");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    (text, output.status.code().expect("an exit code"))
}

fn replay(transcript: &str, directory: &Path) -> String {
    let mut said = String::new();
    let mut code = 0;
    for command in transcript.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let text;
        (text, code) = outcome(command, code, directory);
        said += &format!("$ {command}\n{text}");
    }
    said
}

#[test]
fn the_guide_to_first_rules_shows_what_comes() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut transcripts = 0;
    for shown in blocks(&read("docs/guide/write-your-first-rules.md")) {
        match shown {
            Shown::File { name, text } => {
                let path = scratch.path().join(name);
                std::fs::write(&path, text).expect("a file");
                let mode = std::fs::Permissions::from_mode(0o644);
                std::fs::set_permissions(&path, mode).expect("a mode");
            }
            Shown::Transcript(text) => {
                transcripts += 1;
                assert_eq!(replay(&text, scratch.path()), text);
            }
        }
    }
    assert!(transcripts >= 7, "{transcripts}");
}
