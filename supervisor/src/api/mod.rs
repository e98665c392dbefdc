//! The HTTP doors.

pub(crate) mod agent;
