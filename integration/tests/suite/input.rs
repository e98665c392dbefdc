//! Bad input gets a sentence and a code, never a panic and never an allow.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use integration::{Finished, Supervised};

/// A command that leaves a trace, to see that nothing ran.
const TRACE: [&str; 3] = ["/bin/sh", "-c", "echo ran > trace"];

#[track_caller]
fn finish(run: &Supervised, command: &mut Command) -> Finished {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let finished = Finished {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: output.stderr,
        log: run.log(),
    };
    assert!(!finished.err().contains("panicked"), "{}", finished.err());
    assert!(!finished.err().contains("RUST_BACKTRACE"), "{}", finished.err());
    finished
}

/// Ends with this code and a sentence with these words, and nothing has run.
#[track_caller]
fn refuses(run: &Supervised, command: &mut Command, code: i32, words: &[&str]) {
    let finished = finish(run, command);
    let text = finished.err();
    assert_eq!(finished.code, Some(code), "{text}");
    for word in words {
        assert!(text.contains(word), "no {word:?} in: {text}");
    }
    assert!(!run.workspace().join("trace").exists(), "it ran: {text}");
    assert_eq!(finished.out(), "", "{text}");
}

fn with_option(flag: &str, value: &str) -> Supervised {
    Supervised::by_default_rules().option(flag).option(value)
}

#[test]
fn no_command_or_an_empty_one_is_a_usage_error() {
    let run = Supervised::allowing_all();
    refuses(&run, &mut run.command::<&str>(&[]), 2, &["CMD", "Usage"]);
    let finished = finish(&run, &mut run.command(&[""]));
    assert!(matches!(finished.code, Some(1 | 2)), "{finished:?}");
    assert!(finished.err().contains("no command given; try: outcallctl run --"), "{finished:?}");
    assert!(finished.log.iter().all(|line| line["type"] != "decision"));
    let finished = finish(&run, &mut run.command(&["", "argument"]));
    assert!(matches!(finished.code, Some(1 | 2)), "{finished:?}");
}

#[test]
fn unknown_options_and_values_are_usage_errors_with_the_nearest_name() {
    let run = with_option("--mode", "enforced");
    refuses(&run, &mut run.command(&TRACE), 2, &["enforced", "enforce, observe"]);
    let run = Supervised::allowing_all().option("--rulez");
    refuses(&run, &mut run.command(&TRACE), 2, &["--rulez", "--rules"]);
}

#[test]
fn rules_that_do_not_parse_are_shown_where_they_are_wrong() {
    let head = "version: \"1\"\nrules:\n";
    let rule = "    action: allow\n    description: d\n";
    let cases = [
        (format!("{head}  - id: x\n    condition: \"target ==\"\n{rule}"), "rules.yaml:4:"),
        (format!("{head}  - id: x\n    condition: \"nonsense(1)\"\n{rule}"), "rules.yaml:4:"),
        (format!("{head}  - id: x\n   condition: [\n"), "rules.yaml:4:4"),
        (format!("{head}  - id: x\n    condishun: \"true\"\n{rule}"), "did you mean `condition`"),
        (format!("{head}  - id: x\n    condition: \"true\"\n    action: alow\n"), "rules.yaml:5:"),
        ("version: \"9\"\nrules: []\n".to_owned(), "rules.yaml:1:10"),
        (String::new(), "rules.yaml:1:1"),
        ("[".repeat(100_000), "rules.yaml:"),
        ("\u{0}".to_owned(), "rules.yaml"),
    ];
    for (text, place) in cases {
        let run = Supervised::by_rules(&text);
        refuses(&run, &mut run.command(&TRACE), 1, &["outcallctl: ", place]);
        assert!(run.log().is_empty(), "a log was begun for {text:.40}");
    }
}

#[test]
fn rules_that_cannot_be_read_are_named() {
    let run = with_option("--rules", "/no/such/rules.yaml");
    refuses(&run, &mut run.command(&TRACE), 1, &["/no/such/rules.yaml", "No such file"]);
    let run = Supervised::by_default_rules();
    let directory = run.outside().join("rules");
    std::fs::create_dir(&directory).unwrap();
    let name = directory.to_str().unwrap().to_owned();
    let run = run.option("--rules").option(&name);
    refuses(&run, &mut run.command(&TRACE), 1, &["no rule files", &name]);
    std::fs::write(directory.join("binary.yaml"), b"\xff\xfe\x00").unwrap();
    refuses(&run, &mut run.command(&TRACE), 1, &["binary.yaml", "UTF-8"]);
    let run = with_option("--rules", "/dev/null");
    refuses(&run, &mut run.command(&TRACE), 1, &["/dev/null"]);
}

#[test]
fn an_unreadable_directory_is_named_for_an_ordinary_user() {
    let run = Supervised::by_default_rules().as_user(65534);
    let closed = run.outside().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let name = closed.to_str().unwrap().to_owned();
    let run = run.option("--rules").option(&name);
    refuses(&run, &mut run.command(&TRACE), 1, &["cannot read rules", &name, "Permission denied"]);
}

#[test]
fn an_unknown_profile_is_answered_with_the_nearest() {
    let run = with_option("--profile", "defualt");
    refuses(&run, &mut run.command(&TRACE), 1, &["'defualt'", "did you mean 'default'"]);
    let run = with_option("--profile", "/no/such/profile.json");
    refuses(&run, &mut run.command(&TRACE), 1, &["/no/such/profile.json"]);
    let run = Supervised::by_default_rules();
    let file = run.outside().join("profile.json");
    std::fs::write(&file, "{ \"syscalls\": 7 }").unwrap();
    let run = run.option("--profile").option(file.to_str().unwrap());
    refuses(&run, &mut run.command(&TRACE), 1, &["profile.json"]);
}

#[test]
fn a_log_that_cannot_be_made_stops_the_run() {
    for parent in ["/proc/nowhere", "/etc/passwd/log", "/dev/null"] {
        let run = Supervised::by_default_rules();
        let mut command = Command::new(integration::dist().join("outcallctl"));
        command.args(["run", "--log", parent, "--"]).args(TRACE).current_dir(run.workspace());
        refuses(&run, &mut command, 1, &["outcallctl: ", parent]);
    }
    let run = Supervised::by_default_rules();
    let mut command = Command::new(integration::dist().join("outcallctl"));
    command.args(["run", "--"]).args(TRACE).current_dir(run.workspace());
    command.env_remove("HOME").env_remove("XDG_STATE_HOME");
    refuses(&run, &mut command, 1, &["--log DIR"]);
}

#[test]
fn a_working_directory_that_is_gone_stops_the_run() {
    let run = Supervised::by_default_rules();
    let mut command = Command::new("/bin/sh");
    let script =
        "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" run --log \"$1\" -- /bin/true";
    let control = integration::dist().join("outcallctl");
    command.args(["-c", script]).arg(control).arg(run.log_directory());
    command.current_dir(run.workspace());
    refuses(&run, &mut command, 1, &["current directory"]);
}

#[test]
fn a_command_that_is_not_there_gives_127() {
    let run = Supervised::allowing_all();
    refuses(&run, &mut run.command(&["no-such-command"]), 127, &["no-such-command", "not found"]);
    refuses(&run, &mut run.command(&["./absent"]), 127, &["./absent", "no such file"]);
    refuses(&run, &mut run.command(&["/etc/passwd/x"]), 127, &["/etc/passwd/x"]);
    let odd = OsStr::from_bytes(b"./no\xff\x1b[31m\nsuch");
    let finished = finish(&run, &mut run.command(&[odd]));
    assert_eq!(finished.code, Some(127));
    assert!(!finished.stderr.contains(&0x1b), "control bytes reach the terminal");
    let long = "x".repeat(100_000);
    refuses(&run, &mut run.command(&[&long]), 127, &["not found"]);
}

#[test]
fn a_command_that_cannot_be_executed_gives_126() {
    let run = Supervised::allowing_all();
    refuses(&run, &mut run.command(&["/etc/passwd"]), 126, &["/etc/passwd", "not an executable"]);
    refuses(&run, &mut run.command(&["/tmp"]), 126, &["/tmp", "not an executable"]);
    refuses(&run, &mut run.command(&["./"]), 126, &["./"]);
}

#[test]
fn a_command_that_the_kernel_refuses_gets_a_sentence() {
    let run = Supervised::allowing_all();
    for (name, text, words) in [
        ("junk", "just text", "#! line"),
        ("lost", "#!/no/such/interpreter\n", "interpreter"),
        ("zeroes", "\u{0}\u{0}\u{0}\u{0}", "not a program"),
    ] {
        let path = run.workspace().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let finished = finish(&run, &mut run.command(&[path.as_os_str()]));
        assert!(matches!(finished.code, Some(1 | 126 | 127)), "{name}: {finished:?}");
        assert!(finished.err().contains(words), "{name}: {}", finished.err());
    }
}

#[test]
fn a_command_that_policy_blocks_gets_a_sentence_and_does_not_run() {
    let run = Supervised::by_rules(
        "version: \"1\"\nrules:\n  - id: no-shells\n    condition: \"action_type == 'shell_exec' && target.endsWith('sh')\"\n    action: block\n    priority: 1\n    description: d\n    reason: No shells today.\n  - id: rest\n    condition: \"true\"\n    action: allow\n    description: d\n",
    );
    let finished = finish(&run, &mut run.command(&TRACE));
    let text = finished.err();
    // The shim's own code for "refused"; a shell would say 126.
    assert!(matches!(finished.code, Some(1 | 126)), "{text}");
    assert!(text.contains("no-shells") && text.contains("No shells today"), "{text}");
    assert!(!run.workspace().join("trace").exists());
    let blocked = finished.log.iter().find(|line| line["decision"] == "block").unwrap();
    assert_eq!((&blocked["answer"], &blocked["errno"]), (&"refused".into(), &"EPERM".into()));
}

#[test]
fn closed_standard_descriptors_do_not_matter() {
    for closed in ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"] {
        let run = Supervised::allowing_all();
        let inner = run.command(&["/bin/sh", "-c", "echo done > trace; exit 4"]);
        let mut outer = Command::new("/bin/sh");
        outer.arg("-c").arg(format!("exec \"$@\" {closed}")).arg("sh");
        outer.arg(inner.get_program()).args(inner.get_args()).current_dir(run.workspace());
        let finished = finish(&run, &mut outer);
        assert_eq!(finished.code, Some(4), "{closed}: {}", finished.err());
        let trace = std::fs::read_to_string(run.workspace().join("trace")).unwrap();
        assert_eq!(trace, "done\n", "{closed}: a message went into somebody's file");
        assert!(text_only(&run.log_directory()), "{closed}");
    }
}

/// Every file of the log is lines of JSON and nothing else.
fn text_only(directory: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else { return false };
    let lines = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    entries.flatten().all(|entry| lines(&entry.path()).lines().all(|line| line.starts_with('{')))
}

#[test]
fn names_and_arguments_that_are_no_text_arrive_byte_for_byte() {
    let run = Supervised::allowing_all();
    let name = OsStr::from_bytes(b"./pro\xff\xfegram");
    let path = run.workspace().join(name);
    std::fs::write(&path, "#!/bin/sh\nprintf '%s|' \"$@\"\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let arguments = [name, OsStr::from_bytes(b"\xff\x80\x01"), OsStr::new(""), OsStr::new("a\nb")];
    let finished = finish(&run, &mut run.command(&arguments));
    assert_eq!(finished.code, Some(0), "{}", finished.err());
    assert_eq!(finished.stdout, b"\xff\x80\x01||a\nb|");
    let recorded = finished.log.iter().any(|line| {
        line["syscall"] == "execve" && line["argv"][1].as_str().is_some_and(|a| a.contains("\\xff"))
    });
    assert!(recorded, "bytes that are no text are shown as \\xNN in the record");
}
