//! `rules test`.

use super::*;

const CASES: &str = "\
version: \"1\"
cases:
  - name: work is open
    facts: { action_type: file_access, target: /w/x }
    expect: allow
    rule: open-work
    reason_contains: workspace
  - { name: the rest is closed, facts: { target: /x }, expect: block, rule: default }
";

const WRONG: &str = "\
version: \"1\"
cases:
  - { name: \"<a> & 'b'\", facts: { target: /w/x }, expect: block, rule: ask-shell }
  - { name: fine, facts: { target: /x }, expect: block }
";

/// Python reads the XML and prints what it says; None where it is not well-formed.
fn junit(path: &Path) -> Option<Value> {
    let script = "import json, sys, xml.etree.ElementTree as tree\n\
        root = tree.parse(sys.argv[1]).getroot()\n\
        cases = [(c.get('name'), c.get('classname'), [f.get('message') for f in c.findall('failure')]) \
        for c in root.iter('testcase')]\n\
        print(json.dumps({'tests': root.get('tests'), 'failures': root.get('failures'), \
        'suites': len(root.findall('testsuite')), 'cases': cases}))\n";
    let output = Command::new("python3").args(["-c", script]).arg(path).output().unwrap();
    output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn examples_and_cases_are_counted_and_listed() {
    let desk = Desk::new();
    let words = ["ok   rules.yaml:12: open-work matches", "3 rules, 2 examples, 0 cases: 2 passed"];
    desk.says(&["test", "rules.yaml"], 0, &words);
    desk.write("cases.yaml", CASES);
    let words = ["ok   cases.yaml:3: work is open", "2 examples, 2 cases: 4 passed, 0 failed"];
    desk.says(&["test", "rules.yaml", "--cases", "cases.yaml"], 0, &words);
    desk.says(&["test"], 0, &["0 failed"]);
}

#[test]
fn a_failed_case_says_what_came_instead() {
    let desk = Desk::new();
    desk.write("wrong.yaml", WRONG);
    let words = [
        "FAIL wrong.yaml:3: <a> & 'b'",
        "expected block by rule ask-shell, got allow by rule open-work (rules.yaml:5): The workspace",
        "no rule has the id ask-shell; did you mean ask-shells?",
        "2 cases: 3 passed, 1 failed",
    ];
    desk.says(&["test", "rules.yaml", "--cases", "wrong.yaml"], 5, &words);
}

#[test]
fn invalid_cases_are_shown_where_they_are_wrong() {
    let desk = Desk::new();
    desk.write("a.yaml", CASES.replace("expect: allow", "expects: allow"));
    desk.write("b.yaml", "version: \"1\"\ncases: 7\n");
    let words = ["a.yaml:5:5: a case has no key `expects`", "did you mean `expect`?", "b.yaml:2:8"];
    desk.says(&["test", "rules.yaml", "--cases", "a.yaml", "--cases", "b.yaml"], 3, &words);
    desk.says(&["test", "rules.yaml", "--cases", "absent"], 1, &["absent", "No such file"]);
}

#[test]
fn coverage_names_rules_that_no_test_reaches() {
    let desk = Desk::new();
    let words = [
        "coverage: 1 of 3 rules, 33%",
        "covered     open-work (rules.yaml:5): 0 cases, 1 example",
        "not covered ask-shells (rules.yaml:15)",
        "not covered team-only (rules.yaml:20)",
    ];
    desk.says(&["test", "rules.yaml", "--coverage"], 0, &words);
    desk.write(
        "more.yaml",
        CASES
            .replace(
                "target: /x }",
                "target: /bin/sh, run: { tool: sh }, action_type: shell_exec }",
            )
            .replace("expect: block, rule: default", "expect: ask"),
    );
    let arguments = ["test", "rules.yaml", "--cases", "more.yaml", "--coverage", "--json"];
    let lines = desk.says(&arguments, 0, &[]).json();
    let coverage = lines.iter().find(|line| line["type"] == "coverage").unwrap();
    assert_eq!((&coverage["covered"], &coverage["percent"]), (&2.into(), &66.into()));
}

#[test]
fn json_has_a_line_for_each_and_a_summary() {
    let desk = Desk::new();
    desk.write("wrong.yaml", WRONG);
    let arguments = ["test", "rules.yaml", "--cases", "wrong.yaml", "--json"];
    let lines = desk.says(&arguments, 5, &[]).json();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["example", "example", "case", "case", "summary"]);
    assert_eq!((&lines[2]["passed"], &lines[2]["rule"]), (&false.into(), &"open-work".into()));
    assert_eq!((&lines[4]["passed"], &lines[4]["failed"]), (&3.into(), &1.into()));
}

#[test]
fn junit_is_well_formed_whatever_the_names() {
    let desk = Desk::new();
    desk.write("wrong.yaml", WRONG);
    let arguments = ["test", "rules.yaml", "--cases", "wrong.yaml", "--junit", "out.xml"];
    desk.says(&arguments, 5, &[]);
    let read = junit(&desk.path("out.xml")).expect("well-formed XML");
    assert_eq!((&read["tests"], &read["failures"]), (&"4".into(), &"1".into()));
    assert_eq!(read["suites"], 2);
    let case = &read["cases"][2];
    assert_eq!((&case[0], &case[1]), (&"<a> & 'b'".into(), &"wrong.yaml".into()));
    assert!(case[2][0].as_str().unwrap().starts_with("expected block by rule ask-shell, got"));
    desk.says(&["test", "rules.yaml", "--junit", "no/such/dir.xml"], 1, &["no/such/dir.xml"]);
    desk.says(&["test", "--junit", "all.xml"], 0, &[]);
    assert!(junit(&desk.path("all.xml")).is_some());
}
