//! The profile as its JSON says it.

use serde::{Deserialize, Serialize};

use crate::error::ProfileError;
use crate::vocabulary;

const BUILTIN: [(&str, &str); 2] = [
    ("observe", include_str!("../profiles/observe.json")),
    ("default", include_str!("../profiles/default.json")),
];

/// A seccomp profile in the OCI/Docker JSON format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// What the profile is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// What happens to a call that no entry decides.
    pub default_action: Action,
    /// The errno of `default_action`; EPERM when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_errno_ret: Option<u32>,
    /// The machines the profile is for; none means the one that compiles it. Any other is killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub architectures: Vec<String>,
    /// Flags for whoever installs the filter; they do not change the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The entries; the crate's documentation says how several for one call combine.
    #[serde(default)]
    pub syscalls: Vec<Entry>,
}

/// One group of system calls and what becomes of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Why the group is treated so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// The system calls by name.
    pub names: Vec<String>,
    /// What happens to them.
    pub action: Action,
    /// The errno of `action`; EPERM when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno_ret: Option<u32>,
    /// Conditions that must all hold; none makes the entry the fallback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Argument>,
}

/// A condition on one argument register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Argument {
    /// Which argument, from 0 to 5.
    pub index: u32,
    /// What to compare with; for a masked comparison the mask.
    pub value: u64,
    /// For a masked comparison, what must remain under the mask.
    #[serde(default)]
    pub value_two: u64,
    /// How to compare.
    pub op: Comparison,
}

/// What the kernel does with a call, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Action {
    /// Let it through.
    #[serde(rename = "SCMP_ACT_ALLOW")]
    Allow,
    /// Let it through and log it.
    #[serde(rename = "SCMP_ACT_LOG")]
    Log,
    /// Ask a tracer.
    #[serde(rename = "SCMP_ACT_TRACE")]
    Trace,
    /// Ask the supervisor.
    #[serde(rename = "SCMP_ACT_NOTIFY")]
    Notify,
    /// Fail it with an errno.
    #[serde(rename = "SCMP_ACT_ERRNO")]
    Errno,
    /// Send SIGSYS.
    #[serde(rename = "SCMP_ACT_TRAP")]
    Trap,
    /// Kill the thread.
    #[serde(rename = "SCMP_ACT_KILL_THREAD", alias = "SCMP_ACT_KILL")]
    KillThread,
    /// Kill the process.
    #[serde(rename = "SCMP_ACT_KILL_PROCESS")]
    KillProcess,
}

/// How an argument is compared; always as an unsigned 64-bit number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// Not equal.
    #[serde(rename = "SCMP_CMP_NE")]
    NotEqual,
    /// Less than.
    #[serde(rename = "SCMP_CMP_LT")]
    Less,
    /// Less than or equal.
    #[serde(rename = "SCMP_CMP_LE")]
    LessOrEqual,
    /// Equal.
    #[serde(rename = "SCMP_CMP_EQ")]
    Equal,
    /// Greater than or equal.
    #[serde(rename = "SCMP_CMP_GE")]
    GreaterOrEqual,
    /// Greater than.
    #[serde(rename = "SCMP_CMP_GT")]
    Greater,
    /// Equal after a mask.
    #[serde(rename = "SCMP_CMP_MASKED_EQ")]
    MaskedEqual,
}

impl Comparison {
    /// The operator as a person writes it; a masked comparison is written around its mask.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Equal => "==",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Greater => ">",
            Comparison::MaskedEqual => "&",
        }
    }
}

impl Profile {
    /// Reads a profile from its JSON text.
    ///
    /// # Errors
    /// When the text is not JSON, or has keys or words that no profile has.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let value = serde_json::from_str(text).map_err(ProfileError::Syntax)?;
        vocabulary::check(&value)?;
        // Parsed again from the text, so that a type error names its line and column.
        let profile: Profile = serde_json::from_str(text).map_err(ProfileError::Syntax)?;
        vocabulary::check_values(&profile)?;
        Ok(profile)
    }

    /// The built-in profile of that name.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Profile> {
        // A test parses every built-in text, so `ok` hides nothing.
        Self::builtin_text(name).and_then(|text| Self::parse(text).ok())
    }

    /// The names of the built-in profiles, the mildest first.
    #[must_use]
    pub fn builtin_names() -> &'static [&'static str] {
        &["observe", "default"]
    }

    /// The JSON text of the built-in profile of that name.
    #[must_use]
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// What the profile says it is for: its top-level `comment`.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.comment
    }

    /// The calls that reach the supervisor with at least some arguments, sorted.
    #[must_use]
    pub fn notified(&self) -> Vec<String> {
        let asked = self.syscalls.iter().filter(|entry| entry.action == Action::Notify);
        let mut names: Vec<String> = asked.flat_map(|entry| entry.names.iter().cloned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
