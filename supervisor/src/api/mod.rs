//! The HTTP doors.

pub(crate) mod agent;
mod envelope;
pub(crate) mod host;

pub(crate) use envelope::Refusal;
