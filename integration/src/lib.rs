//! The harness: supervised runs that read as prose, and what they left behind.
#![allow(clippy::expect_used, clippy::panic, missing_docs)]

pub mod machine;
pub mod supervised;

pub use machine::{dist, probe, racy_dist, require_root};
pub use supervised::{Finished, Supervised};
