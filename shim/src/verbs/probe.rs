//! The verbs that ask, print the verdict, and do nothing else.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::print;
use crate::args::{Probe, Subject};
use crate::client::Client;
use crate::failure::Failure;
use crate::json::Json;
use crate::question::{Action, Question, member};
use crate::text;

pub(super) fn probe(client: &mut Client, probe: Probe) -> Result<i32, Failure> {
    let question = question(probe.subject)?;
    let verdict = client.ask(&question)?;
    let line = if probe.json { verdict.json() } else { verdict.sentence(&question) };
    print(&format!("{line}\n"))?;
    Ok(if verdict.allowed { 0 } else { 1 })
}

fn question(subject: Subject) -> Result<Question, Failure> {
    let own = |key: &str, value: String| member(key, Json::String(value));
    Ok(match subject {
        Subject::Url { url, method } => Question {
            action: Action::NetworkCall,
            target: url,
            metadata: vec![own("method", method)],
        },
        Subject::File { path, operation } => {
            let real = resolve(Path::new(&path)).map_err(|error| {
                Failure::failed(format!("cannot resolve {}: {error}", path.to_string_lossy()))
            })?;
            let requested = own("requested", text::of(path.as_bytes()));
            Question {
                action: Action::FileAccess,
                target: text::of(real.as_os_str().as_bytes()),
                metadata: vec![own("operation", operation.to_owned()), requested],
            }
        }
        Subject::Any { action, target, metadata } => {
            let metadata = metadata.into_iter().map(|(key, value)| own(&key, value)).collect();
            Question { action, target, metadata }
        }
    })
}

/// The path with links followed, as rules see files. The last part, or more of them, may be missing.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut known = whole.as_path();
    loop {
        match known.canonicalize() {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(error) => match (known.file_name(), known.parent()) {
                (Some(name), Some(parent)) => {
                    missing.push(name);
                    known = parent;
                }
                // Below a directory that is missing, `..` leads nowhere.
                _ => return Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_rules_see() {
        let scratch = std::env::temp_dir().join(format!("probe-{}", std::process::id()));
        std::fs::create_dir_all(scratch.join("real")).unwrap();
        let scratch = scratch.canonicalize().unwrap();
        std::os::unix::fs::symlink("real", scratch.join("link")).unwrap();
        let real = |path: &str| resolve(&scratch.join(path)).unwrap();
        assert_eq!(real("link/new"), scratch.join("real/new"));
        assert_eq!(real("link/a/b"), scratch.join("real/a/b"));
        assert_eq!(real("link/.."), scratch);
        assert!(resolve(&scratch.join("absent/../x")).is_err());
        std::fs::remove_dir_all(scratch).unwrap();
    }
}
