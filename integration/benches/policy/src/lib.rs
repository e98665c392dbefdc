//! What the rule engine is measured with: rules, questions, other engines beside it, and a table of
//! figures. Run it with: make bench-policy
#![allow(clippy::expect_used)]

mod figures;
mod questions;
mod rivals;
mod rules;
mod sys;

pub use figures::{Figures, Goal};
pub use questions::{Question, questions};
pub use rivals::{Rival, rivals};
pub use rules::{Rule, Test, files, rules};
pub use sys::{Count, Counting, count};

/// The sizes of the sets.
pub const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
