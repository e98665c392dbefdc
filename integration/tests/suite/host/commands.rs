//! The operator's commands.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::*;

fn operator(words: &[&str]) -> Output {
    Command::new(integration::dist().join("outcallctl")).args(words).output().unwrap()
}

#[test]
fn tail_asks_the_daemon_and_follows() {
    let served = served();
    served.session("cat secret");
    let denied = out(&served.operator(&["tail", "--denied"]));
    assert_eq!(denied.lines().count(), 1, "{denied}");
    assert!(denied.contains("no-secret") && !denied.contains('\u{1b}'), "{denied}");
    let all = out(&served.operator(&["tail", "-n", "100000"]));
    let count = served.records("decision").len();
    assert!(all.lines().count() > count && all.contains("session"), "{all}");
    let json = out(&served.operator(&["tail", "-n", "3", "--json"]));
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[2]["type"], "session_end");
    let seq = lines[0]["seq"].to_string();
    let one = out(&served.operator(&["tail", "--seq", &seq, "--json"]));
    assert_eq!(serde_json::from_str::<Value>(&one).unwrap(), lines[0]);
    let mut follow = Command::new(integration::dist().join("outcallctl"));
    follow.args(["tail", "-f", "-n", "1", "--denied", "--host-socket"]).arg(served.host_socket());
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert_eq!(shown.next().unwrap().unwrap(), denied.trim_end());
    served.session("cat secret");
    let new = shown.next().unwrap().unwrap();
    follow.kill().unwrap();
    follow.wait().unwrap();
    assert!(new.contains("no-secret") && new != denied.trim_end(), "{new}");
    // A named log is read as it is, whoever serves.
    let log = served.path().join("log");
    let from_file = operator(&["tail", "--denied", "-n", "1", "--log", log.to_str().unwrap()]);
    assert_eq!(out(&from_file).trim_end(), new);
}

#[test]
fn why_names_the_rule_and_the_next_command() {
    let served = served();
    let output = served.session("sh -c 'cat secret; cat file; true'; cat secret");
    assert!(err(&output).contains("secret"));
    let denials: Vec<Value> =
        served.records("decision").into_iter().filter(|line| line["decision"] == "block").collect();
    let session = denials[0]["session"].as_str().unwrap();
    let shown = out(&served.operator(&["why", session]));
    assert_eq!(shown.matches("was refused to read").count(), 2, "{shown}");
    assert!(
        shown.contains("rule no-secret (") && shown.contains("Secrets stay secret."),
        "{shown}"
    );
    let rules = served.rules("");
    let rules = rules.to_str().unwrap().trim_end_matches('/');
    let next = format!("next: outcallctl rules explain no-secret --rules {rules}");
    assert!(shown.contains(&next), "{shown}");
    let explained = operator(&["rules", "explain", "no-secret", "--rules", rules]);
    assert!(out(&explained).contains("blocks what it matches"), "{}", err(&explained));
    let one = out(&served.operator(&["why", "-n", "1", "--json", session]));
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!((&one["seq"], &one["rule"]), (&denials[1]["seq"], &"no-secret".into()));
    let pid = denials[0]["tgid"].to_string();
    let shown = out(&served.operator(&["why", &pid]));
    assert_eq!(shown.matches("was refused").count(), 1, "{shown}");
    let shown = out(&served.operator(&["why", "nobody"]));
    assert!(shown.starts_with("nothing of nobody was refused"), "{shown}");
}

#[test]
fn config_show_says_where_each_value_comes_from() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("o.toml");
    std::fs::write(&file, "# a comment\nlog = \"/there\"\nmode = \"observe\"\n").unwrap();
    let mut show = Command::new(integration::dist().join("outcallctl"));
    show.args(["config", "show", "--origin", "--json", "--mode", "enforce", "--config"]).arg(&file);
    show.env("OUTCALL_DRAIN_SECONDS", "9").env_remove("OUTCALL_MODE").env_remove("OUTCALL_LOG");
    let output = show.output().unwrap();
    let settings: Value = serde_json::from_str(&out(&output)).unwrap();
    let of = |key: &str| {
        let settings = settings.as_array().unwrap();
        let found = settings.iter().find(|setting| setting["key"] == key).unwrap();
        (found["value"].to_string(), found["origin"].as_str().unwrap().to_owned())
    };
    assert_eq!(of("mode"), ("\"enforce\"".into(), "flag --mode".into()));
    assert_eq!(of("drain_seconds"), ("9".into(), "environment OUTCALL_DRAIN_SECONDS".into()));
    assert_eq!(of("log"), ("\"/there\"".into(), format!("{}:2", file.display())));
    assert_eq!(of("profile"), ("\"default\"".into(), "default".into()));
    let table = operator(&["config", "show", "--config", file.to_str().unwrap()]);
    assert!(out(&table).starts_with("KEY") && !out(&table).contains("ORIGIN"), "{}", out(&table));
    std::fs::write(&file, "mode = \"off\"\n").unwrap();
    let wrong = operator(&["config", "show", "--config", file.to_str().unwrap()]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(err(&wrong).contains("'off' is not a mode"), "{}", err(&wrong));
}

#[test]
fn man_pages_and_completions_know_every_command() {
    let scratch = tempfile::tempdir().unwrap();
    let output = operator(&["man", scratch.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", err(&output));
    let commands = ["run", "tail", "status", "ps", "why", "requests", "asks", "config", "rules"];
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&operator(&["completions", shell]));
        for command in commands {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    for command in commands {
        let page = scratch.path().join(format!("outcallctl-{command}.1"));
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains("SYNOPSIS"), "{command}");
    }
    let daemon = std::fs::read_to_string(scratch.path().join("outcalld.8")).unwrap();
    assert!(daemon.contains("operator\\-uids"), "{daemon}");
}

#[test]
fn confirmation_is_asked_for_on_a_terminal_alone() {
    let served = served();
    let words = ["requests", "approve", "rr-0"];
    let silent = served.operator(&words);
    assert!(!err(&silent).contains("[y/N]") && !out(&silent).contains("[y/N]"), "{}", err(&silent));
    // Without the question it goes through to the daemon, which knows of no such request.
    assert_eq!(silent.status.code(), Some(1));
    let on_a_terminal = "import os, pty, sys\n\
        pid, fd = pty.fork()\n\
        if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n\
        seen = b''\n\
        while b'[y/N]' not in seen: seen += os.read(fd, 1024)\n\
        os.write(fd, b'n\\n')\n\
        print(seen.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    let mut python = Command::new("python3");
    python.args(["-c", on_a_terminal]).arg(integration::dist().join("outcallctl")).args(words);
    let asked = python.arg("--host-socket").arg(served.host_socket()).output().unwrap();
    assert!(out(&asked).contains("Put the rules of rr-0 in force for the agent that asked? [y/N]"));
    assert!(out(&asked).trim_end().ends_with(" 1"), "{}{}", out(&asked), err(&asked));
}
