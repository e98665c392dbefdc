//! Everything a rule may speak about, as one owned value.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::nearest;

/// One question to the policy. A namespace that does not apply holds zero values, so naming one of
/// its facts in a rule never fails.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The door through which the question came.
    pub source: Source,
    /// What kind of action is asked for.
    pub action_type: ActionType,
    /// The object of the action: a resolved path, an address, a socket name.
    pub target: String,
    /// Who asks, as the session was registered.
    pub agent: Agent,
    /// The container that the asking process lives in.
    pub container: Container,
    /// The asking process.
    pub process: Process,
    /// The supervised session.
    pub session: Session,
    /// The program about to be executed.
    pub exec: Exec,
    /// The same program as a person would write the command.
    pub run: Run,
    /// The file about to be touched.
    pub file: File,
    /// The address about to be reached.
    pub network: Network,
    /// The HTTP request about to be made.
    pub http: Http,
    /// What an explicit check sent along; untrusted.
    pub metadata: BTreeMap<String, String>,
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// The agent's registered name.
    pub name: String,
}

/// The container of the asking process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Container {
    /// The runtime's identifier.
    pub id: String,
    /// The name a person gave it.
    pub name: String,
    /// The image it was started from.
    pub image: String,
    /// Labels from the runtime.
    pub labels: BTreeMap<String, String>,
}

/// The asking process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// The running executable.
    pub exe: String,
    /// The process id as the supervisor sees it.
    pub pid: i64,
    /// The user id as the supervisor sees it.
    pub uid: i64,
    /// Executables of the parents, nearest first.
    pub ancestors: Vec<String>,
}

/// The supervised session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// The session's identifier.
    pub id: String,
    /// The directory the agent works in.
    pub workspace: String,
}

/// The program about to be executed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exec {
    /// The resolved executable.
    pub path: String,
    /// Its argument vector, `argv[0]` included.
    pub argv: Vec<String>,
    /// The directory it will start in.
    pub cwd: String,
    /// The interpreter named by a `#!` line, or empty.
    pub interpreter: String,
}

/// A command as a person would write it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The program's bare name.
    pub tool: String,
    /// Its arguments that are not flags.
    pub args: Vec<String>,
    /// Its flags.
    pub flags: Vec<String>,
    /// The directory it runs in.
    pub cwd: String,
}

/// The file about to be touched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The resolved path.
    pub path: String,
    /// `read`, `write`, `create`, `delete`, `rename`, `link` or `metadata`.
    pub operation: String,
    /// The path as the process wrote it.
    pub requested: String,
    /// Open flags by name.
    pub flags: Vec<String>,
}

/// The address about to be reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The address, normalised.
    pub ip: String,
    /// The port, or 0.
    pub port: i64,
    /// `tcp`, `udp` or another protocol name.
    pub protocol: String,
    /// The address family.
    pub family: String,
    /// `loopback`, `private`, `link_local`, `metadata`, `multicast`, `public`, `unix`, `kernel` or
    /// `other`.
    pub class: String,
    /// The host name, where it is known.
    pub hostname: String,
}

/// The HTTP request about to be made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Http {
    /// The method in capitals.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The host of the URL.
    pub host: String,
    /// The path of the URL.
    pub path: String,
}

/// The door through which a question came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// A notified system call.
    #[default]
    Kernel,
    /// An explicit check over the agent API.
    Api,
}

impl Source {
    /// Every source.
    pub const ALL: [Self; 2] = [Self::Kernel, Self::Api];

    /// The name that rules use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Api => "api",
        }
    }
}

impl FromStr for Source {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|source| source.as_str() == text);
        found.ok_or_else(|| UnknownName::new("source", text, &Self::ALL.map(Self::as_str)))
    }
}

/// What kind of action is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ActionType {
    /// A tool call of an agent framework.
    ToolExec,
    /// Reaching an address.
    NetworkCall,
    /// Touching a file.
    #[default]
    FileAccess,
    /// Executing a program.
    ShellExec,
}

impl ActionType {
    /// Every action type.
    pub const ALL: [Self; 4] =
        [Self::ToolExec, Self::NetworkCall, Self::FileAccess, Self::ShellExec];

    /// The name that rules use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolExec => "tool_exec",
            Self::NetworkCall => "network_call",
            Self::FileAccess => "file_access",
            Self::ShellExec => "shell_exec",
        }
    }
}

impl FromStr for ActionType {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| UnknownName::new("action type", text, &Self::ALL.map(Self::as_str)))
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Display for ActionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that stands for nothing, with the nearest name that does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no {kind}; did you mean {suggestion:?}?")]
pub struct UnknownName {
    kind: &'static str,
    given: String,
    suggestion: &'static str,
}

impl UnknownName {
    fn new(kind: &'static str, given: &str, known: &[&'static str]) -> Self {
        let suggestion = nearest(given, known).or(known.first().copied()).unwrap_or_default();
        Self { kind, given: given.to_owned(), suggestion }
    }

    /// The nearest name that exists.
    #[must_use]
    pub fn suggestion(&self) -> &'static str {
        self.suggestion
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in ActionType::ALL {
            assert_eq!(kind.as_str().parse::<ActionType>(), Ok(kind));
        }
        for source in Source::ALL {
            assert_eq!(source.as_str().parse::<Source>(), Ok(source));
        }
    }

    #[test]
    fn an_unknown_action_type_names_the_nearest() {
        let error = "file_acces".parse::<ActionType>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"file_acces\" is no action type; did you mean \"file_access\"?"
        );
    }
}
