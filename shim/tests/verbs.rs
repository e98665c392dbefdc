//! The verbs that ask, from end to end against a fake daemon.
#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic)]

mod fake;

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use fake::{
    Manner, Place, Scratch, Seen, alive, finish, ok, outcome, response, shim, start_with, verdict,
};

const CHECK: &str = "/v1/permissions/check";

fn answering(replies: &[(&str, String)]) -> Arc<Seen> {
    let seen = Arc::<Seen>::default();
    let owned = replies.iter().map(|(path, reply)| ((*path).to_owned(), reply.clone()));
    seen.replies.lock().unwrap().extend(owned);
    seen
}

fn blocking() -> Arc<Seen> {
    answering(&[(CHECK, response("200 OK", &verdict(false)))])
}

fn outcall(seen: &Arc<Seen>, words: &[&str]) -> (i32, String, String) {
    finish(start_with(seen.clone(), words, Manner::Good, |_| {}))
}

fn body_of(seen: &Seen, path: &str) -> String {
    let text = seen.text_of(path).unwrap_or_else(|| panic!("no request for {path}"));
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn real(program: &str) -> String {
    std::fs::canonicalize(program).unwrap().to_str().unwrap().to_owned()
}

/// FR-007, FR-008: asked with the exact arguments, run with the exact arguments, read by no shell.
#[test]
fn exec_asks_and_runs_exactly_what_was_written() {
    for verb in [&["exec"][..], &["exec", "--"], &[], &["--"]] {
        let seen = Arc::default();
        let words = ["printf", "%s|", "a b", "$HOME", "*", "", "\"q\"\n"];
        let line: Vec<&str> = verb.iter().chain(&words).copied().collect();
        let (code, out, err) = outcall(&seen, &line);
        assert_eq!((code, out.as_str(), err.as_str()), (0, "a b|$HOME|*||\"q\"\n|", ""));
        let body = body_of(&seen, CHECK);
        let cwd = std::env::current_dir().unwrap();
        assert_eq!(
            body,
            format!(
                r#"{{"action_type":"shell_exec","target":"{}","metadata":{{"argv":["printf","%s|","a b","$HOME","*","","\"q\"\n"],"cwd":"{}"}}}}"#,
                real("/usr/bin/printf"),
                cwd.display()
            )
        );
        assert!(seen.text_of(CHECK).unwrap().contains("Authorization: Bearer tok-1\r\n"));
    }
}

/// FR-007: bytes that are no text are asked about as `\xNN` and run as they are.
#[test]
fn arguments_that_are_no_text_are_run_as_they_are() {
    let seen = Arc::default();
    let trial = start_with(Arc::clone(&seen), &["exec", "printf", "%s"], Manner::Good, |c| {
        c.arg(OsStr::from_bytes(b"a\xff\xfe"));
    });
    let done = trial.child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(0), &b"a\xff\xfe"[..]));
    assert!(body_of(&seen, CHECK).contains(r#""a\\xff\\xfe""#));
}

/// FR-009: the reason is on stderr, whatever RUST_LOG says; the code is 1; nothing runs.
#[test]
fn what_is_blocked_does_not_run() {
    let scratch = Scratch::new("blocked");
    let note = scratch.file("note");
    for words in
        [&["exec", "touch", &note][..], &["touch", &note], &["sh", "-c", "touch $0", &note]]
    {
        let trial = start_with(blocking(), words, Manner::Good, |c| {
            c.env("RUST_LOG", "off");
        });
        let (code, out, err) = finish(trial);
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("component=shim") && err.contains("reason: not here"), "{err}");
        assert!(!std::path::Path::new(&note).exists());
    }
}

/// FR-007: `bash`, `sh` and `shell` are programs like others.
#[test]
fn shells_are_asked_about_and_run() {
    for verb in ["sh", "shell", "bash"] {
        let seen = Arc::default();
        let (code, out, _) = outcall(&seen, &[verb, "-c", "echo \"$0\"; exit 3", "x y"]);
        assert_eq!((code, out.as_str()), (3, "x y\n"), "{verb}");
        let name = if verb == "shell" { "sh" } else { verb };
        assert!(body_of(&seen, CHECK).contains(&format!(r#""argv":["{name}","-c""#)));
    }
}

/// FR-015: the child's own code, 128 and the signal, 1 for what failed; nothing else.
#[test]
fn exit_codes_are_those_of_the_program() {
    let code = |words: &[&str]| outcall(&Arc::default(), words).0;
    assert_eq!(code(&["exec", "sh", "-c", "exit 42"]), 42);
    assert_eq!(code(&["exec", "sh", "-c", "kill -KILL $$"]), 137);
    assert_eq!(code(&["exec", "sh", "-c", "kill -TERM $$"]), 143);
    let seen = Arc::default();
    let (code, _, err) = outcall(&seen, &["exec", "no-such-program"]);
    assert!(code == 1 && err.contains("cannot run 'no-such-program': not found"), "{err}");
    assert_eq!(seen.count(CHECK), 0, "there is nothing to ask about");
}

/// FR-010: probes print the verdict and do nothing; the code is the verdict.
#[test]
fn probes_print_the_verdict_and_do_nothing() {
    let scratch = Scratch::new("probes");
    let file = scratch.file("new");
    let url = "https://a.example/b?c";
    for (words, action, target, metadata) in [
        (&["fetch", url][..], "network_call", url, r#"{"method":"GET"}"#.to_owned()),
        (&["curl", url, "delete"], "network_call", url, r#"{"method":"DELETE"}"#.into()),
        (&["wget", url], "network_call", url, r#"{"method":"GET"}"#.into()),
        (&["https", "a.example/b?c"], "network_call", url, r#"{"method":"GET"}"#.into()),
        (&["http", url], "network_call", url, r#"{"method":"GET"}"#.into()),
        (
            &["write", &file],
            "file_access",
            &file,
            format!(r#"{{"operation":"write","requested":"{file}"}}"#),
        ),
        (
            &["read", &file],
            "file_access",
            &file,
            format!(r#"{{"operation":"read","requested":"{file}"}}"#),
        ),
        (
            &["file", &file],
            "file_access",
            &file,
            format!(r#"{{"operation":"read","requested":"{file}"}}"#),
        ),
    ] {
        let seen = Arc::default();
        let (code, out, err) = outcall(&seen, words);
        let line = format!("allowed: {action} {target}; rule: r-1; reason: none\n");
        assert_eq!((code, out, err), (0, line, String::new()));
        let asked =
            format!(r#"{{"action_type":"{action}","target":"{target}","metadata":{metadata}}}"#);
        assert_eq!(body_of(&seen, CHECK), asked);
        let (code, out, err) = outcall(&blocking(), words);
        let line = format!("blocked: {action} {target}; rule: none; reason: not here\n");
        assert_eq!((code, out, err), (1, line, String::new()));
        assert!(!std::path::Path::new(&file).exists());
    }
}

/// FR-022: the whole verdict reaches the caller, as a line or as JSON.
#[test]
fn check_passes_the_whole_verdict_on() {
    let words = ["check", "tool_exec", "read_file", "--meta", "path=/w", "--meta", "mode=a=b"];
    let seen = blocking();
    let (code, out, _) = outcall(&seen, &words);
    assert_eq!(code, 1);
    assert_eq!(out, "blocked: tool_exec read_file; rule: none; reason: not here\n");
    assert_eq!(
        body_of(&seen, CHECK),
        r#"{"action_type":"tool_exec","target":"read_file","metadata":{"path":"/w","mode":"a=b"}}"#
    );
    let json: Vec<&str> = words.iter().chain(&["--json"]).copied().collect();
    let (_, out, _) = outcall(&blocking(), &json);
    assert_eq!(out, "{\"allowed\":false,\"matched_rule\":null,\"reason\":\"not here\"}\n");
    let (code, out, _) = outcall(&Arc::default(), &json);
    assert_eq!(
        (code, out.as_str()),
        (0, "{\"allowed\":true,\"matched_rule\":\"r-1\",\"reason\":null}\n")
    );
}

#[test]
fn why_tells_what_was_refused() {
    let denial = r#"{"when":"2026-01-01T00:00:00Z","source":"kernel","action_type":"file_access","operation":"read","target":"/x\u001b","matched_rule":"r","reason":"no","asking_can_help":true,"do_not_retry":true}"#;
    let list = |items: &str| {
        answering(&[(
            "/v1/denials",
            response("200 OK", &ok(&format!(r#"{{"denials":[{items}]}}"#))),
        )])
    };
    let (code, out, _) = outcall(&list(denial), &["why"]);
    assert_eq!(code, 0);
    assert_eq!(
        out,
        "2026-01-01T00:00:00Z file_access read /x\\u{1b}; rule: r; reason: no; asking can help: \
         outcall request FILE; do not retry\n"
    );
    let (code, out, _) = outcall(&list(denial), &["why", "--json"]);
    assert_eq!((code, out), (0, format!("{{\"denials\":[{denial}]}}\n")));
    assert_eq!(outcall(&list(""), &["why"]).1, "nothing was refused\n");
    let odd = answering(&[("/v1/denials", response("200 OK", &ok("{}")))]);
    assert_eq!(outcall(&odd, &["why"]).0, 5);
}

#[test]
fn rules_are_requested_and_asked_after() {
    let scratch = Scratch::new("request");
    let file = scratch.file("rules.yaml");
    std::fs::write(&file, "version: \"1\"\nrules: []\n").unwrap();
    let pending = ok(r#"{"id":"rr-1","status":"pending","reason":null}"#);
    let path = "/v1/requests/rules";
    let seen = answering(&[(path, response("201 Created", &pending))]);
    let (code, out, err) = outcall(&seen, &["request", &file]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "rr-1 pending\n", ""));
    assert_eq!(body_of(&seen, path), r#"{"rule_file":"version: \"1\"\nrules: []\n"}"#);
    let trial = start_with(seen.clone(), &["request", "-"], Manner::Good, |c| {
        c.stdin(std::fs::File::open(&file).unwrap());
    });
    assert_eq!(finish(trial).1, "rr-1 pending\n");
    let refusal = r#"{"success":false,"error":"invalid rule file: line 3"}"#;
    let refusing = answering(&[(path, response("422 Unprocessable Entity", refusal))]);
    let (code, out, err) = outcall(&refusing, &["request", &file]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("invalid rule file: line 3 (HTTP 422)"), "{err}");
    let wrong = answering(&[(path, response("200 OK", &pending))]);
    assert_eq!(outcall(&wrong, &["request", &file]).0, 5, "200 creates nothing");
    let rejected = ok(r#"{"id":"rr-1","status":"rejected","reason":"too\nwide"}"#);
    let known = answering(&[("/v1/requests/rules/rr-1", response("200 OK", &rejected))]);
    assert_eq!(outcall(&known, &["request", "status", "rr-1"]).1, "rr-1 rejected: too\\u{a}wide\n");
    std::fs::write(&file, [0xff]).unwrap();
    assert_eq!(outcall(&Arc::default(), &["request", &file]).0, 1);
    std::fs::write(&file, "x".repeat(70_000)).unwrap();
    assert_eq!(outcall(&Arc::default(), &["request", &file]).0, 1);
}

/// Wrappers need no scripts: a link named after a program asks, then runs the real one.
#[test]
fn a_link_named_after_a_program_stands_for_it() {
    let Some(place) = Place::new("links") else { return };
    place.serve(Manner::Good);
    let links = Scratch::new("links-bin");
    for name in ["printf", "sh"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_outcall-agent"), links.0.join(name))
            .unwrap();
    }
    let path = format!("{}:{}", links.0.display(), std::env::var("PATH").unwrap());
    let run = |words: &[&str]| {
        let mut command = place.enter(words);
        command.env("PATH", &path).stdout(Stdio::piped()).stderr(Stdio::piped());
        outcome(command.spawn().unwrap())
    };
    let words = ["sh", "-c", "env printf '%s' --help"];
    assert_eq!(run(&words), (0, "--help".into(), String::new()));
    assert_eq!(place.seen.count(CHECK), 2, "the shell, and the program that it starts");
    let texts = place.seen.texts.lock().unwrap().clone();
    let asked = texts.iter().find(|text| text.contains("\"--help\"")).unwrap();
    assert!(asked.contains(&format!(r#""target":"{}""#, real("/usr/bin/printf"))), "{asked}");
    assert!(asked.contains(r#""argv":["printf","%s","--help"]"#), "{asked}");
}

/// No fd but 0 to 2 and what the caller passed reaches the program.
#[test]
fn the_program_gets_no_fd_of_ours() {
    let show = ["ls", "/proc/self/fd"];
    let pass = |command: &mut Command| {
        // SAFETY: dup2 is async-signal-safe and touches no memory.
        unsafe {
            command.pre_exec(|| match libc::dup2(0, 77) {
                77 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
    };
    let mut bare = Command::new(show[0]);
    pass(bare.arg(show[1]).stdin(Stdio::null()));
    let bare = String::from_utf8(bare.output().unwrap().stdout).unwrap();
    let line: Vec<&str> = ["exec"].iter().chain(&show).copied().collect();
    let trial = start_with(Arc::default(), &line, Manner::Good, |c| pass(c));
    let (code, out, err) = finish(trial);
    assert_eq!((code, out.as_str()), (0, bare.as_str()), "{err}");
    assert!(out.contains("77"));
}

/// The program's stdin, stdout and signals are its own; what it leaves behind ends with it.
#[test]
fn the_program_is_the_callers_own() {
    let mut trial = start_with(Arc::default(), &["exec", "cat"], Manner::Good, |c| {
        c.stdin(Stdio::piped());
    });
    trial.child.stdin.take().unwrap().write_all(b"through").unwrap();
    assert_eq!(finish(trial).1, "through");
    let script = "trap 'echo got; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let mut trial = start_with(Arc::default(), &["sh", "-c", script], Manner::Good, |_| {});
    let mut ready = [0; 6];
    trial.child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    // SAFETY: kill takes two integers; the child is not reaped yet.
    unsafe { libc::kill(trial.child.id() as i32, libc::SIGTERM) };
    let (code, out, _) = finish(trial);
    assert_eq!((code, out.as_str()), (7, "got\n"));
    let script = "setsid sleep 300 >/dev/null 2>&1 & echo $!; exit 3";
    let (code, out, _) = outcall(&Arc::default(), &["sh", "-c", script]);
    assert_eq!(code, 3);
    assert!(!alive(out.trim().parse().unwrap()));
}

/// FR-016, FR-017, FR-018: diagnostics are structured lines on stderr; stdout is the program's.
#[test]
fn diagnostics_stay_off_stdout() {
    let trial = start_with(Arc::default(), &["exec", "echo", "x"], Manner::Good, |c| {
        c.env("RUST_LOG", "debug");
    });
    let (code, out, err) = finish(trial);
    assert_eq!((code, out.as_str()), (0, "x\n"));
    assert!(err.contains("level=info component=shim msg=\"registered with outcalld\""), "{err}");
    assert!(err.lines().all(|line| line.contains(" component=shim msg=\"")), "{err}");
}

/// FR-003, FR-021: the check-in says nothing about who asks; the host finds that out.
#[test]
fn the_shim_asserts_nothing_about_itself() {
    let seen = Arc::default();
    outcall(&seen, &["exec", "true"]);
    assert_eq!(body_of(&seen, "/v1/checkin"), "{}");
    for text in seen.texts.lock().unwrap().iter() {
        let head = text.split("\r\n\r\n").next().unwrap();
        for line in head.lines().skip(1) {
            let name = line.split(':').next().unwrap();
            let known = ["Host", "Authorization", "Content-Type", "Content-Length"];
            assert!(known.contains(&name), "{line}");
        }
    }
}

#[test]
fn help_is_printed_without_a_daemon() {
    for verb in ["run", "exec", "fetch", "read", "check", "why", "request"] {
        let done = shim().args([verb, "--help"]).output().unwrap();
        assert!(done.status.success());
        assert!(done.stdout.starts_with(b"Usage: outcall "));
    }
}
