use proptest::prelude::*;

use super::*;
use crate::{Facts, Verdict};

fn file(name: &str, text: impl Into<String>) -> SourceFile {
    SourceFile { name: name.into(), text: text.into() }
}

fn errors(rules: &str) -> String {
    Engine::load(&[file("a.yaml", format!("version: \"1\"\n{rules}"))]).unwrap_err().to_string()
}

#[test]
fn a_diagnostic_is_a_sentence_with_a_caret() {
    let found = errors("rules:\n  - id: a\n    condition: \"tagret == 'x'\"\n    action: allow\n");
    assert_eq!(
        found,
        "a.yaml:4:17: there is no fact named `tagret`\n 4 |     condition: \"tagret == 'x'\"\n   |\
         \u{20}                ^\n  hint: did you mean `target`?"
    );
}

#[test]
fn a_broken_definition_is_reported_once_where_it_stands() {
    let found = errors(
        "definitions:\n  d: target = 'x'\nrules:\n  - { id: a, condition: $d, action: allow }\n  \
         - { id: b, condition: $d, action: allow }\n",
    );
    assert!(found.starts_with("a.yaml:3:13: `=` means nothing here"), "{found}");
    assert_eq!(found.matches("a.yaml:").count(), 1, "{found}");
}

#[test]
fn an_unused_broken_definition_is_reported() {
    assert!(errors("definitions: { d: nope }\n").contains("a.yaml:2:19: there is no fact named"));
}

#[test]
fn ids_are_unique_over_all_files() {
    let text = "version: \"1\"\nrules:\n  - { id: same, condition: true, action: allow }\n";
    let found = Engine::load(&[file("b.yaml", text), file("a.yaml", text)]).unwrap_err();
    let first = found.iter().next().unwrap();
    assert_eq!((first.file.as_str(), first.line), ("b.yaml", 3));
    assert_eq!(first.message, "the id `same` is already taken");
    assert_eq!(first.hint.as_deref(), Some("it belongs to the rule at a.yaml:3"));
}

#[test]
fn a_failing_example_refuses_the_file() {
    let rule = |examples: &str| {
        errors(&format!(
            "rules:\n  - id: a\n    condition: run.args[0] == 'x'\n    action: allow\n    \
             examples:\n      {examples}\n"
        ))
    };
    for (examples, message) in [
        ("match: [ { run: { args: [y] } } ]", "7:16: rule `a` does not match this example"),
        ("no_match: [ { run: { args: [x] } } ]", "7:19: rule `a` matches this example"),
        ("no_match: [ { target: /x } ]", "7:19: rule `a` fails on this example"),
        ("match: [ { tagret: x } ]", "7:18: there is no fact named `tagret`"),
        ("match: [ { run: { arg: [x] } } ]", "7:25: `run` has no field `arg`"),
        ("match: [ { run: { args: x } } ]", "7:31: `run.args` cannot be a text"),
        ("match: [ { action_type: file } ]", "7:31: \"file\" is no action type"),
        ("match: [ x ]", "7:16: an example must be a mapping of facts"),
    ] {
        let found = rule(examples);
        assert!(found.starts_with(&format!("a.yaml:{message}")), "{examples}: {found}");
    }
}

#[test]
fn examples_may_set_any_fact() {
    let text = "version: \"1\"\nrules:\n  - id: a\n    action: allow\n    condition: >-\n      \
        source == 'api' && network.port == 5 && metadata['k'] == 'v' &&\n      \
        container.labels.team == 'x' && 'b' in exec.argv && exec.path == target\n    examples:\n      \
        match:\n        - { source: api, action_type: shell_exec, target: /b, network: { port: 5 },\n            \
        metadata: { k: v }, container: { labels: { team: x } }, exec: { argv: [a, b] } }\n";
    Engine::load(&[file("a.yaml", text)]).unwrap();
}

fn many_rules(count: usize) -> Vec<SourceFile> {
    let per_file = 2_000;
    (0..count.div_ceil(per_file))
        .map(|chunk| {
            let ids = (chunk * per_file)..((chunk + 1) * per_file).min(count);
            let rules: String =
                ids.map(|id| format!("- {{id: r{id}, condition: false, action: ask}}\n")).collect();
            file(&format!("{chunk:02}.yaml"), format!("version: \"1\"\nrules:\n{rules}"))
        })
        .collect()
}

#[test]
fn the_number_of_rules_is_limited() {
    assert_eq!(Engine::load(&many_rules(MAX_RULES)).unwrap().rules().len(), MAX_RULES);
    let found = Engine::load(&many_rules(MAX_RULES + 1)).unwrap_err().to_string();
    assert!(found.contains("the set has 10001 rules, the limit is 10000"), "{found}");
}

fn padded(name: &str, size: usize) -> SourceFile {
    let head = "version: \"1\"\n";
    file(name, format!("{head}{}", " ".repeat(size - head.len() - 1) + "\n"))
}

#[test]
fn sizes_are_limited() {
    assert!(Engine::load(&[padded("a", MAX_FILE_BYTES)]).is_ok());
    let found = Engine::load(&[padded("a", MAX_FILE_BYTES + 1)]).unwrap_err().to_string();
    assert_eq!(found, "a:1:1: the file has 1048577 bytes, the limit is 1048576");
    let mut all: Vec<_> = (0..16).map(|n| padded(&n.to_string(), MAX_FILE_BYTES)).collect();
    assert!(Engine::load(&all).is_ok());
    all.push(padded("z", 100));
    let found = Engine::load(&all).unwrap_err().to_string();
    assert_eq!(found, "z:1:1: with this file the set passes 16777216 bytes");
}

#[test]
fn the_number_of_files_is_limited() {
    let mut all: Vec<_> = (0..MAX_FILES).map(|n| padded(&format!("{n:04}"), 50)).collect();
    assert!(Engine::load(&all).is_ok());
    all.push(padded("z", 50));
    let found = Engine::load(&all).unwrap_err().to_string();
    assert_eq!(found, "z:1:1: the set has 1025 files, the limit is 1024");
    assert!(Engine::load(&[padded("a", 50), padded("a", 50)]).is_err());
}

#[test]
fn patterns_of_all_files_count_together() {
    let rules = |from: usize| -> String {
        let rule = |n: usize| {
            format!(
                "  - {{ id: r{n}, condition: \"target.matches('(a{{90}}){{90}}{n}')\", action: ask }}\n"
            )
        };
        let rules: String = (from..from + 10).map(rule).collect();
        format!("version: \"1\"\nrules:\n{rules}")
    };
    let files: Vec<_> = (0..9).map(|n| file(&n.to_string(), rules(n * 10))).collect();
    assert!(Engine::load(&files[..1]).is_ok());
    let found = Engine::load(&files).unwrap_err().to_string();
    assert!(found.contains("with it, the patterns of the set take more than"), "{found}");
}

#[test]
fn a_file_full_of_mistakes_is_refused_at_once() {
    for text in [
        format!("version: \"1\"\nrules:\n{}", "- {}\n".repeat(60_000)),
        format!("version: \"1\"\nrules: [{}]\n", "{},".repeat(240_000)),
        format!(
            "version: \"1\"\nrules:\n{}",
            "- { id: a, condition: x, action: ask }\n".repeat(9_000)
        ),
        format!(
            "version: \"1\"\ndefinitions:\n{}",
            (0..9_000).map(|n| format!("  d{n}: x\n")).collect::<String>()
        ),
    ] {
        let began = std::time::Instant::now();
        let found = Engine::load(&[file("a", text)]).unwrap_err();
        assert!(found.iter().count() <= MAX_DIAGNOSTICS + 1);
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }
    let few =
        Engine::load(&[file("a", format!("version: \"1\"\nrules:\n{}", "- {}\n".repeat(33)))]);
    assert_eq!(few.unwrap_err().iter().count(), 99);
}

#[test]
fn the_digest_depends_on_names_and_texts_and_not_on_order() {
    let (a, b) = (padded("a", 50), padded("b", 60));
    let digest = |files: &[SourceFile]| Engine::load(files).unwrap().digest().to_owned();
    let both = digest(&[a.clone(), b.clone()]);
    assert_eq!(both.len(), 64);
    assert_eq!(both, digest(&[b.clone(), a.clone()]));
    assert_ne!(both, digest(&[padded("a", 51), b.clone()]));
    assert_ne!(both, digest(&[a, padded("c", 60)]));
}

#[test]
fn the_worst_accepted_condition_does_not_overflow_a_small_stack() {
    let mut text = String::from("version: \"1\"\ndefinitions:\n  d0: target == 'x'\n");
    for index in 1..4 {
        text += &format!("  d{index}: \"{}$d{}{}\"\n", "!(".repeat(30), index - 1, ")".repeat(30));
    }
    text += "rules:\n  - { id: a, condition: \"!$d3\", action: allow }\n";
    let run = move || {
        let engine = Engine::load(&[file("a.yaml", text)]).unwrap();
        engine.decide(&Facts { target: "y".into(), ..Facts::default() }).verdict
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    assert_eq!(thread.join().unwrap(), Verdict::Allow);
}

proptest! {
    #[test]
    fn arbitrary_conditions_never_panic(condition in any::<String>()) {
        let quoted = format!("{condition:?}");
        let text = format!(
            "version: \"1\"\nrules:\n  - {{ id: a, condition: {quoted}, action: allow }}\n"
        );
        if let Ok(engine) = Engine::load(&[file("a.yaml", text)]) {
            let _ = engine.decide(&Facts::default());
        }
    }
}

/// Definitions that are copied to where they are used could take any memory.
#[test]
fn what_definitions_expand_to_is_bounded() {
    let load = |definitions: &str, condition: &str, rules: usize| {
        let mut text = format!("version: \"1\"\ndefinitions:\n{definitions}rules:\n");
        for at in 0..rules {
            text += &format!("  - {{ id: r{at}, condition: \"{condition}\", action: block }}\n");
        }
        Engine::load(&[SourceFile { name: "rules.yaml".into(), text }])
    };
    let doubled = |first: &str, levels: usize, link: &dyn Fn(usize) -> String| {
        let links = (1..levels).map(|at| format!("  d{at}: \"{}\"\n", link(at - 1)));
        format!("  d0: \"{first}\"\n{}", links.collect::<String>())
    };
    let twice = |at: usize| format!("$d{at} + $d{at}");
    let long = "a".repeat(100_000);
    let errors = load(&doubled(&format!("'{long}'"), 12, &twice), "target == $d11", 1).unwrap_err();
    assert!(errors.to_string().contains("`+` makes a text of more than 1048576 bytes"), "{errors}");
    let errors = load(&doubled(&format!("b'{long}'"), 12, &twice), "$d11 == b''", 1).unwrap_err();
    assert!(errors.to_string().contains("`+` makes a text of more than 1048576 bytes"), "{errors}");

    let items = |item: &str| format!("[{}]", vec![item; 20_000].join(","));
    let chosen = doubled("true ? 1u : 2u", 13, &|at| format!("true ? $d{at} : $d{at}"));
    for (definitions, condition) in [
        (format!("  d0: \"'{long}'\"\n"), "target == $d0 + 'x'"),
        (format!("  d0: \"{}\"\n", items("'a'")), "target in $d0 + ['x']"),
        (format!("  d0: \"{}\"\n", items("1")), "$d0 == $d0"),
        (format!("  d0: \"{}\"\n", items("1u")), "$d0 == $d0"),
        (chosen, "$d12 == 1u"),
    ] {
        assert!(load(&definitions, condition, 1).is_ok(), "{condition}");
        let errors = load(&definitions, condition, 1_000).unwrap_err().to_string();
        assert!(errors.contains("the set takes more than 67108864 bytes"), "{errors}");
    }
    // What is shared is not counted.
    assert!(load(&format!("  d0: \"{}\"\n", items("'a'")), "target in $d0", 1_000).is_ok());
}

/// Each part is looked at once, however many there are.
#[test]
fn long_chains_of_joins_load_in_no_time() {
    let started = std::time::Instant::now();
    for (part, count, condition) in [
        ("target", 90_000, "target == "),
        ("run.args", 90_000, "'x' in "),
        ("'abc'", 90_000, "target == "),
        ("['a']", 40_000, "target in "),
        ("[1]", 40_000, "network.port in "),
    ] {
        let condition = format!("{condition}{}", vec![part; count].join("+"));
        let text = format!(
            "version: \"1\"\nrules:\n  - {{ id: r, condition: \"{condition}\", action: block }}\n"
        );
        Engine::load(&[SourceFile { name: "rules.yaml".into(), text }]).unwrap();
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
