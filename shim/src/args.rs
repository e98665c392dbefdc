//! The command line and the one environment variable that counts.

mod help;
mod probes;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use crate::command::is_own_name;
use crate::failure::Failure;
use crate::question::Action;

/// What the caller asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// Talk to the daemon.
    Talk(Talk),
    /// Print a text on stdout and stop.
    Print(&'static str),
}

/// A verb, and over which connection.
#[derive(Debug, PartialEq)]
pub(crate) struct Talk {
    /// A connected socket that was passed in, instead of the constant path.
    pub(crate) connected: Option<i32>,
    /// What to do.
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Verb {
    /// Run a command behind the filter; never empty.
    Run(Vec<OsString>),
    /// Ask, then run a program.
    Exec(Exec),
    /// Ask.
    Probe(Probe),
    /// Print the latest refusals.
    Why {
        /// As JSON.
        json: bool,
    },
    /// Send the rules in a file to the operator.
    Submit(OsString),
    /// Print what came of a request.
    Status(String),
}

/// A program to run.
#[derive(Debug, PartialEq)]
pub(crate) struct Exec {
    /// What to look for in PATH.
    pub(crate) program: OsString,
    /// Its arguments, its name as the caller gave it first.
    pub(crate) arguments: Vec<OsString>,
}

/// A question that is only asked.
#[derive(Debug, PartialEq)]
pub(crate) struct Probe {
    /// About what.
    pub(crate) subject: Subject,
    /// Whether the verdict is printed as JSON.
    pub(crate) json: bool,
}

/// What a probe is about.
#[derive(Debug, PartialEq)]
pub(crate) enum Subject {
    /// A request over the network.
    Url {
        /// With its scheme.
        url: String,
        /// In capitals.
        method: String,
    },
    /// A file.
    File {
        /// As written.
        path: OsString,
        /// `read` or `write`.
        operation: &'static str,
    },
    /// Anything, in the daemon's own words.
    Any {
        /// The type.
        action: Action,
        /// The target, as written.
        target: String,
        /// The metadata, as written.
        metadata: Vec<(String, String)>,
    },
}

/// Reads the arguments, the program's own name first; an error is a sentence for the caller.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Request, String> {
    let mut arguments = arguments.into_iter();
    let name = arguments.next().unwrap_or_default();
    let mut words: Vec<OsString> = arguments.collect();
    if let Some(program) = stands_for(&name) {
        let first = Path::new(&name).file_name().unwrap_or(&name).to_owned();
        words.insert(0, first);
        let verb = Verb::Exec(Exec { program, arguments: words });
        return Ok(Request::Talk(Talk { connected: None, verb }));
    }
    let mut connected = None;
    if words.first().is_some_and(|word| word == "--connected") {
        connected = Some(socket_number(words.get(1))?);
        words.drain(..2);
    }
    let Some(first) = words.first() else {
        return Err("no command given; use: outcall run -- CMD ARGS..., or outcall --help".into());
    };
    match first.to_str() {
        Some("--help" | "-h") => print_help(words.get(1)),
        Some("--version" | "-V") => Ok(Request::Print(help::VERSION)),
        Some("run") => run(connected, &words[1..]),
        Some(verb) if !takes_any_word(verb) && is_help(words.get(1)) => print_help(Some(first)),
        _ => Ok(Request::Talk(Talk { connected, verb: verb(&words)? })),
    }
}

/// The program that the shim stands for under this name. A login shell's name begins with a dash.
fn stands_for(name: &OsStr) -> Option<OsString> {
    let base = Path::new(name).file_name()?;
    let program = OsStr::from_bytes(base.as_bytes().strip_prefix(b"-").unwrap_or(base.as_bytes()));
    (!program.is_empty() && !is_own_name(program)).then(|| program.to_owned())
}

/// Whether the words after this one are a program's, `--help` too.
fn takes_any_word(verb: &str) -> bool {
    matches!(verb, "bash" | "sh" | "shell") || help::text(Some(verb)).is_none()
}

fn is_help(word: Option<&OsString>) -> bool {
    word.is_some_and(|word| word == "--help" || word == "-h")
}

fn print_help(verb: Option<&OsString>) -> Result<Request, String> {
    let verb = verb.map(|verb| verb.to_string_lossy());
    match help::text(verb.as_deref()) {
        Some(text) => Ok(Request::Print(text)),
        None => Err(format!("no verb '{}'; see: outcall --help", verb.unwrap_or_default())),
    }
}

fn verb(words: &[OsString]) -> Result<Verb, String> {
    let rest = words.get(1..).unwrap_or_default();
    match words.first().and_then(|word| word.to_str()) {
        Some("exec") => match rest {
            [dashes, words @ ..] if dashes == "--" => exec(words),
            [option, ..] if option.as_bytes().starts_with(b"-") => {
                Err(unknown_option(option, "exec -- PROG ARGS..."))
            }
            words => exec(words),
        },
        Some("--") => exec(rest),
        Some("shell") => {
            let mut words = words.to_vec();
            words[0] = "sh".into();
            exec(&words)
        }
        Some(verb @ ("fetch" | "http" | "https" | "curl" | "wget")) => probes::fetch(verb, rest),
        Some(verb @ ("file" | "read" | "write")) => probes::file(verb, rest),
        Some("check") => probes::check(rest),
        Some("why") => match rest {
            [] => Ok(Verb::Why { json: false }),
            [word] if word == "--json" => Ok(Verb::Why { json: true }),
            _ => Err("use: outcall why [--json]".into()),
        },
        Some("request") => request(rest),
        Some(option) if option.starts_with('-') => {
            Err(unknown_option(OsStr::new(option), "-- PROG ARGS..."))
        }
        _ => exec(words),
    }
}

fn unknown_option(option: &OsStr, instead: &str) -> String {
    format!(
        "unknown option '{}'; a program of that name is run by: outcall {instead}",
        option.to_string_lossy()
    )
}

fn exec(words: &[OsString]) -> Result<Verb, String> {
    match words.first() {
        Some(program) if !program.is_empty() => {
            Ok(Verb::Exec(Exec { program: program.clone(), arguments: words.to_vec() }))
        }
        _ => Err("exec needs a program; use: outcall exec PROG ARGS...".into()),
    }
}

fn request(words: &[OsString]) -> Result<Verb, String> {
    match words {
        [status, id] if status == "status" => match id.to_str().filter(|id| is_id(id)) {
            Some(id) => Ok(Verb::Status(id.to_owned())),
            None => Err(format!("'{}' is no id of a request", id.to_string_lossy())),
        },
        [file] if file == "-" || !file.as_bytes().starts_with(b"-") => {
            Ok(Verb::Submit(file.clone()))
        }
        _ => Err("use: outcall request FILE, or: outcall request status ID".into()),
    }
}

/// It becomes part of a path, so it is checked here.
pub(crate) fn is_id(id: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !id.is_empty() && id.len() <= 128 && id.bytes().all(part)
}

fn run(outer: Option<i32>, words: &[OsString]) -> Result<Request, String> {
    const USE: &str = "outcall run -- CMD ARGS...";
    let mut connected = outer;
    let mut words = words.iter();
    loop {
        let Some(word) = words.next() else {
            return Err(format!("run needs a command after --; use: {USE}"));
        };
        match word.to_str() {
            Some("--") => break,
            Some("--help" | "-h") => return print_help(Some(&"run".into())),
            Some("--connected") if connected.is_none() => {
                connected = Some(socket_number(words.next())?);
            }
            _ => {
                return Err(format!(
                    "unexpected '{}'; the command goes after --: {USE}",
                    word.to_string_lossy()
                ));
            }
        }
    }
    let command: Vec<OsString> = words.cloned().collect();
    if command.first().is_none_or(|program| program.is_empty()) {
        return Err(format!("run needs a command after --; use: {USE}"));
    }
    Ok(Request::Talk(Talk { connected, verb: Verb::Run(command) }))
}

/// Standard fds belong to the command, so a socket is never one of them.
fn socket_number(word: Option<&OsString>) -> Result<i32, String> {
    word.and_then(|w| w.to_str())
        .filter(|w| w.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|w| w.parse().ok())
        .filter(|fd| *fd > 2)
        .ok_or_else(|| "--connected needs the number of an open socket, 3 or more".into())
}

/// The longest wait for one answer. A malformed value is an error: a silent default would hide it.
pub(crate) fn timeout(value: Option<OsString>) -> Result<Duration, Failure> {
    let Some(value) = value else {
        return Ok(Duration::from_secs(30));
    };
    value
        .to_str()
        .filter(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|v| v.parse().ok())
        .filter(|seconds| (1..=300).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| {
            Failure::unreachable(format!(
                "OUTCALL_TIMEOUT_SECS is '{}'; it must be a whole number from 1 to 300",
                value.to_string_lossy()
            ))
        })
}

#[cfg(test)]
#[path = "tests/args.rs"]
mod tests;
