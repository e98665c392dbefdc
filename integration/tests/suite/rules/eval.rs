//! `rules eval`.

use super::*;

fn ask<'a>(action: &'a str, target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let head = ["eval", "--rules", "rules.yaml", "--action", action, "--target", target];
    [&head[..], more].concat()
}

#[test]
fn the_exit_code_is_the_answer() {
    let desk = Desk::new();
    let words = ["file_access to /w/x is allowed by rule open-work (rules.yaml:5): The workspace"];
    desk.says(&ask("file_access", "/w/x", &[]), 0, &words);
    let words = ["file_access to /x is blocked: no rule allows it"];
    desk.says(&ask("file_access", "/x", &[]), 4, &words);
    desk.says(
        &ask("shell_exec", "/bin/sh", &[]),
        4,
        &["is held for an operator by rule ask-shells"],
    );
    let built_in = ["eval", "--action", "network_call", "--target", "10.0.0.1:80"];
    desk.says(&built_in, 4, &["refuse-other-machines"]);
    let metadata = ["eval", "--action", "network_call", "--target", "[::ffff:169.254.169.254]:80"];
    desk.says(&metadata, 4, &["refuse-cloud-metadata"]);
}

#[test]
fn facts_are_set_by_name() {
    let desk = Desk::new();
    let facts = ["--fact", "container.labels.team=x", "--fact", "exec.argv=a", "--fact"];
    let all = [&facts[..], &["exec.argv=-v", "--meta", "k=v=w"]].concat();
    desk.says(&ask("network_call", "host.example:443", &all), 0, &["by rule team-only"]);
    let fewer = ["--fact", "container.labels.team=x"];
    desk.says(&ask("network_call", "host.example:443", &fewer), 4, &["no rule allows it"]);
}

#[test]
fn wrong_facts_are_usage_errors_with_the_nearest_name() {
    let desk = Desk::new();
    for (action, facts, words) in [
        ("file_access", ["--fact", "file.opration=read"], "did you mean `file.operation`?"),
        ("network_call", ["--fact", "network.port=https"], "`network.port` is a number"),
        ("file_access", ["--fact", "metadata=x"], "metadata.KEY"),
        ("file_access", ["--fact", "target=/y"], "--target"),
        ("file_access", ["--fact", "no-equals-sign"], "NAME=VALUE"),
        ("file_access", ["--meta", "=x"], "NAME=VALUE"),
        ("file_acces", ["--meta", "a=x"], "'file_access'"),
    ] {
        desk.says(&ask(action, "/x", &facts), 2, &[words]);
    }
    desk.says(&["eval", "--action", "file_access"], 2, &["--target"]);
    desk.says(&["eval", "--target", "x"], 2, &["--action"]);
}

#[test]
fn json_is_one_document() {
    let desk = Desk::new();
    let more = ["--json", "--near-misses"];
    let lines = desk.says(&ask("file_access", "/w/x", &more), 0, &[]).json();
    let [answer] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&answer["verdict"], &answer["rule"]["id"]), (&"allow".into(), &"open-work".into()));
    assert!(answer["near_misses"].is_array());
    let answer = desk.says(&ask("file_access", "/x", &["--json"]), 4, &[]).json().remove(0);
    assert_eq!((&answer["verdict"], &answer["rule"]), (&"block".into(), &Value::Null));
}

#[test]
fn a_target_never_steers_the_terminal() {
    let said = Desk::new().says(&ask("file_access", "/w/\u{1b}[2J\n", &[]), 0, &["\\u{1b}[2J\\n"]);
    assert!(!said.out.contains('\u{1b}'));
}
