//! Stage 7, record: every answer is a line in the decision log before it is given.

pub(crate) mod decision;
pub(crate) mod denials;
pub(crate) mod query;
pub(crate) mod reader;
mod segment;
pub(crate) mod sentence;
pub(crate) mod stream;
pub(crate) mod tally;
mod writer;

pub(crate) use decision::{DecisionRecord, LatencySplit, ObjectRecord};
pub(crate) use writer::{LogError, Recorder, Room};
