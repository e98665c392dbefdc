use super::*;
use std::os::unix::ffi::OsStringExt;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn outcall(line: &str) -> Result<Request, String> {
    parse(words(&format!("/usr/local/bin/outcall {line}")))
}

fn verb(line: &str) -> Verb {
    match outcall(line) {
        Ok(Request::Talk(talk)) => talk.verb,
        other => panic!("{line}: {other:?}"),
    }
}

fn exec(program: &str, arguments: &str) -> Verb {
    Verb::Exec(Exec { program: program.into(), arguments: words(arguments) })
}

#[test]
fn run_takes_everything_after_the_dashes_untouched() {
    let mut line = words("outcall run -- cmd --help -- x");
    line.push(OsString::from_vec(vec![0xff, 0xfe]));
    let verb = Verb::Run(line[3..].to_vec());
    assert_eq!(parse(line), Ok(Request::Talk(Talk { connected: None, verb })));
}

/// FR-007: every way to name a program keeps its arguments as they are.
#[test]
fn programs_keep_their_arguments() {
    assert_eq!(verb("exec git --help -- x"), exec("git", "git --help -- x"));
    assert_eq!(verb("exec -- -odd a"), exec("-odd", "-odd a"));
    assert_eq!(verb("git status -s"), exec("git", "git status -s"));
    assert_eq!(verb("-- fetch x"), exec("fetch", "fetch x"));
    assert_eq!(verb("bash --help"), exec("bash", "bash --help"));
    assert_eq!(verb("sh -c x"), exec("sh", "sh -c x"));
    assert_eq!(verb("shell -c x"), exec("sh", "sh -c x"));
    assert_eq!(verb("/bin/ls --help"), exec("/bin/ls", "/bin/ls --help"));
}

#[test]
fn another_name_stands_for_that_program() {
    let parsed = |line| match parse(words(line)) {
        Ok(Request::Talk(Talk { connected: None, verb })) => verb,
        other => panic!("{other:?}"),
    };
    assert_eq!(parsed("git --version"), exec("git", "git --version"));
    assert_eq!(parsed("/opt/bin/run -- x"), exec("run", "run -- x"));
    assert_eq!(parsed("-sh --connected 7"), exec("sh", "-sh --connected 7"));
    for own in ["outcall", "/x/outcall-agent", "-outcall"] {
        assert!(matches!(parse(vec![own.into(), "--version".into()]), Ok(Request::Print(_))));
    }
    for empty in ["", "/", "-"] {
        assert!(parse(vec![empty.into()]).is_err());
    }
    assert!(parse(Vec::new()).is_err());
}

#[test]
fn connected_is_a_number_above_the_standard_fds() {
    for line in ["run --connected 7 -- a", "--connected 7 run -- a", "--connected 7 why"] {
        let Ok(Request::Talk(talk)) = outcall(line) else { panic!("{line}") };
        assert_eq!(talk.connected, Some(7));
    }
    for bad in ["2", "-1", "+7", "x", "99999999999", ""] {
        assert!(outcall(&format!("run --connected {bad} -- a")).is_err(), "{bad}");
        assert!(outcall(&format!("--connected {bad} why")).is_err(), "{bad}");
    }
    assert!(outcall("run --connected 7 --connected 8 -- a").is_err());
    assert!(outcall("--connected 7 run --connected 8 -- a").is_err());
}

/// FR-010: what the probes ask about.
#[test]
fn probes_name_their_subject() {
    let url = |line: &str| match verb(line) {
        Verb::Probe(Probe { subject: Subject::Url { url, method }, json: false }) => (url, method),
        other => panic!("{other:?}"),
    };
    for name in ["fetch", "http", "https", "curl", "wget"] {
        let line = format!("{name} https://a.example/b");
        assert_eq!(url(&line), ("https://a.example/b".into(), "GET".into()));
        assert_eq!(url(&format!("{line} post")).1, "POST");
        assert!(outcall(name).is_err() && outcall(&format!("{line} P0ST")).is_err());
        assert!(outcall(&format!("{line} GET x")).is_err());
    }
    assert_eq!(url("http a.example").0, "http://a.example");
    assert_eq!(url("https a.example").0, "https://a.example");
    assert!(outcall("curl a.example").unwrap_err().contains("https://"));
    for (name, expected) in [("file", "read"), ("read", "read"), ("write", "write")] {
        let Verb::Probe(Probe { subject: Subject::File { path, operation }, .. }) =
            verb(&format!("{name} a/b"))
        else {
            panic!()
        };
        assert_eq!((path.to_str(), operation), (Some("a/b"), expected));
        assert!(outcall(name).is_err());
    }
}

#[test]
fn check_takes_metadata_anywhere() {
    let line = "check --json shell_exec --meta a=b=c ls --meta d=";
    let Verb::Probe(Probe { subject: Subject::Any { action, target, metadata }, json: true }) =
        verb(line)
    else {
        panic!()
    };
    assert_eq!((action, target.as_str()), (Action::ShellExec, "ls"));
    assert_eq!(metadata, [("a".into(), "b=c".into()), ("d".into(), String::new())]);
    let Verb::Probe(Probe { subject: Subject::Any { target, .. }, json: false }) =
        verb("check tool_exec -- --json")
    else {
        panic!()
    };
    assert_eq!(target, "--json");
    for bad in [
        "x y",
        "shell_exec",
        "shell_exec a b",
        "shell_exec a --meta",
        "shell_exec a --x",
        "tool_exec a --meta k=1 --meta k=2",
    ] {
        assert!(outcall(&format!("check {bad}")).is_err(), "{bad}");
    }
    assert!(outcall("check net x").unwrap_err().contains("network_call"));
}

#[test]
fn operators_are_asked_with_a_file_or_an_id() {
    assert_eq!(verb("why --json"), Verb::Why { json: true });
    assert_eq!(verb("request rules.yaml"), Verb::Submit("rules.yaml".into()));
    assert_eq!(verb("request -"), Verb::Submit("-".into()));
    assert_eq!(verb("request status rr-1"), Verb::Status("rr-1".into()));
    for bad in ["why x", "request", "request -x", "request a b", "request status ../x"] {
        assert!(outcall(bad).is_err(), "{bad}");
    }
}

#[test]
fn wrong_lines_get_a_sentence() {
    for (line, hint) in [
        ("", "no command given"),
        ("run", "needs a command"),
        ("run --", "needs a command"),
        ("run ls", "goes after --"),
        ("--frobnicate", "unknown option '--frobnicate'"),
        ("exec", "needs a program"),
        ("exec -x", "unknown option '-x'"),
        ("--help nonsense", "no verb 'nonsense'"),
    ] {
        let error = outcall(line).unwrap_err();
        assert!(error.contains(hint), "{line}: {error}");
    }
    let empty = vec!["outcall".into(), "run".into(), "--".into(), OsString::new()];
    assert!(parse(empty).is_err());
}

#[test]
fn every_verb_has_help() {
    let Ok(Request::Print(overview)) = outcall("--help") else { panic!() };
    for name in [
        "run", "exec", "bash", "sh", "shell", "fetch", "http", "https", "curl", "wget", "file",
        "read", "write", "check", "why", "request",
    ] {
        let Ok(Request::Print(text)) = outcall(&format!("--help {name}")) else { panic!("{name}") };
        assert!(text.starts_with("Usage: outcall ") && text.contains(name), "{name}: {text}");
        assert!(overview.contains(name), "{name}");
        if !takes_any_word(name) {
            assert_eq!(outcall(&format!("{name} --help")), Ok(Request::Print(text)));
        }
    }
    assert!(
        matches!(outcall("--version"), Ok(Request::Print(text)) if text.starts_with("outcall "))
    );
}

#[test]
fn timeouts_are_strict() {
    assert_eq!(timeout(None).unwrap(), Duration::from_secs(30));
    assert_eq!(timeout(Some("300".into())).unwrap(), Duration::from_secs(300));
    for bad in ["", "0", "301", "5s", "-1", "+5", " 5", "99999999999999999999"] {
        assert_eq!(timeout(Some(bad.into())).unwrap_err().exit_code(), 5, "{bad}");
    }
}
