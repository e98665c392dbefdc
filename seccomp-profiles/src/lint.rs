//! What is unwise about a profile that compiles, or would.

use std::collections::{BTreeMap, BTreeSet};

use crate::compile::is_native;
use crate::doors;
use crate::meaning::{Meaning, Outcome, meanings};
use crate::model::{Action, Argument, Comparison, Entry, Profile};
use crate::syscalls;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The profile does not do what it promises.
    Error,
    /// The profile works, with a cost or a condition.
    Warning,
}

/// One thing to reconsider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

/// Calls that do the same thing: asking about one and allowing another asks about nothing.
const FAMILIES: &[(&str, &[&str])] = &[
    ("exec", &["execve", "execveat"]),
    ("open", &["open", "openat", "openat2", "creat"]),
    ("connect", &["connect", "sendto", "sendmsg", "sendmmsg"]),
    ("rename", &["rename", "renameat", "renameat2"]),
    ("link", &["link", "linkat"]),
    ("symlink", &["symlink", "symlinkat"]),
    ("unlink", &["unlink", "unlinkat", "rmdir"]),
    ("mkdir", &["mkdir", "mkdirat"]),
    ("mknod", &["mknod", "mknodat"]),
    ("chmod", &["chmod", "fchmodat", "fchmodat2"]),
    ("chown", &["chown", "lchown", "fchownat"]),
    ("setxattr", &["setxattr", "lsetxattr", "setxattrat"]),
    ("removexattr", &["removexattr", "lremovexattr", "removexattrat"]),
    ("utime", &["utime", "utimes", "futimesat", "utimensat"]),
];

/// Calls a runtime needs between installing the filter and handing its listener over.
const HANDOVER: &[(&str, Severity, &str)] = &[
    ("write", Severity::Error, "runc refuses such a profile, crun hangs on it"),
    ("fcntl", Severity::Error, "runc hangs on it before it hands the listener over"),
    ("close", Severity::Error, "runc and crun hang on it before they hand the listener over"),
    ("sendmsg", Severity::Warning, "crun hands the listener over with it, and hangs"),
];

/// Everything to reconsider about a profile, errors first.
#[must_use]
pub fn lint(profile: &Profile) -> Vec<Finding> {
    let calls = meanings(profile);
    let mut findings = Vec::new();
    handover(&calls, &mut findings);
    families(profile, &calls, &mut findings);
    side_doors(profile, &calls, &mut findings);
    repeated(profile, &mut findings);
    names(&calls, &mut findings);
    comments(profile, &mut findings);
    architectures(profile, &mut findings);
    findings.sort_by_key(|finding| finding.severity);
    findings
}

type Calls<'a> = BTreeMap<&'a str, Meaning<'a>>;

fn finding(severity: Severity, message: String, fix: impl Into<String>) -> Finding {
    Finding { severity, message, fix: fix.into() }
}

fn outcome(profile: &Profile, calls: &Calls<'_>, name: &str, args: &[u64; 6]) -> Outcome {
    let said = calls.get(name).and_then(|meaning| meaning.outcome(args));
    said.unwrap_or_else(|| Outcome::of_default(profile))
}

fn handover(calls: &Calls<'_>, findings: &mut Vec<Finding>) {
    for (name, severity, why) in HANDOVER {
        if calls.get(name).is_some_and(Meaning::notifies) {
            let fix = match severity {
                Severity::Error => format!("allow `{name}` plainly"),
                Severity::Warning => format!(
                    "attach by the shim or by runc, or allow `{name}` in the profile crun gets"
                ),
            };
            findings.push(finding(*severity, format!("`{name}` is notified: {why}"), fix));
        }
    }
}

fn families(profile: &Profile, calls: &Calls<'_>, findings: &mut Vec<Finding>) {
    let asks = |name: &str| {
        let by_default = profile.default_action == Action::Notify && !calls.contains_key(name);
        by_default || calls.get(name).is_some_and(Meaning::notifies)
    };
    for (family, members) in FAMILIES {
        let Some(asked) = members.iter().find(|name| asks(name)) else { continue };
        for member in members.iter().filter(|name| !asks(name)) {
            // A member that fails is no way around; only one that goes through is.
            if outcome(profile, calls, member, &[0; 6]).is_open() {
                let message =
                    format!("`{asked}` is notified and `{member}`, which can do the same, is not");
                let fix = format!("notify `{member}` with the {family} family, or refuse it");
                findings.push(finding(Severity::Error, message, fix));
            }
        }
    }
}

fn side_doors(profile: &Profile, calls: &Calls<'_>, findings: &mut Vec<Finding>) {
    for door in doors::all() {
        let call = described(door.call, door.args);
        let results: Vec<Outcome> =
            door.attempts().iter().map(|args| outcome(profile, calls, door.call, args)).collect();
        let fix = format!("refuse `{call}` with SCMP_ACT_ERRNO");
        match results.iter().position(|result| result.is_open()) {
            Some(0) => {
                let message = format!("side door `{call}` is open: it {}", door.what);
                findings.push(finding(Severity::Error, message, fix));
            }
            Some(_) => {
                let message = format!(
                    "side door `{call}` is open to arguments with upper bits set, which the \
                     kernel ignores: it {}",
                    door.what
                );
                let fix = format!("{fix} and SCMP_CMP_MASKED_EQ under the mask 4294967295");
                findings.push(finding(Severity::Error, message, fix));
            }
            None if results.iter().any(|result| result.action == Action::Notify) => {
                let message = format!("side door `{call}` is left to the supervisor");
                findings.push(finding(Severity::Warning, message, fix));
            }
            None => {}
        }
    }
}

fn described(call: &str, args: &[(usize, u64)]) -> String {
    if args.is_empty() {
        return call.to_owned();
    }
    let args: Vec<String> = args.iter().map(|(at, value)| format!("arg{at}={value:#x}")).collect();
    format!("{call}({})", args.join(", "))
}

/// Finds entries that decide the same call under the same conditions.
fn repeated(profile: &Profile, findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<(&str, Vec<Condition>), &Entry> = BTreeMap::new();
    for entry in &profile.syscalls {
        for name in &entry.names {
            let key = (name.as_str(), conditions(&entry.args));
            let Some(earlier) = seen.insert(key, entry) else { continue };
            let (first, second) = (Outcome::of_entry(earlier), Outcome::of_entry(entry));
            let actions = [first.action, second.action];
            let under = if entry.args.is_empty() { "" } else { " under the same arguments" };
            let fix = format!("remove `{name}` from one of the two entries");
            findings.push(if first == second {
                let message = format!("`{name}` is listed twice with {first}{under}");
                finding(Severity::Warning, message, fix)
            } else if actions.contains(&Action::Notify) && actions.contains(&Action::Allow) {
                let message = format!("`{name}` is both notified and allowed{under}");
                finding(Severity::Error, message, fix)
            } else {
                let message = format!("`{name}` is both {first} and {second}{under}");
                finding(Severity::Error, message, fix)
            });
        }
    }
}

type Condition = (u32, &'static str, u64, u64);

fn conditions(args: &[Argument]) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = args.iter().map(condition).collect();
    conditions.sort_unstable();
    conditions
}

fn condition(argument: &Argument) -> Condition {
    let Argument { index, value, value_two, op } = *argument;
    match op {
        // Equality is a mask that keeps every bit; both spellings are one condition.
        Comparison::Equal => (index, Comparison::MaskedEqual.sign(), u64::MAX, value),
        Comparison::MaskedEqual => (index, op.sign(), value, value_two),
        _ => (index, op.sign(), value, 0),
    }
}

fn names(calls: &Calls<'_>, findings: &mut Vec<Finding>) {
    let unknown: BTreeSet<String> = calls
        .keys()
        .filter_map(|name| syscalls::number(name).err())
        .map(|error| error.to_string())
        .collect();
    let fix = "correct the name or remove it; the profile does not compile with it";
    findings.extend(unknown.into_iter().map(|message| finding(Severity::Error, message, fix)));
}

fn comments(profile: &Profile, findings: &mut Vec<Finding>) {
    let bare = profile.syscalls.iter().filter(|entry| entry.comment.trim().is_empty());
    for entry in bare {
        let first = entry.names.first().map_or("nothing", String::as_str);
        let message = format!("the entry that begins with `{first}` has no comment");
        findings.push(finding(Severity::Warning, message, "say why in its `comment`"));
    }
}

fn architectures(profile: &Profile, findings: &mut Vec<Finding>) {
    for other in profile.architectures.iter().filter(|name| !is_native(name)) {
        let message = format!("{other} is listed, and is killed on this machine all the same");
        let fix = "remove it; only the machine's own architecture is supervised";
        findings.push(finding(Severity::Warning, message, fix));
    }
}
