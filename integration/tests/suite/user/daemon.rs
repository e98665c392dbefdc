//! The daemon: `outcalld` as root, `outcall run` through the constant socket. One daemon at a time.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use integration::supervised::ALLOW_ALL;
use integration::{dist, machine};
use tempfile::TempDir;

const SOCKET: &str = "/run/outcall/agent.sock";

/// The path is a constant, so there is one daemon at a time on a machine.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Daemon {
    scratch: TempDir,
    child: Child,
    _turn: MutexGuard<'static, ()>,
}

impl Daemon {
    /// A daemon that serves; `None` without root.
    fn start() -> Option<Self> {
        if !machine::require_root("daemon") {
            return None;
        }
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("workspace")).unwrap();
        std::fs::write(scratch.path().join("rules.yaml"), ALLOW_ALL).unwrap();
        let child = outcalld(scratch.path()).spawn().unwrap();
        let daemon = Self { scratch, child, _turn: turn };
        daemon.until("the socket answers", || {
            std::os::unix::net::UnixStream::connect(SOCKET).is_ok()
        });
        Some(daemon)
    }

    fn workspace(&self) -> PathBuf {
        self.scratch.path().join("workspace")
    }

    fn shim(&self, script: &str) -> Command {
        let mut command = Command::new(dist().join("outcall-agent"));
        command.args(["run", "--", "/bin/sh", "-c", script]).current_dir(self.workspace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, script: &str) -> Output {
        self.shim(script).output().unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    #[track_caller]
    fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(60), "not in time: {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(SOCKET);
    }
}

fn outcalld(scratch: &Path) -> Command {
    let mut command = Command::new(dist().join("outcalld"));
    command.arg("--log").arg(scratch.join("log")).arg("--rules").arg(scratch.join("rules.yaml"));
    command.arg("--state").arg(scratch.join("state"));
    command.args(["--drain-seconds", "60", "--host-sessions"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_program_runs_under_the_daemon_and_its_code_comes_back() {
    let Some(daemon) = Daemon::start() else { return };
    let output = daemon.run("echo hello > x; cat x; exit 7");
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(7), "hello\n"));
    let log = daemon.scratch.path().join("log");
    let refused = daemon.run(&format!("cat {}/* ; exit 1", log.display()));
    assert!(!text(&refused.stdout).contains("\"seq\""), "{}", text(&refused.stdout));
}

#[test]
fn a_second_daemon_is_refused_and_a_stale_socket_is_not_in_the_way() {
    let Some(daemon) = Daemon::start() else { return };
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("rules.yaml"), ALLOW_ALL).unwrap();
    let second = outcalld(other.path()).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("another outcalld owns"), "{}", text(&second.stderr));
    assert_eq!(daemon.run("exit 3").status.code(), Some(3), "the first one serves on");
    daemon.signal("-KILL");
    std::thread::sleep(Duration::from_millis(300));
    assert!(Path::new(SOCKET).exists(), "a killed daemon leaves its socket");
    let mut third = outcalld(other.path()).spawn().unwrap();
    daemon.until("the third serves", || std::os::unix::net::UnixStream::connect(SOCKET).is_ok());
    let code = daemon.run("exit 5").status.code();
    third.kill().unwrap();
    third.wait().unwrap();
    assert_eq!(code, Some(5));
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_name() {
    let scratch = tempfile::tempdir().unwrap();
    let config = scratch.path().join("outcalld.toml");
    std::fs::write(&config, "agent_sokcet = '/tmp/x'\n").unwrap();
    let refused = Command::new(dist().join("outcalld")).arg("--config").arg(&config).output();
    let refused = refused.unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("did you mean 'agent_socket'"), "{}", {
        text(&refused.stderr)
    });
}

#[test]
fn a_reload_changes_verdicts_and_broken_rules_change_nothing() {
    let Some(daemon) = Daemon::start() else { return };
    let rules = daemon.scratch.path().join("rules.yaml");
    std::fs::write(daemon.workspace().join("file"), "content\n").unwrap();
    let script = "while [ ! -e end ]; do cat file; sleep 0.1; done";
    let session = daemon.shim(script).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(text(&daemon.run("cat file").stdout), "content\n");
    let refusal = "  - id: no\n    condition: \"target.endsWith('/file')\"\n    action: block\n    \
                   priority: 1\n    description: no\n";
    let (head, tail) = ALLOW_ALL.split_once("rules:\n").unwrap();
    std::fs::write(&rules, format!("{head}rules:\n{refusal}{tail}")).unwrap();
    // The watcher would see it by itself; the signal is another way to the same reload.
    daemon.signal("-HUP");
    daemon.until("the verdict changes", || text(&daemon.run("cat file").stdout).is_empty());
    std::fs::write(&rules, "version: \"1\"\nrules: [ broken").unwrap();
    daemon.signal("-HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(text(&daemon.run("cat file").stdout), "", "the old set decides on");
    assert_eq!(daemon.run("exit 3").status.code(), Some(3));
    std::fs::write(daemon.workspace().join("end"), "").unwrap();
    let output = session.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("content"));
}

#[test]
fn a_terminated_daemon_lets_sessions_end_and_takes_no_new_ones() {
    let Some(mut daemon) = Daemon::start() else { return };
    let script =
        "touch ready; while [ ! -e go ]; do sleep 0.1; done; cat /etc/hostname > after; exit 4";
    let session = daemon.shim(script).spawn().unwrap();
    let workspace = daemon.workspace();
    daemon.until("the session runs", || workspace.join("ready").exists());
    daemon.signal("-TERM");
    daemon.until("nobody listens", || std::os::unix::net::UnixStream::connect(SOCKET).is_err());
    assert_eq!(daemon.run("touch new").status.code(), Some(5));
    assert!(!workspace.join("new").exists());
    std::fs::write(workspace.join("go"), "").unwrap();
    assert_eq!(session.wait_with_output().unwrap().status.code(), Some(4));
    assert!(workspace.join("after").exists());
    let began = Instant::now();
    while daemon.child.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = daemon.child.try_wait().unwrap();
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
    assert!(!Path::new(SOCKET).exists());
}

#[test]
fn without_a_daemon_nothing_starts() {
    let Some(daemon) = Daemon::start() else { return };
    daemon.signal("-KILL");
    std::thread::sleep(Duration::from_millis(300));
    let output = daemon.run("touch started");
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    std::fs::remove_file(SOCKET).unwrap();
    assert_eq!(daemon.run("touch started").status.code(), Some(5));
    assert!(!daemon.workspace().join("started").exists());
}

#[test]
fn the_tree_dies_with_a_killed_daemon() {
    let Some(daemon) = Daemon::start() else { return };
    let script =
        "exec 5>> beat; (setsid sh -c 'touch up; while :; do echo x >&5; done' &); sleep 60";
    let mut session = daemon.shim(script).spawn().unwrap();
    daemon.until("it runs", || daemon.workspace().join("up").exists());
    daemon.signal("-KILL");
    let began = Instant::now();
    while session.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let code = session.try_wait().unwrap().and_then(|status| status.code());
    let size = || std::fs::metadata(daemon.workspace().join("beat")).unwrap().len();
    let before = size();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!((code, size()), (Some(5), before));
}

#[test]
fn a_user_under_the_root_daemon_reads_nothing_of_roots() {
    let Some(daemon) = Daemon::start() else { return };
    let output = daemon.run(
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
         sh -c 'id -u; cat /etc/shadow; ls /root; cat /proc/1/environ; touch /etc/x; exit 0'",
    );
    assert_eq!(text(&output.stdout), "65534\n", "{}", text(&output.stderr));
    assert!(!Path::new("/etc/x").exists());
}

#[test]
fn a_supervised_client_of_the_agent_socket_is_not_taken_for_the_daemon() {
    let Some(daemon) = Daemon::start() else { return };
    let client = "import socket\n\
        c = socket.socket(socket.AF_UNIX); c.connect('/run/outcall/agent.sock')\n\
        c.sendall(b'POST /v1/checkin HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\n'\n\
        \x20         b'Content-Type: application/json\\r\\n\\r\\n{}')\n\
        print(c.recv(4096).decode().split('session_token')[-1][:60])\n\
        input()\n";
    std::fs::write(daemon.workspace().join("client.py"), client).unwrap();
    // Two clients at once, of two sessions: a token that both are given belongs to neither.
    let script = "(sleep 1; echo) | /usr/bin/python3 client.py";
    let sessions: Vec<Child> = (0..2).map(|_| daemon.shim(script).spawn().unwrap()).collect();
    let answers: Vec<String> = sessions
        .into_iter()
        .map(|session| text(&session.wait_with_output().unwrap().stdout))
        .collect();
    println!("{answers:?}");
    let shared = answers[0].contains("tok-") && answers[0] == answers[1];
    assert!(!shared, "one identity for two sessions: {answers:?}");
}
