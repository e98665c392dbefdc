//! The harness: supervised runs that read as prose, and what they left behind.
#![allow(clippy::expect_used, clippy::panic, missing_docs)]

pub mod agent;
pub mod conform;
pub mod machine;
pub mod raw;
pub mod served;
pub mod supervised;
pub mod twin;
pub mod wire;

pub use machine::{dist, probe, racy_dist, require_root};
pub use served::Served;
pub use supervised::{Finished, Supervised};
pub use twin::{Twins, both_ways, shell_both_ways};
pub use wire::Wire;
