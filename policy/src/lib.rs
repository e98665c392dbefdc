//! The rule engine: facts in, a decision out.
//!
//! The crate is pure. It reads no file, asks no clock and keeps no state between questions, so the
//! same rules and the same [`Facts`] give the same [`Decision`] on every machine and on replay.
#![forbid(unsafe_code)]

mod assign;
mod check;
mod compile;
mod decide;
mod decision;
mod defaults;
mod error;
mod eval;
mod examples;
mod explain;
mod facts;
mod functions;
mod guard;
mod index;
mod lex;
mod load;
mod outline;
mod parse;
mod source;
mod stubs;
mod suite;
mod vocabulary;
mod yaml;

pub use assign::{FactError, complete, set_fact};
pub use decide::{Engine, Rule};
pub use decision::{Decision, RuleRef, Verdict};
pub use defaults::default_rules;
pub use error::{Diagnostic, LoadErrors};
pub use explain::explain;
pub use facts::{
    ActionType, Agent, Container, Exec, Facts, File, Http, Network, Process, Run, Session, Source,
    UnknownName,
};
pub use load::{MAX_FILE_BYTES, MAX_FILES, MAX_RULES, MAX_TOTAL_BYTES, SourceFile};
pub use outline::{Outline, outlines};
pub use stubs::{NearMiss, format, lint, schema};
pub use suite::{CaseResult, ExampleResult, Suite, run_examples};
