//! A program under `outcallctl run`, and what came of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Rules that allow everything.
pub const ALLOW_ALL: &str = "version: \"1\"\nrules:\n  - id: allow-all\n    condition: \"true\"\n    action: allow\n    description: everything\n";

/// A run to be made.
#[derive(Debug)]
pub struct Supervised {
    scratch: TempDir,
    rules: Option<PathBuf>,
    dist: PathBuf,
    user: Option<u32>,
    options: Vec<String>,
    environment: Vec<(String, String)>,
    input: Option<Vec<u8>>,
}

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Every line of the decision log.
    pub log: Vec<Value>,
}

impl Supervised {
    /// Under the built-in rules, in a fresh workspace.
    #[must_use]
    pub fn by_default_rules() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().expect("a scratch directory");
        std::fs::create_dir(scratch.path().join("workspace")).expect("a workspace");
        for path in [scratch.path().to_owned(), scratch.path().join("workspace")] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("mode");
        }
        Self {
            scratch,
            rules: None,
            dist: crate::dist(),
            user: None,
            options: Vec::new(),
            environment: Vec::new(),
            input: None,
        }
    }

    /// Under rules that allow everything.
    #[must_use]
    pub fn allowing_all() -> Self {
        Self::by_rules(ALLOW_ALL)
    }

    /// Under these rules.
    #[must_use]
    pub fn by_rules(text: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let mut run = Self::by_default_rules();
        let path = run.rules_file();
        // A directory of their own: what everybody can write to holds no rules.
        let directory = run.scratch.path().join("rules");
        std::fs::create_dir(&directory).expect("a directory for rules");
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).expect("mode");
        std::fs::write(&path, text).expect("rules are written");
        run.rules = Some(path);
        run
    }

    /// With the mitigation for these calls ("open", "connect", "exec") off.
    #[must_use]
    pub fn with_mitigation_off(mut self, calls: &str) -> Self {
        self.dist = crate::racy_dist();
        self.environment.push(("OUTCALL_TEST_RACY".to_owned(), calls.to_owned()));
        self
    }

    /// As an ordinary user, with a copy of the programs that such a user can reach.
    #[must_use]
    pub fn as_user(mut self, uid: u32) -> Self {
        self.user = Some(uid);
        let copy = self.scratch.path().join("dist");
        std::fs::create_dir(&copy).expect("a directory for the programs");
        for name in ["outcallctl", "outcall-agent"] {
            std::fs::copy(self.dist.join(name), copy.join(name)).expect("a copy of a program");
        }
        self.dist = copy;
        self
    }

    /// With a further flag of `outcallctl run`.
    #[must_use]
    pub fn option(mut self, flag: &str) -> Self {
        self.options.push(flag.to_owned());
        self
    }

    /// With a variable in the environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this on standard input.
    #[must_use]
    pub fn input(mut self, bytes: &[u8]) -> Self {
        self.input = Some(bytes.to_vec());
        self
    }

    /// The directory it runs in: `session.workspace`.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.scratch.path().join("workspace")
    }

    /// The directory of its log.
    #[must_use]
    pub fn log_directory(&self) -> PathBuf {
        self.scratch.path().join("log")
    }

    /// The file of its rules, where it has rules of its own.
    #[must_use]
    pub fn rules_file(&self) -> PathBuf {
        self.scratch.path().join("rules/rules.yaml")
    }

    /// A directory outside of the workspace.
    #[must_use]
    pub fn outside(&self) -> &Path {
        self.scratch.path()
    }

    /// The command, for tests that need the process itself.
    pub fn command<S: AsRef<OsStr>>(&self, program: &[S]) -> Command {
        let mut command = match self.user {
            None => Command::new(self.dist.join("outcallctl")),
            Some(uid) => {
                let mut command = Command::new("setpriv");
                let id = uid.to_string();
                command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--inh-caps=-all"]);
                command.arg(self.dist.join("outcallctl"));
                command
            }
        };
        command.arg("run").arg("--log").arg(self.log_directory()).args(&self.options);
        if let Some(rules) = &self.rules {
            command.arg("--rules").arg(rules);
        }
        command.arg("--").args(program).current_dir(self.workspace());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a program to its end.
    pub fn run<S: AsRef<OsStr>>(&self, program: &[S]) -> Finished {
        use std::io::Write;
        let mut command = self.command(program);
        command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("outcallctl starts");
        if let (Some(input), Some(mut stdin)) = (&self.input, child.stdin.take()) {
            stdin.write_all(input).expect("input is taken");
        }
        let output = child.wait_with_output().expect("outcallctl ends");
        Finished {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: output.stderr,
            log: self.log(),
        }
    }

    /// Runs a shell script.
    pub fn shell(&self, script: &str) -> Finished {
        self.run(&["/bin/sh", "-c", script])
    }

    /// The log as it stands.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        let Ok(entries) = std::fs::read_dir(self.log_directory()) else { return Vec::new() };
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        files
            .iter()
            .flat_map(|file| {
                let text = std::fs::read_to_string(file).unwrap_or_default();
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>()
            })
            .collect()
    }
}

impl Finished {
    #[must_use]
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    #[must_use]
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The decisions about a target that ends so.
    #[must_use]
    pub fn about(&self, end: &str) -> Vec<&Value> {
        let ends = |value: &&Value| value["target"].as_str().is_some_and(|t| t.ends_with(end));
        self.log.iter().filter(ends).collect()
    }

    /// Asserts a normal end.
    #[track_caller]
    pub fn succeeded(&self) -> &Self {
        assert_eq!(self.code, Some(0), "stdout: {}\nstderr: {}", self.out(), self.err());
        self
    }
}
