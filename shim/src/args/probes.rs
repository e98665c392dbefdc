//! The verbs that only ask.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::{Probe, Subject, Verb};
use crate::question::Action;
use crate::text;

/// `fetch URL [METHOD]` and its other names.
pub(super) fn fetch(verb: &str, words: &[OsString]) -> Result<Verb, String> {
    let (url, method) = match words {
        [url] => (url, None),
        [url, method] => (url, Some(method)),
        _ => return Err(format!("{verb} needs one URL; use: outcall {verb} URL [METHOD]")),
    };
    let url = text::of(url.as_bytes());
    let url = match (url.contains("://"), verb) {
        (true, _) => url,
        (false, "http" | "https") if !url.is_empty() => format!("{verb}://{url}"),
        _ => return Err(format!("'{url}' is no URL; it begins with https:// or http://")),
    };
    let method = match method.map(|method| method.to_str().unwrap_or_default()) {
        None => "GET".to_owned(),
        Some(word) if is_method(word) => word.to_ascii_uppercase(),
        Some(word) => return Err(format!("'{word}' is no method; use GET, POST, PUT, ...")),
    };
    Ok(Verb::Probe(Probe { subject: Subject::Url { url, method }, json: false }))
}

fn is_method(word: &str) -> bool {
    !word.is_empty() && word.len() <= 32 && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// `file PATH`, `read PATH` and `write PATH`.
pub(super) fn file(verb: &str, words: &[OsString]) -> Result<Verb, String> {
    match words {
        [path] if !path.is_empty() => {
            let operation = if verb == "write" { "write" } else { "read" };
            let subject = Subject::File { path: path.clone(), operation };
            Ok(Verb::Probe(Probe { subject, json: false }))
        }
        _ => Err(format!("{verb} needs one path; use: outcall {verb} PATH")),
    }
}

/// `check TYPE TARGET [--meta K=V]... [--json]`, options anywhere.
pub(super) fn check(words: &[OsString]) -> Result<Verb, String> {
    const USE: &str = "use: outcall check TYPE TARGET [--meta K=V]... [--json]";
    let (mut plain, mut metadata, mut json, mut only_plain) =
        (Vec::new(), Vec::new(), false, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let word = text::of(word.as_bytes());
        match word.as_str() {
            _ if only_plain => plain.push(word),
            "--" => only_plain = true,
            "--json" => json = true,
            "--meta" => {
                let (key, value) = pair(words.next())?;
                if metadata.iter().any(|(known, _)| *known == key) {
                    return Err(format!("--meta {key} is given twice"));
                }
                metadata.push((key, value));
            }
            option if option.starts_with("--") => {
                return Err(format!("check knows no option '{option}'; {USE}"));
            }
            _ => plain.push(word),
        }
    }
    let [action, target] = <[String; 2]>::try_from(plain)
        .map_err(|plain| format!("check needs a type and a target, not {}; {USE}", plain.len()))?;
    let action = Action::named(&action).ok_or_else(|| {
        format!(
            "'{action}' is no type of action; use tool_exec, network_call, file_access or shell_exec"
        )
    })?;
    Ok(Verb::Probe(Probe { subject: Subject::Any { action, target, metadata }, json }))
}

fn pair(word: Option<&OsString>) -> Result<(String, String), String> {
    let word = word.map(|word| text::of(word.as_bytes())).unwrap_or_default();
    match word.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("--meta needs KEY=VALUE, not '{word}'")),
    }
}
