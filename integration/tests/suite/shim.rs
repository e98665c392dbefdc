//! The shipped shim against a real `outcalld`. It knows only the constant path, so it lives in a mount
//! namespace of its own where that path leads to the test's daemon.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use integration::{Served, dist, machine};

const RULES: &str = "version: \"1\"\nrules:\n  \
    - id: no-secrets\n    condition: \"action_type == 'file_access' && target.contains('secret')\"\n    \
      action: block\n    priority: 10\n    description: secrets stay where they are\n  \
    - id: no-touch\n    condition: \"action_type == 'shell_exec' && run.tool == 'touch'\"\n    \
      action: block\n    priority: 10\n    description: nothing is touched\n  \
    - id: no-force\n    condition: \"action_type == 'shell_exec' && '--force' in run.flags\"\n    \
      action: block\n    priority: 10\n    description: nothing is forced\n  \
    - id: the-rest\n    condition: \"true\"\n    action: allow\n    priority: 900\n    \
      description: everything else\n";

/// Puts `$0` where the socket's directory belongs and the shim where it belongs, then runs the rest.
const ENTER: &str = "mount -t tmpfs tmpfs /run && mkdir /run/outcall /run/bin \
    && mount --bind \"$0\" /run/outcall && touch /run/bin/outcall && mount --bind \"$SHIM\" /run/bin/outcall \
    && mount -o remount,bind,ro /run/bin/outcall && exec \"$@\"";

const SHIM: &str = "/run/bin/outcall";
const LOST: &str = "outcalld unreachable — exiting (fail closed)";

struct Container {
    served: Served,
    scratch: PathBuf,
}

impl Container {
    /// None without root.
    fn new() -> Option<Self> {
        if !machine::require_root("shim") {
            return None;
        }
        let served = Served::with_rules(|rules| {
            std::fs::write(rules.join("rules.yaml"), RULES).unwrap();
        });
        let scratch = served.path().join("work");
        std::fs::create_dir(&scratch).unwrap();
        Some(Self { served, scratch })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "/bin/sh", "-c", ENTER]).arg(self.served.path().join("run"));
        command.args(words).env("SHIM", dist().join("outcall-agent")).current_dir(&self.scratch);
        command.env_remove("OUTCALL_TIMEOUT_SECS").env_remove("RUST_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn outcall(&self, words: &[&str]) -> Command {
        let words: Vec<&str> = [SHIM].iter().chain(words).copied().collect();
        self.command(&words)
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        told(&self.outcall(words).output().unwrap())
    }

    /// Starts a script that says when it runs.
    fn start(&self, verb: &[&str], script: &str) -> Child {
        let script = format!("touch ready 2>/dev/null || : > ready; {script}");
        let words: Vec<&str> = verb.iter().copied().chain(["/bin/sh", "-c", &script]).collect();
        let child = self.outcall(&words).spawn().unwrap();
        self.served.until("the workload runs", || self.scratch.join("ready").exists());
        child
    }

    fn file(&self, name: &str) -> String {
        self.scratch.join(name).to_str().unwrap().to_owned()
    }
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The code and stderr of a shim that is to give up within a second from now.
#[track_caller]
fn gives_up(child: Child) -> String {
    let began = Instant::now();
    let (code, _, err) = told(&child.wait_with_output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(code, 5, "{err}");
    assert!(err.contains(LOST), "{err}");
    err
}

/// FR-006: static, without a loader, at most 1 MiB.
#[test]
fn the_shipped_shim_is_static_and_small() {
    let bytes = std::fs::read(dist().join("outcall-agent")).unwrap();
    assert!(bytes.len() <= 1024 * 1024, "{} bytes", bytes.len());
    let number = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0usize, |n, byte| n << 8 | usize::from(*byte))
    };
    let (table, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
    assert!(count > 0);
    for index in 0..count {
        assert_ne!(number(table + index * size, 4), 3, "PT_INTERP: it needs a loader");
    }
}

/// FR-006, EC-009: mounted read-only, nobody in the container can change it, root neither.
#[test]
fn the_mounted_shim_cannot_be_changed() {
    let Some(container) = Container::new() else { return };
    let script = format!("echo x >> {SHIM}; cp /bin/true {SHIM}; rm -f {SHIM}; {SHIM} --version");
    let (code, out, err) = told(&container.command(&["sh", "-c", &script]).output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("outcall "), "{out}");
    assert!(err.contains("Read-only file system"), "{err}");
}

/// FR-007, FR-008, FR-009, FR-015: asked, and run or not run, by the rules of a real daemon.
#[test]
fn programs_are_asked_about_and_run() {
    let Some(container) = Container::new() else { return };
    let (code, out, err) = container.run(&["exec", "printf", "%s|", "a b", "$HOME"]);
    assert_eq!((code, out.as_str()), (0, "a b|$HOME|"), "needs POST /v1/permissions/check: {err}");
    assert_eq!(container.run(&["sh", "-c", "exit 7"]).0, 7);
    let note = container.file("note");
    let (code, out, err) = container.run(&["touch", &note]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("rule: no-touch"), "{err}");
    assert!(!Path::new(&note).exists());
    let (code, _, err) = container.run(&["exec", "echo", "--force"]);
    assert!(code == 1 && err.contains("rule: no-force"), "arguments reach the rules: {err}");
}

/// FR-010, FR-022: probes of a real daemon do nothing, and the whole verdict is told.
#[test]
fn probes_tell_the_verdict() {
    let Some(container) = Container::new() else { return };
    let secret = container.file("secret");
    let (code, out, err) = container.run(&["write", &secret]);
    assert_eq!(code, 1, "needs POST /v1/permissions/check: {err}");
    assert!(out.starts_with(&format!("blocked: file_access {secret}; rule: no-secrets;")), "{out}");
    assert!(!Path::new(&secret).exists());
    let (code, out, _) = container.run(&["read", &container.file("plain")]);
    assert!(code == 0 && out.contains("; rule: the-rest;"), "{out}");
    let (code, out, err) = container.run(&["fetch", "https://example.com/x", "post"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("allowed: network_call https://example.com/x;"), "{out}");
    let (code, out, _) = container.run(&["check", "file_access", &secret, "--json"]);
    let verdict: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &verdict["matched_rule"]), (1, &"no-secrets".into()));
    assert_eq!(verdict["allowed"], false);
}

/// Why, and what to do about it. Whose denials are told is the API's own test.
#[test]
fn denials_and_requests_reach_the_operator() {
    let Some(container) = Container::new() else { return };
    let (code, out, err) = container.run(&["why", "--json"]);
    assert_eq!(code, 0, "needs GET /v1/denials: {err}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(json["denials"].is_array(), "{out}");
    let (code, out, _) = container.run(&["why"]);
    assert!(code == 0 && !out.is_empty());
    std::fs::write(container.file("rules.yaml"), "version: \"1\"\nrules: [ broken").unwrap();
    let (code, _, err) = container.run(&["request", "rules.yaml"]);
    assert_eq!(code, 1);
    assert!(err.contains("invalid rule file"), "needs POST /v1/requests/rules: {err}");
    assert_eq!(container.run(&["request", "status", "rr-nothing"]).0, 1);
}

/// FR-004, FR-012, EC-003: the daemon is killed.
#[test]
fn a_killed_daemon_ends_the_workload_within_a_second() {
    for verb in [&["exec"][..], &["run", "--"]] {
        let Some(container) = Container::new() else { return };
        let child = container.start(verb, "setsid sleep 300 & wait");
        container.served.signal("-KILL");
        gives_up(child);
        let (code, _, err) = container.run(&["exec", "true"]);
        assert!(code == 5 && err.contains(LOST), "EC-008, a stale socket: {err}");
    }
}

/// FR-004, EC-002: the socket's file disappears, and the daemon lives.
#[test]
fn a_removed_socket_ends_the_workload_within_a_second() {
    for verb in [&["exec"][..], &["run", "--"]] {
        let Some(container) = Container::new() else { return };
        let child = container.start(verb, "setsid sleep 300 & wait");
        std::fs::remove_file(container.served.path().join("run/agent.sock")).unwrap();
        assert!(gives_up(child).contains("the agent socket is gone"));
        let (code, _, err) = container.run(&["exec", "true"]);
        assert_eq!(code, 5);
        assert!(err.contains("agent socket not found at /run/outcall/agent.sock"), "EC-001: {err}");
    }
}

/// FR-013, EC-004: the daemon accepts and does not answer.
#[test]
fn a_daemon_that_hangs_is_given_up_on() {
    let Some(container) = Container::new() else { return };
    container.served.signal("-STOP");
    let began = Instant::now();
    let mut command = container.outcall(&["exec", "true"]);
    let (code, _, err) = told(&command.env("OUTCALL_TIMEOUT_SECS", "1").output().unwrap());
    assert!(code == 5 && err.contains("no answer within 1 s"), "{err}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    container.served.signal("-CONT");
}

fn resident(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// FR-019 and the must-holds: over two heartbeats the heap does not grow, and it stays below 2 MiB.
#[test]
fn waiting_takes_no_memory() {
    let Some(container) = Container::new() else { return };
    let child = container.start(&["run", "--"], "exec sleep 22");
    std::thread::sleep(Duration::from_millis(500));
    let first = resident(child.id());
    std::thread::sleep(Duration::from_millis(10_500));
    let second = resident(child.id());
    std::thread::sleep(Duration::from_secs(10));
    let third = resident(child.id());
    println!("VmRSS of a waiting shim: {first}, {second}, {third} KiB");
    assert!(third <= 2048, "{third} KiB");
    // The first heartbeat may touch a page of code or stack that was not needed before.
    assert!(second <= first + 64 && third <= second, "{first}, {second}, {third} KiB");
    assert_eq!(told(&child.wait_with_output().unwrap()).0, 0);
}

/// Prints milliseconds, best and median: the program itself, and through each verb.
const TIMES: &str = "\
import subprocess, sys, time
def times(words):
    times = []
    for _ in range(41):
        begin = time.perf_counter()
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        times.append((time.perf_counter() - begin) * 1000)
    return min(times), sorted(times)[20]
shim = sys.argv[1]
for words in ([], [shim, 'run', '--'], [shim, 'exec']):
    print(*times([*words, '/bin/true']))
";

/// The goal is 3 ms over direct exec on an idle machine; here other tests run beside, and the figure
/// is for the whole life of the program.
#[test]
fn starting_through_the_shim_is_quick() {
    let Some(container) = Container::new() else { return };
    let python = ["/usr/bin/python3", "-c", TIMES, SHIM];
    let (code, out, err) = told(&container.command(&python).output().unwrap());
    assert_eq!(code, 0, "needs POST /v1/permissions/check: {err}");
    let times: Vec<f64> = out.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [direct, direct_median, run, run_median, exec, exec_median] = times[..] else {
        panic!("{out}")
    };
    for (verb, best, median) in [("run", run, run_median), ("exec", exec, exec_median)] {
        let (best, median) = (best - direct, median - direct_median);
        println!("outcall {verb}: +{best:.2} ms at best, +{median:.2} ms median");
        assert!(best < 10.0, "{verb}: {out}");
    }
}

/// The file is mode 0755, so that any user of a container can run it.
#[test]
fn the_shipped_shim_is_executable_by_everybody() {
    let mode = std::fs::metadata(dist().join("outcall-agent")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}
