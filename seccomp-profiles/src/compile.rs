//! From a profile to one BPF program.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Once;

use libseccomp::error::SeccompError;
use libseccomp::{ScmpAction, ScmpFilterContext, ScmpSyscall, set_api};
use sha2::{Digest, Sha256};

use crate::bpf::{self, Instruction, MAX_INSTRUCTIONS};
use crate::error::CompileError;
use crate::meaning::{Meaning, Outcome, meanings};
use crate::model::{Action, Profile};
use crate::{prologue, syscalls};

/// The machine that compiles: its OCI name and its audit number.
#[cfg(target_arch = "x86_64")]
const NATIVE: Option<(&str, u32)> = Some(("SCMP_ARCH_X86_64", 0xc000_003e));
#[cfg(target_arch = "aarch64")]
const NATIVE: Option<(&str, u32)> = Some(("SCMP_ARCH_AARCH64", 0xc000_00b7));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const NATIVE: Option<(&str, u32)> = None;

/// The libseccomp level that has SCMP_ACT_NOTIFY.
const API_WITH_NOTIFY: u32 = 5;

/// A compiled filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    program: Vec<u8>,
    digest: String,
}

impl Filter {
    fn new(program: Vec<u8>) -> Filter {
        let hash = Sha256::digest(&program);
        let digest = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Filter { program, digest }
    }

    /// The program: an array of `struct sock_filter`, 8 bytes each, in native byte order.
    #[must_use]
    pub fn program(&self) -> &[u8] {
        &self.program
    }

    /// How many instructions the program has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.program.len() / 8
    }

    /// Whether the program has no instructions, which no compiled filter has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.program.is_empty()
    }

    /// The SHA-256 of the program, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The program for a person to read: numbered, with the names of calls and actions.
    #[must_use]
    pub fn disassemble(&self) -> String {
        let code: Vec<Instruction> = bpf::instructions(&self.program).collect();
        crate::render::disassemble(&code)
    }
}

/// Compiles a profile for this machine; any other architecture, and x32, is killed.
///
/// # Errors
/// When the profile names unknown calls, contradicts itself, or is for other machines.
pub fn compile(profile: &Profile) -> Result<Filter, CompileError> {
    let (_, architecture) = native(profile)?;
    let calls = numbered(profile)?;
    let excepted: Vec<(u32, &str, &Meaning<'_>)> = calls
        .iter()
        .filter(|(_, (_, meaning))| !meaning.exceptions.is_empty())
        .map(|(number, (name, meaning))| (*number, *name, meaning))
        .collect();
    let prologue = prologue::assemble(architecture, &excepted)?;
    let context = context(profile, &calls)?;
    let rest = exported(|fd| context.export_bpf(fd))?;
    let mut program: Vec<u8> = prologue.into_iter().flat_map(Instruction::to_bytes).collect();
    program.extend(rest);
    let filter = Filter::new(program);
    if filter.len() > MAX_INSTRUCTIONS {
        return Err(CompileError::TooLong(filter.len()));
    }
    Ok(filter)
}

/// A profile's calls by number; those of other machines are left out.
type Calls<'a> = BTreeMap<u32, (&'a str, Meaning<'a>)>;

/// Looks up every call and refuses contradictions.
pub(crate) fn numbered(profile: &Profile) -> Result<Calls<'_>, CompileError> {
    let mut calls = BTreeMap::new();
    for (name, meaning) in meanings(profile) {
        let mut others = meaning.fallbacks.iter();
        if let Some(first) = others.next()
            && let Some(second) = others.find(|other| *other != first)
        {
            let (first, second) = (first.to_string(), second.to_string());
            return Err(CompileError::Conflict { name: name.to_owned(), first, second });
        }
        if let Some(number) = syscalls::number(name)? {
            calls.insert(number, (name, meaning));
        }
    }
    Ok(calls)
}

/// libseccomp's own part of a profile: everything but the exceptions.
pub(crate) fn context(
    profile: &Profile,
    calls: &Calls<'_>,
) -> Result<ScmpFilterContext, CompileError> {
    static LEVEL: Once = Once::new();
    // libseccomp asks the running kernel what it may emit; a filter is often compiled elsewhere
    // than it runs. An older library refuses the level, and then the first NOTIFY rule says so.
    LEVEL.call_once(|| drop(set_api(API_WITH_NOTIFY)));

    let default = Outcome::of_default(profile);
    let setup = |step: &str| step_failed(step.to_owned());
    let mut context = ScmpFilterContext::new(scmp(default)).map_err(setup("start a filter"))?;
    context.set_act_badarch(ScmpAction::KillProcess).map_err(setup("kill other machines"))?;
    context.set_ctl_nnp(false).map_err(setup("leave no_new_privs to the installer"))?;
    context.set_ctl_optimize(2).map_err(setup("sort the filter as a tree"))?;
    for (number, (name, meaning)) in calls {
        // libseccomp refuses rules that repeat the default.
        let Some(outcome) = meaning.fallback().filter(|outcome| *outcome != default) else {
            continue;
        };
        let call = ScmpSyscall::from_raw_syscall(number.cast_signed());
        context
            .add_rule_exact(scmp(outcome), call)
            .map_err(step_failed(format!("add {outcome} for `{name}`")))?;
    }
    Ok(context)
}

/// What libseccomp writes into a file, without a file.
pub(crate) fn exported(
    export: impl FnOnce(BorrowedFd<'_>) -> Result<(), SeccompError>,
) -> Result<Vec<u8>, CompileError> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let memory = rustix::fs::memfd_create("seccomp-filter", flags)
        .map_err(|errno| CompileError::Memory(errno.into()))?;
    let mut file = File::from(memory);
    export(file.as_fd()).map_err(step_failed("export the filter".to_owned()))?;
    file.rewind().map_err(CompileError::Memory)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(CompileError::Memory)?;
    Ok(bytes)
}

/// This machine, if the profile is for it.
fn native(profile: &Profile) -> Result<(&'static str, u32), CompileError> {
    let (native, number) = NATIVE.ok_or(CompileError::UnsupportedMachine)?;
    let listed = &profile.architectures;
    if listed.is_empty() || listed.iter().any(|name| name == native) {
        return Ok((native, number));
    }
    Err(CompileError::Architecture { listed: listed.join(", "), native })
}

/// Whether this name of an architecture is the machine that compiles.
pub(crate) fn is_native(architecture: &str) -> bool {
    NATIVE.is_some_and(|(native, _)| native == architecture)
}

fn step_failed(step: String) -> impl FnOnce(SeccompError) -> CompileError {
    move |source| CompileError::Libseccomp { step, source }
}

fn scmp(outcome: Outcome) -> ScmpAction {
    match outcome.action {
        Action::Allow => ScmpAction::Allow,
        Action::Log => ScmpAction::Log,
        Action::Trace => ScmpAction::Trace(outcome.data),
        Action::Notify => ScmpAction::Notify,
        Action::Errno => ScmpAction::Errno(i32::from(outcome.data)),
        Action::Trap => ScmpAction::Trap,
        Action::KillThread => ScmpAction::KillThread,
        Action::KillProcess => ScmpAction::KillProcess,
    }
}
