//! The engines beside which ours is measured. Each gets the same rules in its own language and the
//! same questions in its own form, both made before the clock runs. Where a language has several
//! ways to write a test, the one that it runs fastest is used.

mod cedar;
mod cel;
mod regorus;

use std::net::Ipv4Addr;

use crate::{Question, Rule};

/// An engine with its rules loaded and its questions prepared.
pub trait Rival {
    /// Whether the question at that place is allowed.
    fn allows(&mut self, question: usize) -> bool;
}

/// Every rival by its name.
#[must_use]
pub fn rivals(rules: &[Rule], questions: &[Question]) -> Vec<(&'static str, Box<dyn Rival>)> {
    vec![
        ("cel", Box::new(cel::Cel::new(rules, questions))),
        ("cedar", Box::new(cedar::Cedar::new(rules, questions))),
        ("regorus", Box::new(regorus::Regorus::new(rules, questions))),
    ]
}

/// The first and the last address of a range, as numbers.
fn bounds(first: Ipv4Addr, length: u8) -> (u32, u32) {
    let low = first.to_bits();
    (low, low | u32::MAX.checked_shr(length.into()).unwrap_or_default())
}
