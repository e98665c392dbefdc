//! Refusals on the screen as they happen. A program that tries the same again and again is told of
//! once, and then at every power of ten.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use crate::record::decision::{DecisionRecord, Line};
use crate::record::sentence;

/// Different refusals that are counted; past that each is printed.
const MAX_KINDS: usize = 4096;

/// What two refusals share that are the same to a person.
type Kind = (String, String, Option<String>);

/// Prints until the other end is closed.
pub(super) fn print(
    receive: Receiver<Line<DecisionRecord>>,
    json: bool,
    log: Option<PathBuf>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut repeats = Repeats::default();
        for line in receive {
            if json {
                eprintln!("{}", serde_json::to_string(&line).unwrap_or_default());
            } else if let Some(remark) = repeats.remark(&line.body) {
                eprintln!("{}{remark}", sentence::refusal(&line, log.as_deref()));
            }
        }
    })
}

#[derive(Debug, Default)]
struct Repeats {
    seen: HashMap<Kind, u64>,
}

impl Repeats {
    /// What to add to the sentence; `None`: it need not be printed.
    fn remark(&mut self, record: &DecisionRecord) -> Option<String> {
        let kind = (record.exe.clone(), sentence::what(record), record.rule.clone());
        if self.seen.len() >= MAX_KINDS && !self.seen.contains_key(&kind) {
            return Some(String::new());
        }
        let count = self.seen.entry(kind).or_default();
        *count += 1;
        match *count {
            1 => Some(String::new()),
            count if is_power_of_ten(count) => Some(format!(" ({count} times so far)")),
            _ => None,
        }
    }
}

fn is_power_of_ten(count: u64) -> bool {
    10_u64.checked_pow(count.ilog10()) == Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_refusal_is_printed_at_powers_of_ten() {
        let mut repeats = Repeats::default();
        let record = DecisionRecord { target: "/etc/shadow".into(), ..DecisionRecord::default() };
        let printed: Vec<String> = (0..1000).filter_map(|_| repeats.remark(&record)).collect();
        let expected = ["", " (10 times so far)", " (100 times so far)", " (1000 times so far)"];
        assert_eq!(printed, expected);
        let other = DecisionRecord { target: "/etc/gshadow".into(), ..record };
        assert_eq!(repeats.remark(&other), Some(String::new()));
    }
}
