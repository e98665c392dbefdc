//! What the entries of a profile mean together for one system call.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::{Action, Argument, Comparison, Entry, Profile};

const EPERM: u32 = 1;

/// An action with its number: what a filter returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) action: Action,
    pub(crate) data: u16,
}

/// All that a profile says about one call.
#[derive(Debug, Default)]
pub(crate) struct Meaning<'a> {
    /// From entries without arguments; more than one only while a profile is being linted.
    pub(crate) fallbacks: Vec<Outcome>,
    /// From entries with arguments, the strictest first.
    pub(crate) exceptions: Vec<Exception<'a>>,
}

/// One entry with arguments.
#[derive(Debug)]
pub(crate) struct Exception<'a> {
    pub(crate) args: &'a [Argument],
    pub(crate) outcome: Outcome,
}

impl Outcome {
    fn new(action: Action, errno: Option<u32>) -> Outcome {
        let number = match action {
            Action::Errno => errno.unwrap_or(EPERM),
            Action::Trace => errno.unwrap_or(0),
            _ => 0,
        };
        // Parsing bounds the number; a model built by hand saturates, which the kernel clamps.
        Outcome { action, data: u16::try_from(number).unwrap_or(u16::MAX) }
    }

    pub(crate) fn of_entry(entry: &Entry) -> Outcome {
        Outcome::new(entry.action, entry.errno_ret)
    }

    pub(crate) fn of_default(profile: &Profile) -> Outcome {
        Outcome::new(profile.default_action, profile.default_errno_ret)
    }

    /// The value a filter returns for this, as `linux/seccomp.h` numbers them.
    pub(crate) fn code(self) -> u32 {
        let base = match self.action {
            Action::KillProcess => 0x8000_0000,
            Action::KillThread => 0x0000_0000,
            Action::Trap => 0x0003_0000,
            Action::Errno => 0x0005_0000,
            Action::Notify => 0x7fc0_0000,
            Action::Trace => 0x7ff0_0000,
            Action::Log => 0x7ffc_0000,
            Action::Allow => 0x7fff_0000,
        };
        base | u32::from(self.data)
    }

    /// The reverse of [`Outcome::code`].
    pub(crate) fn from_code(code: u32) -> Option<Outcome> {
        let action = match code & 0xffff_0000 {
            0x8000_0000 => Action::KillProcess,
            0x0000_0000 => Action::KillThread,
            0x0003_0000 => Action::Trap,
            0x0005_0000 => Action::Errno,
            0x7fc0_0000 => Action::Notify,
            0x7ff0_0000 => Action::Trace,
            0x7ffc_0000 => Action::Log,
            0x7fff_0000 => Action::Allow,
            _ => return None,
        };
        Some(Outcome { action, data: (code & 0xffff) as u16 })
    }

    /// Whether the call goes through without anybody being asked.
    pub(crate) fn is_open(self) -> bool {
        matches!(self.action, Action::Allow | Action::Log | Action::Trace)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            Action::KillProcess => f.write_str("KILL_PROCESS"),
            Action::KillThread => f.write_str("KILL_THREAD"),
            Action::Trap => f.write_str("TRAP"),
            Action::Errno => write!(f, "ERRNO({})", self.data),
            Action::Notify => f.write_str("NOTIFY"),
            Action::Trace => write!(f, "TRACE({})", self.data),
            Action::Log => f.write_str("LOG"),
            Action::Allow => f.write_str("ALLOW"),
        }
    }
}

impl Meaning<'_> {
    /// The strictest fallback, so that a contradiction is never read as an allow.
    pub(crate) fn fallback(&self) -> Option<Outcome> {
        self.fallbacks.iter().copied().max_by_key(|outcome| outcome.action)
    }

    /// What happens to a call with these arguments.
    pub(crate) fn outcome(&self, args: &[u64; 6]) -> Option<Outcome> {
        let matched = self.exceptions.iter().find(|exception| exception.matches(args));
        matched.map(|exception| exception.outcome).or_else(|| self.fallback())
    }

    /// Whether any arguments at all reach the supervisor.
    pub(crate) fn notifies(&self) -> bool {
        let exceptions = self.exceptions.iter().map(|exception| exception.outcome);
        exceptions.chain(self.fallbacks.iter().copied()).any(|o| o.action == Action::Notify)
    }
}

impl Exception<'_> {
    fn matches(&self, args: &[u64; 6]) -> bool {
        self.args.iter().all(|argument| {
            let found = usize::try_from(argument.index).ok().and_then(|index| args.get(index));
            found.is_some_and(|found| holds(argument, *found))
        })
    }
}

fn holds(argument: &Argument, found: u64) -> bool {
    let value = argument.value;
    match argument.op {
        Comparison::NotEqual => found != value,
        Comparison::Less => found < value,
        Comparison::LessOrEqual => found <= value,
        Comparison::Equal => found == value,
        Comparison::GreaterOrEqual => found >= value,
        Comparison::Greater => found > value,
        Comparison::MaskedEqual => found & value == argument.value_two,
    }
}

/// Gathers every entry under the names of its calls.
pub(crate) fn meanings(profile: &Profile) -> BTreeMap<&str, Meaning<'_>> {
    let mut calls: BTreeMap<&str, Meaning<'_>> = BTreeMap::new();
    for entry in &profile.syscalls {
        let outcome = Outcome::of_entry(entry);
        for name in &entry.names {
            let meaning = calls.entry(name).or_default();
            if entry.args.is_empty() {
                meaning.fallbacks.push(outcome);
            } else {
                meaning.exceptions.push(Exception { args: &entry.args, outcome });
            }
        }
    }
    for meaning in calls.values_mut() {
        // Stable, so that the file's order decides among equals.
        meaning.exceptions.sort_by_key(|exception| std::cmp::Reverse(exception.outcome.action));
    }
    calls
}
