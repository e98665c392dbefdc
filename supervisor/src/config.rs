//! Configuration of the daemon: flags over environment over file over defaults.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::attach::session::Mode;

pub(crate) mod limits;

use limits::Limits;

/// Where the file is looked for when nobody says.
const DEFAULT_FILE: &str = "/etc/outcall/outcalld.toml";

/// Every key of the file.
const KEYS: &[&str] = &[
    "agent_socket",
    "agent_socket_mode",
    "host_socket",
    "host_socket_mode",
    "log",
    "rules",
    "profile",
    "mode",
    "drain_seconds",
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
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Layer {
    pub(crate) agent_socket: Option<PathBuf>,
    pub(crate) agent_socket_mode: Option<String>,
    pub(crate) host_socket: Option<PathBuf>,
    pub(crate) host_socket_mode: Option<String>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) rules: Option<Vec<PathBuf>>,
    pub(crate) profile: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) drain_seconds: Option<u64>,
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
    pub(crate) rules: Vec<PathBuf>,
    pub(crate) profile: String,
    pub(crate) mode: Mode,
    pub(crate) drain_seconds: u64,
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
        let file = match file {
            Some(path) => read_file(path)?,
            None if Path::new(DEFAULT_FILE).exists() => read_file(Path::new(DEFAULT_FILE))?,
            None => Layer::default(),
        };
        let environment = from_environment()?;
        let merged = flags.or(environment).or(file);
        merged.into_config()
    }
}

impl Layer {
    fn or(self, lower: Self) -> Self {
        Self {
            agent_socket: self.agent_socket.or(lower.agent_socket),
            agent_socket_mode: self.agent_socket_mode.or(lower.agent_socket_mode),
            host_socket: self.host_socket.or(lower.host_socket),
            host_socket_mode: self.host_socket_mode.or(lower.host_socket_mode),
            log: self.log.or(lower.log),
            rules: self.rules.or(lower.rules),
            profile: self.profile.or(lower.profile),
            mode: self.mode.or(lower.mode),
            drain_seconds: self.drain_seconds.or(lower.drain_seconds),
            host_sessions: self.host_sessions.or(lower.host_sessions),
            docker_socket: self.docker_socket.or(lower.docker_socket),
            attached: self.attached.or(lower.attached),
            oci_state: self.oci_state.or(lower.oci_state),
            limits: self.limits.or(lower.limits),
        }
    }

    pub(crate) fn into_config(self) -> Result<Config, ConfigError> {
        Ok(Config {
            agent_socket: self.agent_socket.unwrap_or_else(|| "/run/outcall/agent.sock".into()),
            agent_socket_mode: file_mode("agent_socket_mode", self.agent_socket_mode, "0666")?,
            host_socket: self.host_socket.unwrap_or_else(|| HOST_SOCKET.into()),
            host_socket_mode: file_mode("host_socket_mode", self.host_socket_mode, "0600")?,
            log: self.log.unwrap_or_else(|| "/var/log/outcall".into()),
            rules: self.rules.unwrap_or_default(),
            profile: self.profile.unwrap_or_else(|| "default".to_owned()),
            mode: parse_mode("mode", self.mode.as_deref().unwrap_or("enforce"))?,
            drain_seconds: self.drain_seconds.unwrap_or(5),
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
    let drain_seconds = text("OUTCALL_DRAIN_SECONDS")
        .map(|value| {
            value.parse().map_err(|_| ConfigError::Value {
                origin: "OUTCALL_DRAIN_SECONDS".to_owned(),
                value: value.clone(),
                what: "number of seconds",
                hint: "use a whole number",
            })
        })
        .transpose()?;
    let host_sessions = text("OUTCALL_HOST_SESSIONS").map(truth).transpose()?;
    Ok(Layer {
        agent_socket: variable("OUTCALL_AGENT_SOCKET_PATH").map(PathBuf::from),
        agent_socket_mode: text("OUTCALL_AGENT_SOCKET_MODE"),
        host_socket: variable("OUTCALL_HOST_SOCKET_PATH").map(PathBuf::from),
        host_socket_mode: text("OUTCALL_HOST_SOCKET_MODE"),
        log: variable("OUTCALL_LOG").map(PathBuf::from),
        rules: variable("OUTCALL_RULES").map(|paths| std::env::split_paths(&paths).collect()),
        profile: text("OUTCALL_PROFILE"),
        mode: text("OUTCALL_MODE"),
        drain_seconds,
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
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_names_the_nearest_one() {
        let error = parse(Path::new("o.toml"), "agent_sokcet = '/x'").unwrap_err();
        let expected = "o.toml: unknown key 'agent_sokcet'; did you mean 'agent_socket'?";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn flags_win_over_the_file() {
        let file = parse(Path::new("o.toml"), "mode = 'observe'\nlog = '/file'").unwrap();
        let flags = Layer { log: Some("/flag".into()), ..Layer::default() };
        let config = flags.or(file).into_config().unwrap();
        assert_eq!((config.log, config.mode), ("/flag".into(), Mode::Observe));
    }

    #[test]
    fn limits_have_defaults_and_nearest_names() {
        let text = "host_sessions = true\n[limits]\nchecks = 7\n";
        let config = parse(Path::new("o.toml"), text).unwrap().into_config().unwrap();
        assert!(config.host_sessions);
        assert_eq!(config.limits, Limits { checks: 7, ..Limits::default() });
        assert_eq!((Limits::default().checks, Limits::default().body_bytes), (100, 65_536));
        let error = |text: &str| parse(Path::new("o.toml"), text).unwrap_err().to_string();
        let near = "o.toml: unknown key 'limits.check_secs'; did you mean 'check_seconds'?";
        assert_eq!(error("[limits]\ncheck_secs = 1"), near);
        assert!(error("[limits]\nlookups = 0").contains("limits.lookups is out of range"));
    }

    #[test]
    fn a_mode_must_be_octal() {
        let layer = Layer { agent_socket_mode: Some("rw".into()), ..Layer::default() };
        assert!(layer.into_config().unwrap_err().to_string().contains("octal"));
    }
}
