//! An `outcalld` on sockets of its own, asked with curl.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The configuration file.
const SETTINGS: &str = "outcalld.toml";
/// Tests are processes of the host, which count only with this.
const HOST_SESSIONS: &str = "host_sessions = true\n";

/// A daemon that serves.
#[derive(Debug)]
pub struct Served {
    scratch: TempDir,
    child: Child,
}

/// What curl got.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
}

impl Served {
    /// Under the rules that `prepare` puts into the directory it is given.
    #[must_use]
    pub fn with_rules(prepare: impl Fn(&Path)) -> Self {
        Self::with(prepare, HOST_SESSIONS, &[])
    }

    /// The same, with more flags.
    #[must_use]
    pub fn with_flags(prepare: impl Fn(&Path), flags: &[&str]) -> Self {
        Self::with(prepare, HOST_SESSIONS, flags)
    }

    /// The same with a configuration file of its own. Tests are processes of the host, which count
    /// only with `host_sessions = true`.
    #[must_use]
    pub fn with_settings(settings: &str, prepare: impl Fn(&Path)) -> Self {
        Self::with(prepare, settings, &[])
    }

    fn with(prepare: impl Fn(&Path), settings: &str, flags: &[&str]) -> Self {
        let scratch = scratch();
        std::fs::write(scratch.path().join(SETTINGS), settings).expect("settings");
        prepare(&scratch.path().join("rules"));
        let child = command(scratch.path(), "log").args(flags).spawn().expect("outcalld starts");
        let served = Self { scratch, child };
        served.until("the host socket answers", || {
            std::os::unix::net::UnixStream::connect(served.host_socket()).is_ok()
        });
        served
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// A file in the rule directory.
    #[must_use]
    pub fn rules(&self, name: &str) -> PathBuf {
        self.scratch.path().join("rules").join(name)
    }

    #[must_use]
    pub fn host_socket(&self) -> PathBuf {
        self.scratch.path().join("run/host.sock")
    }

    #[must_use]
    pub fn agent_socket(&self) -> PathBuf {
        self.scratch.path().join("run/agent.sock")
    }

    /// The daemon's process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Another daemon on the same sockets, with a log of its own.
    #[must_use]
    pub fn second(&self) -> Output {
        let mut second = command(self.path(), "second-log");
        second.stderr(Stdio::piped());
        second.output().expect("outcalld ends")
    }

    pub fn curl(&self, arguments: &[&str], resource: &str) -> Reply {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "30", "-w", "\n%{http_code}", "--unix-socket"]);
        curl.arg(self.host_socket()).args(arguments).arg(format!("http://outcall{resource}"));
        let output = curl.output().expect("curl runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, status) = text.rsplit_once('\n').unwrap_or_else(|| panic!("no answer: {text}"));
        let body = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
        Reply { status: status.parse().expect("a status"), body }
    }

    /// An answer that is no JSON: status and text.
    pub fn text(&self, arguments: &[&str], resource: &str) -> (u16, String) {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-w", "\n%{http_code}", "--unix-socket"]).arg(self.host_socket());
        curl.args(arguments).arg(format!("http://outcall{resource}"));
        let output = curl.output().expect("curl runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, status) = text.rsplit_once('\n').expect("an answer");
        (status.parse().expect("a status"), body.to_owned())
    }

    /// The status of the daemon's rules.
    pub fn rules_status(&self) -> Value {
        let reply = self.curl(&[], "/v1/status");
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.body["data"]["rules"].clone()
    }

    /// The ids of the rules in force.
    pub fn ids(&self) -> Vec<String> {
        let reply = self.curl(&[], "/v1/rules");
        let rules = reply.body["data"]["rules"].as_array().expect("a list");
        rules.iter().map(|rule| rule["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// A shell script in a session of this daemon. The shim itself knows only the constant socket, so
    /// it inherits a connection to this one.
    pub fn session(&self, script: &str) -> Output {
        let connect = "import os, socket, sys\n\
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n\
            os.set_inheritable(s.fileno(), True)\n\
            words = ['run', '--connected', str(s.fileno()), '--', '/bin/sh', '-c', sys.argv[3]]\n\
            os.execv(sys.argv[2], [sys.argv[2], *words])\n";
        let mut shim = Command::new("/usr/bin/python3");
        shim.args(["-c", connect]).arg(self.path().join("run/agent.sock"));
        shim.arg(crate::dist().join("outcall-agent")).arg(script).current_dir(self.path());
        shim.stdin(Stdio::null()).output().expect("the shim ends")
    }

    /// `outcallctl`, told where the host socket is.
    pub fn operator(&self, words: &[&str]) -> Output {
        let mut operator = Command::new(crate::dist().join("outcallctl"));
        operator.args(words).arg("--host-socket").arg(self.host_socket());
        operator.output().expect("outcallctl runs")
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// No file of the daemon grows beyond this from here on, as on a full disk.
    pub fn limit_files(&self, size: &str) {
        let mut limit = Command::new("prlimit");
        limit.arg("--pid").arg(self.child.id().to_string()).arg(format!("--fsize={size}:"));
        assert!(limit.status().expect("prlimit runs").success());
    }

    /// The same daemon again: the same sockets, log, rules and state.
    pub fn start_again(&mut self) {
        self.child = command(self.scratch.path(), "log").spawn().expect("outcalld starts");
        self.until("the host socket answers", || {
            std::os::unix::net::UnixStream::connect(self.host_socket()).is_ok()
        });
    }

    /// The exit code, once it has ended.
    pub fn end(&mut self) -> Option<i32> {
        self.child.wait().expect("outcalld ends").code()
    }

    /// The control records of a kind.
    #[must_use]
    pub fn records(&self, kind: &str) -> Vec<Value> {
        let files = std::fs::read_dir(self.path().join("log")).expect("a log");
        let texts = files.flatten().map(|file| std::fs::read_to_string(file.path()));
        let text: String = texts.map(|text| text.expect("readable")).collect();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["type"] == kind).collect()
    }

    #[track_caller]
    pub fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(30), "not in time: {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn scratch() -> TempDir {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    std::fs::create_dir(scratch.path().join("rules")).expect("a directory for rules");
    std::fs::write(scratch.path().join(SETTINGS), "").expect("settings");
    scratch
}

/// A start that is expected to fail: the exit code and what was said.
#[must_use]
pub fn refused_start(prepare: impl Fn(&Path)) -> (Option<i32>, String) {
    let scratch = scratch();
    prepare(&scratch.path().join("rules"));
    let output =
        command(scratch.path(), "log").stderr(Stdio::piped()).output().expect("outcalld ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn command(scratch: &Path, log: &str) -> Command {
    // A file that reaches its limit is an error to the daemon, not its end.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(crate::dist().join("outcalld"));
    for (flag, name) in [
        ("--rules", "rules"),
        ("--log", log),
        ("--state", &format!("{log}-state")),
        ("--agent-socket", "run/agent.sock"),
        ("--host-socket", "run/host.sock"),
        ("--config", SETTINGS),
    ] {
        command.arg(flag).arg(scratch.join(name));
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
