//! The fixed mix of questions.

use std::net::Ipv4Addr;

use policy::{ActionType, Facts};

/// One question, in a form from which every engine's own input is made.
#[derive(Clone, Debug)]
pub struct Question {
    /// Where the rule that answers it stands: `early`, `late`, or `none` if there is no such rule.
    pub hit: &'static str,
    /// What the answer must be.
    pub allowed: bool,
    /// The kind of action.
    pub action: ActionType,
    /// A path, or an address with its port.
    pub target: String,
    /// The host name, or empty.
    pub hostname: &'static str,
    /// The address, where there is one.
    pub ip: Ipv4Addr,
    /// The command, word by word; the program first.
    pub argv: Vec<String>,
}

impl Question {
    fn file(hit: &'static str, path: &str) -> Self {
        Self {
            hit,
            allowed: hit == "late",
            action: ActionType::FileAccess,
            target: path.into(),
            hostname: "",
            ip: Ipv4Addr::UNSPECIFIED,
            argv: Vec::new(),
        }
    }

    fn network(hit: &'static str, hostname: &'static str, ip: [u8; 4]) -> Self {
        let ip = Ipv4Addr::from(ip);
        let target = format!("{ip}:443");
        Self { action: ActionType::NetworkCall, hostname, ip, ..Self::file(hit, &target) }
    }

    fn exec(hit: &'static str, command: &str) -> Self {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let program = format!("/usr/bin/{}", argv.first().map_or("", String::as_str));
        Self { action: ActionType::ShellExec, argv, ..Self::file(hit, &program) }
    }

    /// The target and a slash, so that an engine without `under` tests with one prefix whether the
    /// target is a directory or lies below it.
    #[must_use]
    pub fn below(&self) -> String {
        format!("{}/", self.target)
    }

    /// The program's bare name.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// The arguments that are no flags.
    #[must_use]
    pub fn args(&self) -> Vec<String> {
        self.argv.iter().skip(1).filter(|word| !word.starts_with('-')).cloned().collect()
    }

    /// What our engine is asked, with the facts that the supervisor would add.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let mut facts = Facts { action_type: self.action, ..Facts::default() };
        facts.target.clone_from(&self.target);
        facts.process.exe = "/usr/bin/bash".into();
        facts.process.ancestors = vec!["/usr/bin/node".into(), "/usr/bin/bash".into()];
        facts.session.workspace = "/srv/project".into();
        match self.action {
            ActionType::NetworkCall => {
                facts.network.hostname = self.hostname.into();
                facts.network.ip = self.ip.to_string();
                facts.network.port = 443;
                facts.network.class = "public".into();
            }
            ActionType::ShellExec => {
                facts.exec.path.clone_from(&self.target);
                facts.exec.argv.clone_from(&self.argv);
                facts.run.tool = self.tool().into();
                facts.run.args = self.args();
            }
            _ => {
                facts.file.path.clone_from(&self.target);
                facts.file.operation = "read".into();
            }
        }
        facts
    }
}

/// The mix: of each kind some that hit an early rule, a late rule and none.
#[must_use]
pub fn questions() -> Vec<Question> {
    vec![
        Question::file("early", "/home/ann/.ssh/id_ed25519"),
        Question::file("early", "/etc/shadow"),
        Question::file("late", "/srv/project/src/decode/table.rs"),
        Question::file("late", "/srv/project/Cargo.lock"),
        Question::file("none", "/srv/project/notes/2024/todo.txt"),
        Question::file("none", "/var/lib/data/blob-17.bin"),
        Question::network("early", "node7.metadata.internal", [198, 51, 100, 7]),
        Question::network("early", "", [169, 254, 169, 254]),
        Question::network("late", "registry.example.org", [203, 0, 113, 9]),
        Question::network("late", "", [10, 20, 3, 4]),
        Question::network("none", "www.example.net", [192, 0, 2, 44]),
        Question::exec("early", "git push origin main"),
        Question::exec("late", "cargo build --release --locked"),
        Question::exec("none", "git status --short"),
        Question::exec("none", "python3 tools/report.py --check out.csv"),
    ]
}
