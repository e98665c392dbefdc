//! The command line and the one environment variable that counts.

use std::ffi::OsString;
use std::time::Duration;

use crate::failure::Failure;

const HELP: &str = "\
outcall: run a command under the supervision of outcalld

Usage: outcall run [--connected FD] -- CMD [ARGS...]

  run              install the filter, hand its listener to outcalld, then run CMD as a child
  --connected FD   use the connected Unix stream socket FD instead of /run/outcall/agent.sock
  --help           print this text
  --version        print the version

Environment:
  OUTCALL_TIMEOUT_SECS   longest wait for one answer of outcalld, 1 to 300 (default 30)
  RUST_LOG               error, warn (default), info, debug or off

Exit codes: CMD's own, 128+N if signal N ended it, 1 refused or failed, 5 outcalld unreachable
";

const VERSION: &str = concat!("outcall ", env!("CARGO_PKG_VERSION"), "\n");

/// What the caller asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// Run a command under supervision.
    Run(Run),
    /// Print a text on stdout and stop.
    Print(&'static str),
}

/// `outcall run`.
#[derive(Debug, PartialEq)]
pub(crate) struct Run {
    /// A connected socket that was passed in, instead of the constant path.
    pub(crate) connected: Option<i32>,
    /// The program and its arguments; never empty.
    pub(crate) command: Vec<OsString>,
}

/// Reads the arguments after the program's own name; an error is a sentence for the caller.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Request, String> {
    let mut arguments = arguments.into_iter();
    let Some(verb) = arguments.next() else {
        return Err("no command given; use: outcall run -- CMD ARGS...".into());
    };
    match verb.to_str() {
        Some("--help" | "-h") => Ok(Request::Print(HELP)),
        Some("--version" | "-V") => Ok(Request::Print(VERSION)),
        Some("run") => parse_run(arguments),
        _ => Err(format!(
            "unknown verb '{}'; this version knows: outcall run -- CMD ARGS...",
            verb.to_string_lossy()
        )),
    }
}

fn parse_run(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let mut connected = None;
    loop {
        let Some(word) = arguments.next() else {
            return Err("run needs a command after --; use: outcall run -- CMD ARGS...".into());
        };
        match word.to_str() {
            Some("--") => break,
            Some("--help" | "-h") => return Ok(Request::Print(HELP)),
            Some("--connected") if connected.is_none() => {
                connected = Some(socket_number(arguments.next())?);
            }
            _ => {
                return Err(format!(
                    "unexpected '{}'; the command goes after --: outcall run -- CMD ARGS...",
                    word.to_string_lossy()
                ));
            }
        }
    }
    let command: Vec<OsString> = arguments.collect();
    if command.first().is_none_or(|program| program.is_empty()) {
        return Err("run needs a command after --; use: outcall run -- CMD ARGS...".into());
    }
    Ok(Request::Run(Run { connected, command }))
}

/// Standard fds belong to the command, so a socket is never one of them.
fn socket_number(word: Option<OsString>) -> Result<i32, String> {
    word.as_deref()
        .and_then(|w| w.to_str())
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
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn run_takes_everything_after_the_dashes_untouched() {
        let mut line = words("run -- cmd --help -- x");
        line.push(OsString::from_vec(vec![0xff, 0xfe]));
        let expected = line[2..].to_vec();
        assert_eq!(parse(line), Ok(Request::Run(Run { connected: None, command: expected })));
    }

    #[test]
    fn connected_is_a_number_above_the_standard_fds() {
        let Ok(Request::Run(run)) = parse(words("run --connected 7 -- a")) else { panic!() };
        assert_eq!(run.connected, Some(7));
        for bad in ["2", "-1", "+7", "x", "99999999999"] {
            assert!(parse(words(&format!("run --connected {bad} -- a"))).is_err(), "{bad}");
        }
        assert!(parse(words("run --connected 7 --connected 8 -- a")).is_err());
    }

    #[test]
    fn wrong_lines_get_a_sentence() {
        for (line, hint) in [
            ("", "no command given"),
            ("run", "needs a command"),
            ("run --", "needs a command"),
            ("run ls", "goes after --"),
            ("frobnicate", "unknown verb 'frobnicate'"),
        ] {
            let error = parse(words(line)).unwrap_err();
            assert!(error.contains(hint), "{line}: {error}");
        }
        let empty = vec!["run".into(), "--".into(), OsString::new()];
        assert!(parse(empty).is_err());
    }

    #[test]
    fn help_and_version_print() {
        assert_eq!(parse(words("--help")), Ok(Request::Print(HELP)));
        assert_eq!(parse(words("run --help")), Ok(Request::Print(HELP)));
        assert_eq!(parse(words("--version")), Ok(Request::Print(VERSION)));
    }

    #[test]
    fn timeouts_are_strict() {
        assert_eq!(timeout(None).unwrap(), Duration::from_secs(30));
        assert_eq!(timeout(Some("300".into())).unwrap(), Duration::from_secs(300));
        for bad in ["", "0", "301", "5s", "-1", "+5", " 5", "99999999999999999999"] {
            assert_eq!(timeout(Some(bad.into())).unwrap_err().exit_code(), 5, "{bad}");
        }
    }
}
