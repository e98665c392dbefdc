//! The rule engine: facts in, a decision out.
//!
//! The crate is pure. It reads no file, asks no clock and keeps no state between questions, so the
//! same rules and the same [`Facts`] give the same [`Decision`] on every machine and on replay.
#![forbid(unsafe_code)]

mod assign;
mod check;
mod compile;
mod confine;
mod decide;
mod decision;
mod defaults;
mod error;
mod eval;
mod examples;
mod explain;
mod facts;
mod format;
mod functions;
mod guard;
mod index;
mod lex;
mod lint;
mod load;
mod near_miss;
mod outline;
mod parse;
mod pattern;
mod reference;
mod schema;
mod source;
mod suite;
mod vocabulary;
mod yaml;

pub use assign::{FactError, complete, set_fact};
pub use confine::{Confinement, confine};
pub use decide::{Engine, Rule};
pub use decision::{Decision, RuleRef, Verdict};
pub use defaults::default_rules;
pub use error::{Diagnostic, LoadErrors};
pub use explain::{explain, explain_near_miss};
pub use facts::{
    ActionType, Agent, Container, Exec, Facts, File, Http, Network, Process, Run, Session, Source,
    UnknownName,
};
pub use format::format;
pub use lint::lint;
pub use load::{MAX_FILE_BYTES, MAX_FILES, MAX_RULES, MAX_TOTAL_BYTES, SourceFile};
pub use near_miss::NearMiss;
pub use outline::{Outline, outlines};
pub use reference::{FactDoc, facts_reference, reference};
pub use schema::schema;
pub use suite::{CaseResult, ExampleResult, Suite, read_question, run_examples};
