//! `rules check`.

use std::fmt::Write as _;

use policy::{Diagnostic, Engine};
use serde_json::json;

use super::screen::{Paint, counted, lines};
use super::{Fault, INVALID, Outcome};
use crate::cli::arguments::rules::CheckArguments;
use crate::judge::rules::sources;

/// What no rule should open, since whoever can write there decides: rules, log and sockets.
const PROTECTED: [&str; 3] = ["/etc/outcall", "/var/log/outcall", "/run/outcall"];

pub(super) fn check(arguments: &CheckArguments, paint: Paint) -> Result<Outcome, Fault> {
    let files = sources(&arguments.paths)?;
    let (rules, errors, warnings) = match Engine::load(&files) {
        Ok(engine) => {
            let warnings = policy::lint(&files, &engine, &PROTECTED.map(str::to_owned));
            (engine.rules().len(), Vec::new(), warnings)
        }
        Err(errors) => (0, errors.into_iter().collect(), Vec::new()),
    };
    let mut text = String::new();
    let found = errors.iter().map(|error| ("error", error));
    for (severity, diagnostic) in found.chain(warnings.iter().map(|one| ("warning", one))) {
        // Writing into a string cannot fail.
        let _ = if arguments.json {
            writeln!(text, "{}", document(severity, diagnostic))
        } else {
            let label = match severity {
                "error" => paint.bad(severity),
                _ => paint.doubtful(severity),
            };
            writeln!(text, "{label}: {}", lines(&diagnostic.to_string()))
        };
    }
    let _ = if arguments.json {
        let summary = json!({
            "type": "summary", "files": files.len(), "rules": rules,
            "errors": errors.len(), "warnings": warnings.len(),
        });
        writeln!(text, "{summary}")
    } else {
        let counts = [
            counted(files.len(), "file"),
            counted(rules, "rule"),
            counted(errors.len(), "error"),
            counted(warnings.len(), "warning"),
        ];
        writeln!(text, "{}", counts.join(", "))
    };
    let bad = !errors.is_empty() || arguments.strict && !warnings.is_empty();
    Ok(Outcome { text, code: if bad { INVALID } else { 0 } })
}

fn document(severity: &str, diagnostic: &Diagnostic) -> serde_json::Value {
    json!({
        "type": "diagnostic", "severity": severity, "file": diagnostic.file,
        "line": diagnostic.line, "column": diagnostic.column,
        "message": diagnostic.message, "hint": diagnostic.hint,
    })
}
