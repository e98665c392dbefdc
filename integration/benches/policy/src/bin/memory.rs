//! Counts allocations, one figure a line. A program of its own, since counting costs time.

use std::hint::black_box;

use policy::Engine;
use policy_bench::{SIZES, count, files, questions, rules};

#[global_allocator]
static COUNTING: policy_bench::Counting = policy_bench::Counting;

fn main() {
    for size in SIZES {
        let files = files(&rules(size));
        let (engine, loading) = count(|| Engine::load(&files).expect("the rules load"));
        println!("kept-{size} {}", loading.kept);
        println!("peak-{size} {}", loading.peak);
        let per_question: Vec<usize> = questions()
            .iter()
            .map(|question| {
                let facts = question.facts();
                // What is made once, at the first decision, is not a cost of every decision.
                drop(engine.decide(&facts));
                count(|| drop(black_box(engine.decide(black_box(&facts))))).1.allocations
            })
            .collect();
        println!("allocations-{size} {}", per_question.iter().sum::<usize>());
        println!("most-allocations-{size} {}", per_question.iter().max().unwrap_or(&0));
    }
}
