//! Counts over all sessions: decisions by verdict and class, and where their time went.

use std::sync::atomic::{AtomicU64, Ordering};

use super::decision::{DecisionRecord, LatencySplit};

/// The verdicts that are told apart.
pub(crate) const VERDICTS: [&str; 5] = ["allow", "block", "ask", "none", "other"];
/// The classes of answers that are told apart.
pub(crate) const CLASSES: [&str; 6] =
    ["registers", "on_behalf", "verified", "refused", "racy", "other"];
/// The stages that take time.
pub(crate) const STAGES: [&str; 3] = ["resolve", "decide", "answer"];
/// Upper ends of the histogram's buckets, in microseconds.
pub(crate) const BOUNDS: [u32; 13] =
    [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 50_000, 250_000, 1_000_000];

/// The counters of a process.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    decisions: [[AtomicU64; CLASSES.len()]; VERDICTS.len()],
    latency: [Histogram; STAGES.len()],
}

/// How many took how long.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// One more than there are bounds: the last has no upper end.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Tally {
    pub(super) fn count(&self, record: &DecisionRecord) {
        let verdict = place(&VERDICTS, &record.decision);
        let class = place(&CLASSES, &record.answer);
        self.decisions[verdict][class].fetch_add(1, Ordering::Relaxed);
        let LatencySplit { resolve, decide, answer, .. } = record.latency_us;
        for (histogram, micros) in self.latency.iter().zip([resolve, decide, answer]) {
            histogram.observe(micros);
        }
    }

    /// Every verdict and class with its count.
    pub(crate) fn decisions(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        VERDICTS.iter().zip(&self.decisions).flat_map(|(verdict, row)| {
            let cells = CLASSES.iter().zip(row);
            cells.map(|(class, count)| (*verdict, *class, count.load(Ordering::Relaxed)))
        })
    }

    /// Every stage with its histogram.
    pub(crate) fn latency(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        STAGES.iter().copied().zip(&self.latency)
    }
}

impl Histogram {
    fn observe(&self, micros: f64) {
        let within = |bound: &u32| micros <= f64::from(*bound);
        let bucket = BOUNDS.iter().position(within).unwrap_or(BOUNDS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        // Never negative, and far below the limit.
        self.nanoseconds.fetch_add((micros * 1000.0) as u64, Ordering::Relaxed);
    }

    /// How many took at most each bound, and how many there are at all.
    pub(crate) fn cumulated(&self) -> Vec<u64> {
        let mut sum = 0;
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        counts
            .map(|count| {
                sum += count;
                sum
            })
            .collect()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9
    }
}

/// The place of a word; an unknown one counts as the last, so that there are never more.
fn place(words: &[&str], word: &str) -> usize {
    words.iter().position(|known| *known == word).unwrap_or(words.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decision_is_in_one_cell_and_in_every_histogram() {
        let tally = Tally::default();
        let latency_us = LatencySplit { resolve: 11.0, decide: 2e6, ..LatencySplit::default() };
        let record = DecisionRecord {
            decision: "allow".to_owned(),
            answer: "a class of tomorrow".to_owned(),
            latency_us,
            ..DecisionRecord::default()
        };
        tally.count(&record);
        let counted: Vec<_> = tally.decisions().filter(|(_, _, count)| *count > 0).collect();
        assert_eq!(counted, [("allow", "other", 1)]);
        let cumulated: Vec<Vec<u64>> = tally.latency().map(|(_, h)| h.cumulated()).collect();
        assert_eq!(cumulated[0][..2], [0, 1]);
        assert_eq!(cumulated[1][BOUNDS.len() - 1..], [0, 1]);
        assert_eq!(cumulated[2][0], 1);
    }
}
