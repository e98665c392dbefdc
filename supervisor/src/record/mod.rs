//! Stage 7, record: every answer is a line in the decision log before it is given.

pub(crate) mod decision;
pub(crate) mod denials;
pub(crate) mod reader;
mod segment;
pub(crate) mod sentence;
mod writer;

pub(crate) use decision::{DecisionRecord, LatencySplit, ObjectRecord};
pub(crate) use writer::{LogError, Recorder, Room};
