//! `outcallctl rules`: each command, each exit code, and input that nobody meant to give.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

mod eval;
mod fmt;
mod test;

const RULES: &str = "\
version: \"1\"
definitions:
  work: under(target, '/w')
rules:
  - id: open-work
    condition: action_type == 'file_access' && $work
    action: allow
    description: Work
    reason: The workspace is open.
    examples:
      match:
        - { action_type: file_access, target: /w/a }
      no_match:
        - { action_type: file_access, target: /x }
  - id: ask-shells
    condition: action_type == 'shell_exec' && run.tool == 'sh'
    action: ask
    priority: 50
    description: Shells
  - id: team-only
    condition: container.labels.team == 'x' && network.port == 443 && '-v' in exec.argv
    action: allow
    priority: 60
";

/// A directory with `rules.yaml` in it, and the command to run there.
struct Desk {
    directory: tempfile::TempDir,
}

struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    /// Every line of stdout as JSON.
    #[track_caller]
    fn json(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        self.out.lines().map(parse).collect()
    }
}

impl Desk {
    fn new() -> Self {
        Self::with(RULES)
    }

    fn with(rules: impl AsRef<[u8]>) -> Self {
        let desk = Self { directory: tempfile::tempdir().unwrap() };
        desk.write("rules.yaml", rules);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(integration::dist().join("outcallctl"));
        command.arg("rules").args(arguments).current_dir(self.directory.path());
        command.stdin(Stdio::null()).env_remove("NO_COLOR");
        command
    }

    #[track_caller]
    fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Said {
        said(&mut self.command(arguments))
    }

    /// Ends with this code, and says these words on either stream.
    #[track_caller]
    fn says<S: AsRef<OsStr>>(&self, arguments: &[S], code: i32, words: &[&str]) -> Said {
        let said = self.run(arguments);
        let both = format!("{}{}", said.out, said.err);
        assert_eq!(said.code, code, "{both}");
        for word in words {
            assert!(both.contains(word), "no {word:?} in: {both}");
        }
        said
    }
}

#[track_caller]
fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    Said { code: output.status.code().expect("an exit code"), out, err }
}

#[test]
fn check_counts_what_it_loads() {
    let desk = Desk::new();
    let said = desk.says(&["check", "rules.yaml"], 0, &[]);
    assert!(said.out.ends_with("\n") && said.err.is_empty(), "{}", said.err);
    let summary = said.out.lines().last().unwrap();
    assert!(summary.starts_with("1 file, 3 rules, 0 errors, "), "{summary}");
    desk.says(&["check"], 0, &["5 files, "]);
    desk.says(&["check", "."], 0, &["1 file, 3 rules"]);
    let lines = desk.says(&["check", "--json", "rules.yaml"], 0, &[]).json();
    let summary = lines.last().unwrap();
    assert_eq!((&summary["type"], &summary["rules"]), (&"summary".into(), &3.into()));
}

#[test]
fn the_built_in_rules_stand_beside_own_ones() {
    let desk = Desk::new();
    desk.says(&["check", "builtin"], 0, &["5 files, "]);
    desk.says(&["check", "builtin", "rules.yaml"], 0, &["6 files, ", "0 errors"]);
    let both = ["list", "--rules", "builtin", "--rules", "rules.yaml"];
    desk.says(&both, 0, &["refuse-ssh-keys", "10-credentials.yaml:", "open-work"]);
    desk.says(&["list", "--rules", "./builtin"], 1, &["cannot"]);
    desk.write("10-credentials.yaml", RULES);
    desk.says(&["check", "builtin", "10-credentials.yaml"], 3, &["two files of the set"]);
}

#[test]
fn the_reference_is_markdown_on_stdout() {
    let said = Desk::new().says(&["reference"], 0, &["## Facts\n", "## Limits\n", "| `target` |"]);
    assert!(said.err.is_empty(), "{}", said.err);
}

#[test]
fn check_shows_each_mistake_where_it_stands() {
    let broken = RULES.replace("run.tool ==", "run.tol ==").replace("action: ask", "action: asks");
    let desk = Desk::with(&broken);
    let words = ["error: rules.yaml:17:13: `asks` is not an action", "1 error, 0 warnings", "^\n"];
    let said = desk.says(&["check", "rules.yaml"], 3, &words);
    assert!(said.out.ends_with("1 file, 0 rules, 1 error, 0 warnings\n"), "{}", said.out);
    let lines = desk.says(&["check", "--json", "rules.yaml"], 3, &[]).json();
    assert_eq!(lines[0]["severity"], "error");
    assert_eq!((&lines[0]["line"], &lines[0]["column"]), (&17.into(), &13.into()));
    assert_eq!(lines[0]["hint"], "did you mean `ask`?");
    assert_eq!(lines[1]["errors"], 1);
    let failing = RULES.replace("target: /w/a }", "target: /y/a }");
    let words = ["12:11: rule `open-work` does not match this example"];
    Desk::with(failing).says(&["check", "rules.yaml"], 3, &words);
}

#[test]
fn strict_makes_warnings_errors() {
    let desk = Desk::new();
    let plain = desk.run(&["check", "--json", "rules.yaml"]).json();
    let warnings = plain.last().unwrap()["warnings"].as_u64().unwrap();
    let strict = desk.run(&["check", "--strict", "rules.yaml"]);
    assert_eq!(strict.code, if warnings > 0 { 3 } else { 0 }, "{}", strict.out);
}

#[test]
fn the_built_in_rules_pass_strictly() {
    Desk::new().says(&["check", "--strict"], 0, &["0 errors, 0 warnings"]);
}

#[test]
fn list_is_in_the_order_of_evaluation() {
    let desk = Desk::new();
    let out = desk.says(&["list", "--rules", "rules.yaml"], 0, &[]).out;
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["ID", "ACTION", "PRIORITY", "PLACE", "DESCRIPTION"]);
    assert_eq!(rows[1], ["ask-shells", "ask", "50", "rules.yaml:15", "Shells"]);
    assert_eq!(rows[3], ["open-work", "allow", "100", "rules.yaml:5", "Work"]);
    let lines = desk.says(&["list", "--rules", "rules.yaml", "--json"], 0, &[]).json();
    let ids: Vec<_> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["ask-shells", "team-only", "open-work"]);
    assert_eq!(lines[2]["definitions"]["work"], "under(target, '/w')");
    assert_eq!(lines[2]["examples"]["match"], 1);
}

#[test]
fn show_tells_everything_or_the_nearest_id() {
    let desk = Desk::new();
    let source = ["--rules", "rules.yaml"];
    let show = |id| [&["show", id], &source[..]].concat();
    let words = ["3 of 3", "rules.yaml:5", "$work: under(target, '/w')", "1 to match, 1 not"];
    desk.says(&show("open-work"), 0, &words);
    desk.says(&show("open-wrok"), 1, &["no rule has the id open-wrok", "did you mean open-work?"]);
    let shown = desk.says(&["show", "open-work", "--rules", "rules.yaml", "--json"], 0, &[]).json();
    assert_eq!((shown.len(), &shown[0]["position"]), (1, &3.into()));
}

#[test]
fn explain_speaks_of_a_rule_or_of_a_decision() {
    let desk = Desk::new();
    let words = [
        "Rule open-work (rules.yaml:5) allows what it matches: Work.",
        "where $work is\n    under(target, '/w')",
        "priority is 100: it is asked as number 3 of 3",
        "ask-shells (ask)",
        "The workspace is open.",
    ];
    desk.says(&["explain", "open-work", "--rules", "rules.yaml"], 0, &words);
    let first =
        desk.says(&["explain", "--rules", "rules.yaml", "ask-shells"], 0, &["first, so no"]);
    assert!(!first.out.contains("where $"), "{}", first.out);
    let ask = ["explain", "--rules", "rules.yaml", "--action", "file_access", "--target"];
    let words = ["is allowed by rule open-work", "It matches when"];
    desk.says(&[&ask[..], &["/w/x"]].concat(), 0, &words);
    let words = ["is blocked: no rule allows it", "None of 3 rules matches"];
    desk.says(&[&ask[..], &["/x"]].concat(), 0, &words);
    desk.says(&["explain"], 2, &["Usage"]);
    desk.says(&["explain", "--action", "file_access"], 2, &["--target"]);
    desk.says(
        &["explain", "open-work", "--action", "file_access", "--target", "x"],
        2,
        &["cannot"],
    );
    desk.says(&["explain", "nope"], 1, &["no rule has the id nope"]);
}

#[test]
fn the_schema_is_a_json_document() {
    let out = Desk::new().says(&["schema"], 0, &[]).out;
    assert!(serde_json::from_str::<Value>(&out).unwrap().is_object());
}

#[test]
fn help_names_the_exit_codes() {
    let desk = Desk::new();
    for command in ["check", "test", "fmt", "eval", "list", "show", "explain", "schema"] {
        let out = desk.says(&[command, "--help"], 0, &["Exit codes: 0 fine"]).out;
        assert!(out.contains("3 invalid rules") && out.contains("4 would be denied"), "{out}");
    }
    desk.says(&["--help"], 0, &["Exit codes: 0 fine", "check", "explain"]);
    desk.says(&["chekc"], 2, &["check"]);
}

#[test]
fn rules_that_do_not_load_are_refused_by_every_command() {
    let desk = Desk::with("version: \"1\"\nrulez: []\n");
    for arguments in [
        &["check", "rules.yaml"][..],
        &["test", "rules.yaml"],
        &["list", "--rules", "rules.yaml"],
        &["show", "a", "--rules", "rules.yaml"],
        &["explain", "a", "--rules", "rules.yaml"],
        &["eval", "--rules", "rules.yaml", "--action", "file_access", "--target", "/x"],
    ] {
        desk.says(arguments, 3, &["rules.yaml:2:1", "did you mean `rules`?"]);
    }
}

#[test]
fn files_that_are_no_rules_get_a_sentence() {
    let desk = Desk::new();
    desk.says(&["check", "absent.yaml"], 1, &["absent.yaml", "No such file"]);
    for (content, words) in [
        (b"version: \"\xff\"\n".to_vec(), "UTF-8"),
        (b"\0\x01\x02\x7fELF".to_vec(), "odd.yaml"),
        (vec![b'x'; (1 << 20) + 1], "the limit"),
        (vec![b'['; 1 << 20], "odd.yaml:1:"),
        (Vec::new(), "odd.yaml:1:1"),
    ] {
        desk.write("odd.yaml", &content);
        desk.says(&["check", "odd.yaml"], 3, &[words]);
        desk.says(&["test", "rules.yaml", "--cases", "odd.yaml"], 3, &[words]);
        desk.says(&["list", "--rules", "odd.yaml"], 3, &[words]);
    }
    desk.says(&["check", "/dev/zero"], 3, &["not a regular file"]);
    std::fs::create_dir(desk.path("empty")).unwrap();
    desk.says(&["check", "empty"], 3, &["no rule files", "empty"]);
    desk.says(&["check", "rules.yaml", "rules.yaml"], 3, &["two files of the set have this name"]);
}

#[test]
fn names_that_are_no_text_or_steer_a_terminal_are_shown_safely() {
    let desk = Desk::new();
    for name in [&b"no\xff.yaml"[..], b"esc\x1b[31m.yaml", b"line\nbreak.yaml"] {
        let path = desk.directory.path().join(OsStr::from_bytes(name));
        std::fs::write(&path, "version: 9\n").unwrap();
        let said = desk.run(&[OsStr::new("check"), path.as_os_str()]);
        assert_eq!(said.code, 3, "{}", said.err);
        assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{}", said.out);
        let missing = desk.directory.path().join(OsStr::from_bytes(&[name, b"x"].concat()));
        let said = desk.run(&[OsStr::new("list"), OsStr::new("--rules"), missing.as_os_str()]);
        assert_eq!(said.code, 1);
        assert!(!said.err.contains('\u{1b}'), "{}", said.err);
    }
    let odd = OsStr::from_bytes(b"\xff");
    assert_eq!(desk.run(&[OsStr::new("show"), odd]).code, 2);
}

/// What the command writes to a terminal.
fn on_a_terminal(desk: &Desk, no_colour: bool) -> String {
    let control = integration::dist().join("outcallctl");
    let line = format!("{} rules list --rules rules.yaml", control.display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(desk.directory.path());
    command.stdin(Stdio::null()).env_remove("NO_COLOR");
    if no_colour {
        command.env("NO_COLOR", "1");
    }
    said(&mut command).out
}

#[test]
fn colour_is_for_terminals_without_no_color() {
    let desk = Desk::new();
    assert!(on_a_terminal(&desk, false).contains("\u{1b}[3"));
    assert!(!on_a_terminal(&desk, true).contains('\u{1b}'));
    assert!(!desk.run(&["list"]).out.contains('\u{1b}'));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let desk = Desk::new();
    let mut child = desk.command(&["test"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.as_mut().unwrap();
    drop(child.stdout.take());
    let output = child.wait().unwrap();
    let mut err = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut err).unwrap();
    assert_eq!((output.code(), err.as_str()), (Some(0), ""));
}
