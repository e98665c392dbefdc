//! Diagnostics: `level=… component=shim msg="…"` lines on stderr, filtered by `RUST_LOG`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};

const OFF: u8 = 0;
const ERROR: u8 = 1;
const WARN: u8 = 2;
const INFO: u8 = 3;
const DEBUG: u8 = 4;

static LEVEL: AtomicU8 = AtomicU8::new(WARN);

/// Takes the level from `RUST_LOG`. The variable is the workload's too, so a value that means
/// nothing here keeps the default.
pub(crate) fn configure(value: Option<OsString>) {
    let level = value.and_then(|v| v.into_string().ok()).and_then(|v| parse(&v));
    LEVEL.store(level.unwrap_or(WARN), Ordering::Relaxed);
}

fn parse(value: &str) -> Option<u8> {
    match value.trim().to_ascii_lowercase().as_str() {
        "off" => Some(OFF),
        "error" => Some(ERROR),
        "warn" => Some(WARN),
        "info" => Some(INFO),
        "debug" | "trace" => Some(DEBUG),
        _ => None,
    }
}

/// What ended the run.
pub(crate) fn error(message: &str) {
    emit(ERROR, "error", message);
}

/// What the caller must learn, whatever `RUST_LOG` says: that variable is the workload's too.
pub(crate) fn verdict(message: &str) {
    write("error", message);
}

/// Something is weaker than asked for.
pub(crate) fn warn(message: &str) {
    emit(WARN, "warn", message);
}

/// Progress.
pub(crate) fn info(message: &str) {
    emit(INFO, "info", message);
}

/// Detail for whoever looks for a fault.
pub(crate) fn debug(message: &str) {
    emit(DEBUG, "debug", message);
}

fn emit(level: u8, name: &str, message: &str) {
    if LEVEL.load(Ordering::Relaxed) >= level {
        write(name, message);
    }
}

fn write(name: &str, message: &str) {
    // One write, so that lines of concurrent shims do not mix; a closed stderr is no reason to stop.
    let _ = std::io::stderr().write_all(line(name, message).as_bytes());
}

fn line(level: &str, message: &str) -> String {
    let mut text = format!("level={level} component=shim msg=\"");
    for c in message.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(text, "\\u{{{:x}}}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push_str("\"\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_forge_a_line() {
        assert_eq!(
            line("warn", "a\"b\nlevel=error\x1b[0m \\"),
            "level=warn component=shim msg=\"a\\\"b\\nlevel=error\\u{1b}[0m \\\\\"\n"
        );
    }

    #[test]
    fn levels() {
        assert_eq!(parse("INFO"), Some(INFO));
        assert_eq!(parse("off"), Some(OFF));
        assert_eq!(parse("mycrate=debug,info"), None);
    }
}
