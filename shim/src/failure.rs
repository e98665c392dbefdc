//! Why the shim gives up, and the exit code that says so.

use std::io;

/// The workload was refused, or something of our own failed.
const EXIT_FAILED: i32 = 1;
/// `outcalld` cannot be reached, refused us, or said something that cannot be trusted.
const EXIT_UNREACHABLE: i32 = 5;

/// What is said when supervision is lost.
const LOST: &str = "outcalld unreachable — exiting (fail closed)";

/// One reason to stop, as a sentence, with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    code: i32,
    message: String,
}

impl Failure {
    /// A refusal or a local error: exit 1.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { code: EXIT_FAILED, message: message.into() }
    }

    /// Registration is refused or impossible: exit 5.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self { code: EXIT_UNREACHABLE, message: message.into() }
    }

    /// The connection does not answer, for this cause: exit 5.
    pub(crate) fn lost_because(cause: impl std::fmt::Display) -> Self {
        Self::unreachable(format!("{LOST}: {cause}"))
    }

    /// Supervision ended while the workload ran: exit 5.
    pub(crate) fn lost() -> Self {
        Self::unreachable(LOST)
    }

    /// For `map_err`: names the step that an I/O error ended.
    pub(crate) fn step(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::failed(format!("{what}: {error}"))
    }

    /// The exit code.
    pub(crate) fn exit_code(&self) -> i32 {
        self.code
    }

    /// The sentence.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}
