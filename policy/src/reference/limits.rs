//! Every limit with its number, from the constant that enforces it.

use super::table::table;
use crate::check::{MAX_CHAIN, MAX_EXPANDED_DEPTH};
use crate::eval::{MAX_JOINED_BYTES, MAX_LOOPS, MAX_STEPS, MAX_WRITTEN_STEPS};
use crate::load::{MAX_DIAGNOSTICS, MAX_FILE_BYTES, MAX_FILES, MAX_RULES, MAX_TOTAL_BYTES};
use crate::pattern::{MAX_BRACES, MAX_PATTERN_BYTES, MAX_SET_BYTES};
use crate::source::MAX_ID_CHARS;
use crate::{parse, yaml};

pub(super) fn section() -> String {
    let loading = [
        ("files of a set", grouped(MAX_FILES)),
        ("one file", bytes(MAX_FILE_BYTES)),
        ("all files of a set", bytes(MAX_TOTAL_BYTES)),
        ("rules of a set", grouped(MAX_RULES)),
        ("characters of an id", grouped(MAX_ID_CHARS)),
        ("nesting of YAML", grouped(yaml::MAX_DEPTH)),
        ("nesting of a condition", grouped(parse::MAX_DEPTH)),
        ("nesting with its definitions expanded", grouped(MAX_EXPANDED_DEPTH)),
        ("steps of a condition as it is written, definitions expanded", steps(MAX_WRITTEN_STEPS)),
        ("definitions that use each other, in a row", grouped(MAX_CHAIN)),
        ("`exists` and `all` inside each other", grouped(MAX_LOOPS)),
        ("one `glob` or `matches` pattern, once it is built", bytes(MAX_PATTERN_BYTES)),
        ("all patterns of a set", bytes(MAX_SET_BYTES)),
        ("braces of a `glob` inside each other", grouped(MAX_BRACES)),
    ];
    let asking = [
        ("steps of one condition, items of lists included", steps(MAX_STEPS)),
        ("text that one condition joins with `+`", bytes(MAX_JOINED_BYTES)),
    ];
    format!(
        "## Limits\n\nA set that passes one of these does not load. Of one file {MAX_DIAGNOSTICS} \
         mistakes are told.\n\n{}\nA condition that passes one of these has failed:\n\n{}",
        rows(&loading),
        rows(&asking),
    )
}

fn rows(rows: &[(&str, String)]) -> String {
    table(
        &["what", "at most"],
        rows.iter().map(|(what, number)| vec![(*what).to_owned(), number.clone()]),
    )
}

fn steps(number: u32) -> String {
    grouped(usize::try_from(number).unwrap_or(usize::MAX))
}

/// A size that is a whole number of MiB, as all of them are.
fn bytes(number: usize) -> String {
    format!("{} MiB", number >> 20)
}

/// A number with its thousands apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
