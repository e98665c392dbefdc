//! Seccomp profiles: OCI/Docker JSON in, one classic BPF program out.
//!
//! A profile lists system calls and what becomes of each. One rule gives entries their meaning,
//! whatever their order in the file:
//!
//! - an entry without `args` is its calls' *fallback*;
//! - an entry with `args` is an *exception* to that fallback; all its conditions must hold;
//! - where several exceptions match, the strictest action wins (kill, trap, errno, notify, trace,
//!   log, allow), and the first in the file among equals;
//! - a call with neither a matching exception nor a fallback gets `defaultAction`.
//!
//! libseccomp alone cannot say "everything except these arguments" below an allow-list default, so
//! [`compile`] puts the exceptions into a short prologue of its own before libseccomp's program.
#![forbid(unsafe_code)]

#[cfg(test)]
#[path = "tests/agreement.rs"]
mod agreement;
mod bpf;
mod compile;
mod doors;
mod error;
mod lint;
mod meaning;
mod model;
mod prologue;
mod render;
mod syscalls;
mod vocabulary;

pub use compile::{Filter, compile};
pub use error::{CompileError, ProfileError};
pub use lint::{Finding, Severity, lint};
pub use model::{Action, Argument, Comparison, Entry, Profile};
pub use render::pfc;
