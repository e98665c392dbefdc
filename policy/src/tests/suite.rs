use proptest::prelude::*;

use super::*;

const RULES: &str = "version: \"1\"\nrules:\n  - id: open\n    condition: under(target, '/w')\n    \
    action: allow\n    reason: The workspace is open.\n    examples:\n      \
    match: [ { target: /w/a } ]\n      no_match: [ { target: /x } ]\n  - id: odd\n    \
    condition: exec.argv[3] == 'x'\n    action: ask\n    priority: 500\n";

fn file(name: &str, text: &str) -> SourceFile {
    SourceFile { name: name.to_owned(), text: text.to_owned() }
}

fn engine() -> Engine {
    Engine::load(&[file("r.yaml", RULES)]).unwrap()
}

fn run(cases: &str) -> Vec<CaseResult> {
    let text = format!("version: \"1\"\ncases:\n{cases}");
    Suite::read(&file("c.yaml", &text)).unwrap().run(&engine())
}

fn first_error(text: &str) -> String {
    let errors = Suite::read(&file("c.yaml", text)).unwrap_err();
    let first = errors.iter().next().unwrap();
    let hint = first.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}:{}: {}{hint}", first.line, first.column, first.message)
}

fn case_error(line: &str) -> String {
    let head = "version: \"1\"\ncases:\n  - name: a\n    facts: { target: /w/a }\n";
    first_error(&format!("{head}    {line}\n"))
}

#[test]
fn cases_that_hold_pass() {
    let results = run(
        "  - { name: one, facts: { target: /w/a }, expect: allow, rule: open, reason_contains: open }\n  \
         - { name: two, facts: { target: /w/b }, expect: allow }\n",
    );
    assert!(results.iter().all(CaseResult::passed), "{results:?}");
    let places: Vec<_> = results.iter().map(|r| (r.name.as_str(), r.line)).collect();
    assert_eq!(places, [("one", 3), ("two", 4)]);
}

#[test]
fn a_failed_case_says_what_was_expected_what_came_by_which_rule_and_why() {
    let complaints = |case: &str| run(&format!("  - {{ name: a, {case} }}\n")).remove(0).complaints;
    assert_eq!(
        complaints("facts: { target: /w/a }, expect: block, rule: default"),
        ["expected block by no rule, got allow by rule open (r.yaml:3): The workspace is open."]
    );
    assert_eq!(
        complaints("facts: { target: /w/a }, expect: allow, rule: opne"),
        [
            "expected allow by rule opne, got allow by rule open (r.yaml:3): The workspace is open.",
            "no rule has the id opne; did you mean open?"
        ]
    );
    assert_eq!(
        complaints("facts: { target: /w/a }, expect: allow, reason_contains: closed"),
        ["expected \"closed\" in the reason \"The workspace is open.\""]
    );
}

#[test]
fn a_fault_is_told_where_the_answer_is_wrong() {
    let asked =
        |expect| run(&format!("  - {{ name: a, facts: {{ target: /x }}, expect: {expect} }}\n"));
    assert!(asked("block")[0].passed());
    let complaints = &asked("allow")[0].complaints;
    assert!(complaints[1].starts_with("while deciding: rule odd (r.yaml:10)"), "{complaints:?}");
}

#[test]
fn default_means_that_no_rule_matched() {
    let rules = "version: \"1\"\nrules:\n  - { id: a, condition: target == 'a', action: block }\n";
    let engine = Engine::load(&[file("r.yaml", rules)]).unwrap();
    let cases = "version: \"1\"\ncases:\n  - { name: n, facts: { target: b }, expect: deny, rule: default }\n";
    assert!(Suite::read(&file("c.yaml", cases)).unwrap().run(&engine)[0].passed());
}

#[test]
fn files_of_cases_are_read_strictly() {
    assert_eq!(
        case_error("expct: allow"),
        "5:5: a case has no key `expct` (did you mean `expect`?)"
    );
    assert_eq!(case_error("expect: alow"), "5:13: `alow` is not an action (did you mean `allow`?)");
    assert_eq!(case_error("rule: x"), "3:5: the case has no `expect`");
    assert_eq!(
        case_error("reason_contains: ''"),
        "5:22: `reason_contains` must be one line of text that is not empty"
    );
    assert_eq!(
        first_error("version: \"1\"\nrules: []\n"),
        "2:1: a file of cases has no key `rules` (the keys are version, cases)"
    );
    assert!(first_error("version: \"1\"\n").contains("the file has no `cases`"));
    assert!(first_error("cases: []\n").contains("the file has no `version`"));
    assert!(first_error("version: 1\ncases: []\n").starts_with("1:10: the version must be"));
    assert!(first_error("version: \"1\"\ncases: {}\n").contains("`cases` must be a list"));
    assert!(first_error("version: \"1\"\ncases: [x]\n").contains("a case must be a mapping"));
    let facts = "version: \"1\"\ncases: [ { name: a, expect: ask, facts: { tagret: x } } ]\n";
    assert_eq!(
        first_error(facts),
        "2:43: there is no fact named `tagret` (did you mean `target`?)"
    );
    let large = " ".repeat(MAX_FILE_BYTES + 1);
    assert_eq!(first_error(&large), "1:1: the file has 1048577 bytes, the limit is 1048576");
}

#[test]
fn examples_are_run_against_their_rule_and_the_whole_set() {
    let rules = file("r.yaml", RULES);
    let results = run_examples(&[rules], &engine());
    let seen: Vec<_> =
        results.iter().map(|r| (r.rule.id.as_str(), r.line, r.wanted, r.matched)).collect();
    assert_eq!(seen, [("open", 8, true, true), ("open", 9, false, false)]);
    assert_eq!(results[0].decision.verdict, Verdict::Allow);
    let files = crate::default_rules();
    let shipped = run_examples(&files, &Engine::load(&files).unwrap());
    assert!(shipped.len() > 50 && shipped.iter().all(|result| result.wanted == result.matched));
}

#[test]
fn a_question_is_read_as_an_example_is() {
    let facts =
        read_question(&file("q", "{\"target\": \"/x\", \"process\": {\"uid\": 7}}")).unwrap();
    // What follows from the target is filled in.
    assert_eq!((facts.process.uid, facts.file.path.as_str()), (7, "/x"));
    let error = read_question(&file("q", "{\"tagret\": \"/x\"}")).unwrap_err();
    assert!(error.to_string().contains("did you mean `target`?"), "{error}");
    assert!(read_question(&file("q", "[]")).is_err());
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = Suite::read(&file("c.yaml", &text));
    }
}
