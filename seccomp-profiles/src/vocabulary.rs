//! The words a profile may use; serde alone would refuse the others without naming the right one.

use serde_json::{Map, Value};

use crate::error::{ProfileError, nearest};
use crate::model::{Action, Profile};

const TOP: &[&str] =
    &["comment", "defaultAction", "defaultErrnoRet", "architectures", "flags", "syscalls"];
const ENTRY: &[&str] = &["comment", "names", "action", "errnoRet", "args"];
const ARGUMENT: &[&str] = &["index", "value", "valueTwo", "op"];
const ACTIONS: &[&str] = &[
    "SCMP_ACT_ALLOW",
    "SCMP_ACT_ERRNO",
    "SCMP_ACT_NOTIFY",
    "SCMP_ACT_LOG",
    "SCMP_ACT_TRACE",
    "SCMP_ACT_TRAP",
    "SCMP_ACT_KILL",
    "SCMP_ACT_KILL_THREAD",
    "SCMP_ACT_KILL_PROCESS",
];
const OPERATORS: &[&str] = &[
    "SCMP_CMP_EQ",
    "SCMP_CMP_NE",
    "SCMP_CMP_LT",
    "SCMP_CMP_LE",
    "SCMP_CMP_GE",
    "SCMP_CMP_GT",
    "SCMP_CMP_MASKED_EQ",
];
const FLAGS: &[&str] = &[
    "SECCOMP_FILTER_FLAG_TSYNC",
    "SECCOMP_FILTER_FLAG_LOG",
    "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
    "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
];
const ARCHITECTURES: &[&str] = &[
    "SCMP_ARCH_X86_64",
    "SCMP_ARCH_X86",
    "SCMP_ARCH_X32",
    "SCMP_ARCH_AARCH64",
    "SCMP_ARCH_ARM",
    "SCMP_ARCH_MIPS",
    "SCMP_ARCH_MIPS64",
    "SCMP_ARCH_MIPS64N32",
    "SCMP_ARCH_MIPSEL",
    "SCMP_ARCH_MIPSEL64",
    "SCMP_ARCH_MIPSEL64N32",
    "SCMP_ARCH_PPC",
    "SCMP_ARCH_PPC64",
    "SCMP_ARCH_PPC64LE",
    "SCMP_ARCH_S390",
    "SCMP_ARCH_S390X",
    "SCMP_ARCH_PARISC",
    "SCMP_ARCH_PARISC64",
    "SCMP_ARCH_RISCV64",
];
const FOREIGN: &[(&str, &str)] = &[
    ("archMap", "list `architectures`"),
    ("includes", "keep only the entries that apply"),
    ("excludes", "keep only the entries that apply"),
    ("listenerPath", "the daemon hands the listener over itself: remove it"),
    ("listenerMetadata", "the daemon hands the listener over itself: remove it"),
];

/// Refuses keys and words that no profile has, each with the nearest right one.
pub(crate) fn check(profile: &Value) -> Result<(), ProfileError> {
    // Wrong types are left to serde, which knows line and column.
    let Some(top) = profile.as_object() else { return Ok(()) };
    keys("the profile", top, TOP)?;
    word("the profile", top.get("defaultAction"), "action", ACTIONS)?;
    for architecture in items(top, "architectures") {
        word("architectures", Some(architecture), "architecture", ARCHITECTURES)?;
    }
    for flag in items(top, "flags") {
        word("flags", Some(flag), "filter flag", FLAGS)?;
    }
    for (number, value) in items(top, "syscalls").iter().enumerate() {
        let Some(entry) = value.as_object() else { continue };
        let first = items(entry, "names").first().and_then(Value::as_str);
        let place = place(number, first);
        keys(&place, entry, ENTRY)?;
        word(&place, entry.get("action"), "action", ACTIONS)?;
        for argument in items(entry, "args").iter().filter_map(Value::as_object) {
            keys(&place, argument, ARGUMENT)?;
            word(&place, argument.get("op"), "operator", OPERATORS)?;
        }
    }
    Ok(())
}

/// Refuses values that have the right type and still make no sense.
pub(crate) fn check_values(profile: &Profile) -> Result<(), ProfileError> {
    errno("the profile", profile.default_action, profile.default_errno_ret)?;
    for (number, entry) in profile.syscalls.iter().enumerate() {
        let place = place(number, entry.names.first().map(String::as_str));
        if entry.names.is_empty() {
            return Err(ProfileError::NoNames { place });
        }
        errno(&place, entry.action, entry.errno_ret)?;
    }
    Ok(())
}

fn errno(place: &str, action: Action, errno: Option<u32>) -> Result<(), ProfileError> {
    match (action, errno) {
        (_, None) | (Action::Errno, Some(0..=4095)) | (Action::Trace, Some(0..=0xffff)) => Ok(()),
        (_, Some(errno)) => Err(ProfileError::Errno { place: place.to_owned(), errno }),
    }
}

fn place(number: usize, first: Option<&str>) -> String {
    match first {
        Some(name) => format!("syscalls[{number}] ({name})"),
        None => format!("syscalls[{number}]"),
    }
}

fn items<'a>(object: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn keys(
    place: &str,
    object: &Map<String, Value>,
    known: &'static [&'static str],
) -> Result<(), ProfileError> {
    let Some(key) = object.keys().find(|key| !known.contains(&key.as_str())) else {
        return Ok(());
    };
    let (place, key) = (place.to_owned(), key.clone());
    Err(match FOREIGN.iter().find(|(foreign, _)| *foreign == key) {
        Some((_, remedy)) => ProfileError::ForeignKey { place, key, remedy },
        None => {
            let nearest = nearest(&key, known.iter().copied());
            ProfileError::UnknownKey { place, key, nearest }
        }
    })
}

fn word(
    place: &str,
    value: Option<&Value>,
    kind: &'static str,
    known: &'static [&'static str],
) -> Result<(), ProfileError> {
    match value.and_then(Value::as_str) {
        Some(word) if !known.contains(&word) => Err(ProfileError::UnknownWord {
            place: place.to_owned(),
            word: word.to_owned(),
            kind,
            nearest: nearest(word, known.iter().copied()),
        }),
        _ => Ok(()),
    }
}
