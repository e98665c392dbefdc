//! Configuration of the daemon: flags over environment over file over defaults.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::attach::session::Mode;

pub(crate) mod limits;

use limits::Limits;

/// Where the file is looked for when nobody says.
const DEFAULT_FILE: &str = "/etc/outcall/outcalld.toml";

/// Every key of the file.
pub(crate) const KEYS: &[&str] = &[
    "agent_socket",
    "agent_socket_mode",
    "host_socket",
    "host_socket_mode",
    "log",
    "state",
    "rules",
    "profile",
    "mode",
    "drain_seconds",
    "operator_uids",
    "operator_gids",
    "ask_seconds",
    "host_sessions",
    "docker_socket",
    "attached",
    "oci_state",
    "limits",
];

/// Where operators reach the daemon when nobody says.
pub(crate) const HOST_SOCKET: &str = "/run/outcall/host.sock";

/// Why a configuration is no good.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the configuration {path}: {cause}")]
    Read { path: PathBuf, cause: std::io::Error },
    #[error("{path}: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("{path}: unknown key '{key}'{hint}")]
    UnknownKey { path: PathBuf, key: String, hint: String },
    #[error("{origin}: '{value}' is not a {what}; {hint}")]
    Value { origin: String, value: String, what: &'static str, hint: &'static str },
}

/// One layer: what a flag set, a variable or a file says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Layer {
    pub(crate) agent_socket: Option<PathBuf>,
    pub(crate) agent_socket_mode: Option<String>,
    pub(crate) host_socket: Option<PathBuf>,
    pub(crate) host_socket_mode: Option<String>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) state: Option<PathBuf>,
    pub(crate) rules: Option<Vec<PathBuf>>,
    pub(crate) profile: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) drain_seconds: Option<u64>,
    pub(crate) operator_uids: Option<Vec<u32>>,
    pub(crate) operator_gids: Option<Vec<u32>>,
    pub(crate) ask_seconds: Option<u64>,
    pub(crate) host_sessions: Option<bool>,
    pub(crate) docker_socket: Option<PathBuf>,
    pub(crate) attached: Option<Vec<String>>,
    pub(crate) oci_state: Option<Vec<PathBuf>>,
    pub(crate) limits: Option<Limits>,
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) agent_socket: PathBuf,
    pub(crate) agent_socket_mode: u32,
    pub(crate) host_socket: PathBuf,
    pub(crate) host_socket_mode: u32,
    pub(crate) log: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) rules: Vec<PathBuf>,
    pub(crate) profile: String,
    pub(crate) mode: Mode,
    pub(crate) drain_seconds: u64,
    /// Who may ask on the host socket, beside root and the daemon's own user.
    pub(crate) operator_uids: Vec<u32>,
    pub(crate) operator_gids: Vec<u32>,
    /// How long a call waits for an operator.
    pub(crate) ask_seconds: u64,
    pub(crate) host_sessions: bool,
    pub(crate) docker_socket: PathBuf,
    pub(crate) attached: Vec<String>,
    pub(crate) oci_state: Vec<PathBuf>,
    pub(crate) limits: Limits,
}

impl Config {
    /// Puts the layers together. `file` is the path given by flag or variable; a missing default
    /// file is no error, a missing named one is.
    pub(crate) fn resolve(flags: Layer, file: Option<&Path>) -> Result<Self, ConfigError> {
        let layers = Layers::gather(flags, file)?;
        layers.flags.or(layers.environment).or(layers.file).into_config()
    }
}

/// The layers, each by itself.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) flags: Layer,
    pub(crate) environment: Layer,
    pub(crate) file: Layer,
    /// The file that was read, if any was.
    pub(crate) path: Option<PathBuf>,
}

impl Layers {
    pub(crate) fn gather(flags: Layer, file: Option<&Path>) -> Result<Self, ConfigError> {
        let default = Some(Path::new(DEFAULT_FILE)).filter(|path| path.exists());
        let path = file.or(default).map(Path::to_owned);
        let file = path.as_deref().map(read_file).transpose()?.unwrap_or_default();
        Ok(Self { flags, environment: from_environment()?, file, path })
    }
}

impl Layer {
    pub(crate) fn or(self, lower: Self) -> Self {
        Self {
            agent_socket: self.agent_socket.or(lower.agent_socket),
            agent_socket_mode: self.agent_socket_mode.or(lower.agent_socket_mode),
            host_socket: self.host_socket.or(lower.host_socket),
            host_socket_mode: self.host_socket_mode.or(lower.host_socket_mode),
            log: self.log.or(lower.log),
            state: self.state.or(lower.state),
            rules: self.rules.or(lower.rules),
            profile: self.profile.or(lower.profile),
            mode: self.mode.or(lower.mode),
            drain_seconds: self.drain_seconds.or(lower.drain_seconds),
            operator_uids: self.operator_uids.or(lower.operator_uids),
            operator_gids: self.operator_gids.or(lower.operator_gids),
            ask_seconds: self.ask_seconds.or(lower.ask_seconds),
            host_sessions: self.host_sessions.or(lower.host_sessions),
            docker_socket: self.docker_socket.or(lower.docker_socket),
            attached: self.attached.or(lower.attached),
            oci_state: self.oci_state.or(lower.oci_state),
            limits: self.limits.or(lower.limits),
        }
    }

    /// What counts where nobody says anything, for those who want to see it.
    pub(crate) fn defaults() -> Self {
        Self {
            agent_socket: Some("/run/outcall/agent.sock".into()),
            agent_socket_mode: Some("0666".to_owned()),
            host_socket: Some(HOST_SOCKET.into()),
            host_socket_mode: Some("0600".to_owned()),
            log: Some("/var/log/outcall".into()),
            state: Some("/var/lib/outcall".into()),
            rules: Some(Vec::new()),
            profile: Some("default".to_owned()),
            mode: Some("enforce".to_owned()),
            drain_seconds: Some(5),
            operator_uids: Some(Vec::new()),
            operator_gids: Some(Vec::new()),
            ask_seconds: Some(30),
            host_sessions: Some(false),
            docker_socket: Some("/var/run/docker.sock".into()),
            attached: Some(Vec::new()),
            oci_state: Some(vec!["/run/runc".into(), "/run/crun".into()]),
            limits: Some(Limits::default()),
        }
    }

    pub(crate) fn into_config(self) -> Result<Config, ConfigError> {
        Ok(Config {
            agent_socket: self.agent_socket.unwrap_or_else(|| "/run/outcall/agent.sock".into()),
            agent_socket_mode: file_mode("agent_socket_mode", self.agent_socket_mode, "0666")?,
            host_socket: self.host_socket.unwrap_or_else(|| HOST_SOCKET.into()),
            host_socket_mode: file_mode("host_socket_mode", self.host_socket_mode, "0600")?,
            log: self.log.unwrap_or_else(|| "/var/log/outcall".into()),
            state: self.state.unwrap_or_else(|| "/var/lib/outcall".into()),
            rules: self.rules.unwrap_or_default(),
            profile: self.profile.unwrap_or_else(|| "default".to_owned()),
            mode: parse_mode("mode", self.mode.as_deref().unwrap_or("enforce"))?,
            drain_seconds: self.drain_seconds.unwrap_or(5),
            operator_uids: self.operator_uids.unwrap_or_default(),
            operator_gids: self.operator_gids.unwrap_or_default(),
            ask_seconds: self.ask_seconds.unwrap_or(30),
            host_sessions: self.host_sessions.unwrap_or(false),
            docker_socket: self.docker_socket.unwrap_or_else(|| "/var/run/docker.sock".into()),
            attached: self.attached.unwrap_or_default(),
            oci_state: self
                .oci_state
                .unwrap_or_else(|| vec!["/run/runc".into(), "/run/crun".into()]),
            limits: self.limits.unwrap_or_default(),
        })
    }
}

fn file_mode(origin: &str, given: Option<String>, default: &str) -> Result<u32, ConfigError> {
    let value = given.unwrap_or_else(|| default.to_owned());
    let mode = u32::from_str_radix(&value, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| ConfigError::Value {
        origin: origin.to_owned(),
        value,
        what: "file mode",
        hint: "write it in octal, as \"0660\"",
    })
}

/// Reads a mode by name.
pub(crate) fn parse_mode(origin: &str, value: &str) -> Result<Mode, ConfigError> {
    match value {
        "enforce" => Ok(Mode::Enforce),
        "observe" => Ok(Mode::Observe),
        _ => Err(ConfigError::Value {
            origin: origin.to_owned(),
            value: value.to_owned(),
            what: "mode",
            hint: "use enforce or observe",
        }),
    }
}

fn read_file(path: &Path) -> Result<Layer, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|cause| ConfigError::Read { path: path.to_owned(), cause })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Layer, ConfigError> {
    let parse_error = |error: toml::de::Error| ConfigError::Parse {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let table: toml::Table = text.parse().map_err(parse_error)?;
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = hint(key, KEYS);
        return Err(ConfigError::UnknownKey { path: path.to_owned(), key: key.clone(), hint });
    }
    if let Some(key) = unknown_limit(&table) {
        let hint = hint(key, limits::KEYS);
        return Err(ConfigError::UnknownKey {
            path: path.to_owned(),
            key: format!("limits.{key}"),
            hint,
        });
    }
    let layer: Layer = toml::from_str(text).map_err(parse_error)?;
    if let Some(key) = layer.limits.as_ref().and_then(Limits::nonsense) {
        let message = format!("limits.{key} is out of range; see docs/reference/configuration.md");
        return Err(ConfigError::Parse { path: path.to_owned(), message });
    }
    Ok(layer)
}

fn unknown_limit(table: &toml::Table) -> Option<&str> {
    let limits = table.get("limits")?.as_table()?;
    limits.keys().map(String::as_str).find(|key| !limits::KEYS.contains(key))
}

fn hint(key: &str, known: &[&str]) -> String {
    nearest(key, known).map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

fn from_environment() -> Result<Layer, ConfigError> {
    let variable = |name: &str| std::env::var_os(name);
    let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
    let seconds = |name: &str| text(name).map(|value| seconds(name, value)).transpose();
    let ids = |name: &str| text(name).map(|value| ids(name, &value)).transpose();
    let host_sessions = text("OUTCALL_HOST_SESSIONS").map(truth).transpose()?;
    Ok(Layer {
        agent_socket: variable("OUTCALL_AGENT_SOCKET_PATH").map(PathBuf::from),
        agent_socket_mode: text("OUTCALL_AGENT_SOCKET_MODE"),
        host_socket: variable("OUTCALL_HOST_SOCKET_PATH").map(PathBuf::from),
        host_socket_mode: text("OUTCALL_HOST_SOCKET_MODE"),
        log: variable("OUTCALL_LOG").map(PathBuf::from),
        state: variable("OUTCALL_STATE").map(PathBuf::from),
        rules: variable("OUTCALL_RULES").map(|paths| std::env::split_paths(&paths).collect()),
        profile: text("OUTCALL_PROFILE"),
        mode: text("OUTCALL_MODE"),
        drain_seconds: seconds("OUTCALL_DRAIN_SECONDS")?,
        operator_uids: ids("OUTCALL_OPERATOR_UIDS")?,
        operator_gids: ids("OUTCALL_OPERATOR_GIDS")?,
        ask_seconds: seconds("OUTCALL_ASK_SECONDS")?,
        host_sessions,
        docker_socket: variable("OUTCALL_DOCKER_SOCKET").map(PathBuf::from),
        ..Layer::default()
    })
}

fn truth(value: String) -> Result<bool, ConfigError> {
    value.parse().map_err(|_| ConfigError::Value {
        origin: "OUTCALL_HOST_SESSIONS".to_owned(),
        value,
        what: "truth value",
        hint: "use true or false",
    })
}

fn seconds(origin: &str, value: String) -> Result<u64, ConfigError> {
    value.parse().map_err(|_| ConfigError::Value {
        origin: origin.to_owned(),
        value,
        what: "number of seconds",
        hint: "use a whole number",
    })
}

/// Numbers with commas between them.
fn ids(origin: &str, value: &str) -> Result<Vec<u32>, ConfigError> {
    let words = value.split(',').map(str::trim).filter(|word| !word.is_empty());
    let number = |word: &str| {
        word.parse().map_err(|_| ConfigError::Value {
            origin: origin.to_owned(),
            value: word.to_owned(),
            what: "user or group id",
            hint: "use numbers with commas between them, as 1000,1001",
        })
    };
    words.map(number).collect()
}

/// The known name that is nearest to a mistyped one.
pub(crate) fn nearest<'n>(typed: &str, names: &[&'n str]) -> Option<&'n str> {
    names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(typed, name), *name))
        .filter(|(distance, name)| *distance <= name.len().max(3) / 2)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
#[path = "tests/config.rs"]
mod tests;
