//! What a decision of the rule engine costs: as the number of rules grows, and beside other engines
//! with the same rules. Figures are of one run; compare ratios, not nanoseconds.
//! `BENCH_QUICK=1` takes fewer samples.
#![allow(missing_docs, clippy::expect_used, clippy::cast_precision_loss)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::Criterion;
use policy::{Engine, Facts, Verdict};
use policy_bench::{Figures, Goal, Question, SIZES, files, questions, rivals, rules};

/// Sizes at which the other engines are measured as well.
const SHARED_SIZES: [usize; 2] = [100, 1_000];
const MIB: f64 = 1_048_576.0;

fn main() {
    let bench = Bench::new();
    let mut figures = Figures::default();
    let ours = bench.our_decisions(&mut figures);
    bench.rival_decisions(&ours, &mut figures);
    bench.memory_and_load(&mut figures);
    println!();
    figures.print();
}

struct Bench {
    quick: bool,
    output: PathBuf,
    questions: Vec<Question>,
    facts: Vec<Facts>,
}

impl Bench {
    fn new() -> Self {
        let questions = questions();
        Self {
            quick: std::env::var_os("BENCH_QUICK").is_some_and(|value| value == "1"),
            output: Path::new(env!("CARGO_TARGET_TMPDIR")).join("criterion"),
            facts: questions.iter().map(Question::facts).collect(),
            questions,
        }
    }

    /// The median of what one answer costs, over rounds of the whole mix, in nanoseconds.
    fn time(&self, name: &str, mut round: impl FnMut()) -> f64 {
        let (warm_up, measure) = if self.quick { (100, 400) } else { (1_000, 4_000) };
        Criterion::default()
            .without_plots()
            .output_directory(&self.output)
            .sample_size(if self.quick { 10 } else { 30 })
            .warm_up_time(Duration::from_millis(warm_up))
            .measurement_time(Duration::from_millis(measure))
            .bench_function(name, |bencher| bencher.iter(&mut round));
        let path = self.output.join(name).join("new/estimates.json");
        let text = std::fs::read_to_string(path).expect("estimates");
        let estimates: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let median = estimates["median"]["point_estimate"].as_f64().expect("a number");
        median / self.questions.len() as f64
    }

    fn engine(&self, size: usize) -> Engine {
        let engine = Engine::load(&files(&rules(size))).expect("the rules load");
        for (question, facts) in self.questions.iter().zip(&self.facts) {
            let decision = engine.decide(facts);
            assert_eq!(decision.verdict == Verdict::Allow, question.allowed, "{question:?}");
            assert_eq!(decision.rule.is_none(), question.hit == "none", "{question:?}");
        }
        engine
    }

    fn our_decisions(&self, figures: &mut Figures) -> BTreeMap<usize, f64> {
        let engines: Vec<(usize, Engine)> = SIZES.map(|size| (size, self.engine(size))).into();
        let mut medians = BTreeMap::new();
        for (size, engine) in &engines {
            let median = self.time(&format!("ours-{size}"), || {
                for facts in &self.facts {
                    drop(black_box(engine.decide(black_box(facts))));
                }
            });
            medians.insert(*size, median);
            figures.add(format!("decision, {size} rules"), median, 0, "ns", Goal::AtMost(1_000.0));
        }
        for size in SIZES.into_iter().skip(1) {
            let goal = if size == 10_000 { Goal::AtMost(1.5) } else { Goal::None };
            figures.add(
                format!("decision, {size} rules ÷ 10 rules"),
                medians[&size] / medians[&SIZES[0]],
                2,
                "×",
                goal,
            );
        }
        self.print_each_question(&engines);
        medians
    }

    /// Which questions get slower: each by itself, in the smallest and in the largest set.
    fn print_each_question(&self, engines: &[(usize, Engine)]) {
        let [(small, first), .., (large, last)] = engines else { return };
        println!("\nns a question {:>33} {:>10} {:>8}", small, large, "ratio");
        for (question, facts) in self.questions.iter().zip(&self.facts) {
            let (a, b) = (alone(first, facts), alone(last, facts));
            let name = format!("{} {} {}", question.hit, question.action, question.target);
            println!("{name:<40.40} {a:>6.0} {b:>10.0} {:>8.2}", b / a);
        }
        println!();
    }

    fn rival_decisions(&self, ours: &BTreeMap<usize, f64>, figures: &mut Figures) {
        for size in SHARED_SIZES {
            let mut best = (f64::INFINITY, "");
            for (name, mut rival) in rivals(&rules(size), &self.questions) {
                for (at, question) in self.questions.iter().enumerate() {
                    assert_eq!(rival.allows(at), question.allowed, "{name}: {question:?}");
                }
                let median = self.time(&format!("{name}-{size}"), || {
                    for at in 0..self.questions.len() {
                        black_box(rival.allows(black_box(at)));
                    }
                });
                figures.add(format!("{name}, {size} rules"), median, 0, "ns", Goal::None);
                if median < best.0 {
                    best = (median, name);
                }
            }
            let goal = if size == 1_000 { Goal::AtLeast(20.0) } else { Goal::None };
            let title = format!("best of them ({}) ÷ ours, {size} rules", best.1);
            figures.add(title, best.0 / ours[&size], 1, "×", goal);
        }
    }

    fn memory_and_load(&self, figures: &mut Figures) {
        let output = Command::new(env!("CARGO_BIN_EXE_memory")).output().expect("memory runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let counted: BTreeMap<&str, f64> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, value)| (name, value.parse().expect("a number")))
            .collect();
        let mean = counted["allocations-10000"] / self.questions.len() as f64;
        figures.add("allocations a decision, 10000 rules", mean, 2, "", Goal::AtMost(0.0));
        let most = counted["most-allocations-10000"];
        figures.add("allocations of the worst question", most, 0, "", Goal::AtMost(0.0));

        let files = files(&rules(10_000));
        let rounds = if self.quick { 3 } else { 9 };
        let mut seconds: Vec<f64> = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                drop(black_box(Engine::load(black_box(&files))));
                start.elapsed().as_secs_f64()
            })
            .collect();
        let name = "load of 10000 rules, two examples each";
        figures.add(name, median(&mut seconds), 2, "s", Goal::AtMost(1.0));
        let (kept, peak) = (counted["kept-10000"] / MIB, counted["peak-10000"] / MIB);
        figures.add("memory of the engine, 10000 rules", kept, 1, "MiB", Goal::AtMost(40.0));
        figures.add("memory at most while loading", peak, 1, "MiB", Goal::None);
    }
}

/// The median of one question, over a fixed number of short batches.
fn alone(engine: &Engine, facts: &Facts) -> f64 {
    const BATCH: u32 = 100;
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..BATCH {
                drop(black_box(engine.decide(black_box(facts))));
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH)
        })
        .collect();
    median(&mut times)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
