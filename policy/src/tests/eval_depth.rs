//! The deepest conditions that load are evaluated on the small stack of a worker thread.

use super::{Fault, holds};
use crate::Facts;
use crate::check::{Checker, DefinitionText};
use crate::compile::Bool;

/// As much as the supervisor gives a worker, less what stands below the evaluation there.
const STACK_BYTES: usize = 448 * 1024;

/// As much as the supervisor gives a thread that loads rules.
const LOADING_STACK_BYTES: usize = 4 << 20;

/// A way to nest, and its name.
type Shape = (&'static str, Box<dyn Fn(&str) -> String>);

/// Conditions that nest in one way, as deep as they are accepted.
fn deepest(level: impl Fn(&str) -> String, start: &str) -> (usize, Bool) {
    let mut deepest = None;
    let mut definitions = Vec::new();
    for depth in 0..256 {
        let before = if depth == 0 { start.to_owned() } else { format!("$d{}", depth - 1) };
        definitions.push(DefinitionText { name: format!("d{depth}"), text: level(&before) });
        // One after the other, so that the chain of definitions is no bound.
        let mut checker = Checker::new(definitions.clone());
        let mut found = None;
        for at in 0..=depth {
            found = checker.condition(&format!("$d{at}")).ok();
        }
        match found {
            Some(condition) => deepest = Some((depth, condition)),
            None => break,
        }
    }
    deepest.unwrap()
}

fn several(text: &str, level: &impl Fn(&str) -> String, count: usize) -> String {
    (0..count).fold(text.to_owned(), |text, _| level(&text))
}

#[test]
fn the_deepest_conditions_fit_a_workers_stack() {
    let shapes: Vec<Shape> = vec![
        ("not", Box::new(|x| format!("!({x})"))),
        ("and", Box::new(|x| format!("(true && {x})"))),
        ("or and", Box::new(|x| format!("(false || (true && {x}))"))),
        ("choice", Box::new(|x| format!("(({x}) ? true : false)"))),
        ("truth", Box::new(|x| format!("(({x}) == true)"))),
        ("text", Box::new(|x| format!("((({x}) ? 'a' : 'b') == 'a')"))),
        ("joined", Box::new(|x| format!("((target + (({x}) ? 'a' : 'b')) == target + 'a')"))),
        ("item", Box::new(|x| format!("(['b', ({x}) ? 'a' : 'b'][1] == 'a')"))),
        ("in", Box::new(|x| format!("('a' in ['b', ({x}) ? 'a' : 'b'])"))),
        ("listed", Box::new(|x| format!("(['b', ({x}) ? 'a' : 'b'] + run.args == ['b', 'a'])"))),
        ("loop", Box::new(|x| format!("['b'].exists(v, {x})"))),
        ("number", Box::new(|x| format!("(([3, ({x}) ? 1 : 2][1]) == 1)"))),
        ("plain", Box::new(|x| format!("(([3u, ({x}) ? 1u : 2u][1]) == 1u)"))),
        ("after", Box::new(|x| format!("((({x}) ? 'ab' : 'b').after('a') == 'b')"))),
        ("entry", Box::new(|x| format!("(metadata[({x}) ? 'a' : 'b'] == '')"))),
        ("key", Box::new(|x| format!("({{'a': true, 'b': false}}[({x}) ? 'a' : 'b'])"))),
    ];
    for (name, level) in shapes {
        let (depth, condition) =
            deepest(|x| several(x, &level, if name == "loop" { 1 } else { 2 }), "true");
        assert!(depth > 10, "{name}: {depth}");
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let answer = holds(&condition, &Facts::default());
                // Written lists are looked at twice, so that some of these run out of steps.
                assert!(matches!(answer, Ok(_) | Err(Fault::Exhausted)), "{answer:?}");
            })
            .unwrap()
            .join()
            .unwrap();
    }
}

/// Loading recurses as well: over definitions, and over the text of the innermost one.
#[test]
fn the_deepest_conditions_load_on_a_threads_stack() {
    let mut definitions = vec![DefinitionText {
        name: "d0".to_owned(),
        text: format!("{}true{}", "(".repeat(60), ")".repeat(60)),
    }];
    let level = |x: &str| format!("((target + (({x}) ? 'a' : 'b')) == target + 'a')");
    for at in 1..60 {
        let text = level(&format!("$d{}", at - 1));
        definitions.push(DefinitionText { name: format!("d{at}"), text });
    }
    let load = move || {
        let mut accepted = 0;
        for at in 0..60 {
            let loaded = Checker::new(definitions.clone()).condition(&format!("$d{at}"));
            accepted += usize::from(loaded.is_ok());
        }
        assert!(accepted > 10, "{accepted}");
    };
    std::thread::Builder::new()
        .stack_size(LOADING_STACK_BYTES)
        .spawn(load)
        .unwrap()
        .join()
        .unwrap();
}
