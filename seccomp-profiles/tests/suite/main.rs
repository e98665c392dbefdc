//! Tests of the profiles by what their compiled programs answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod interpreter;
mod lint;
mod ordinary;
mod parse;
mod program;
mod side_doors;
mod text;
