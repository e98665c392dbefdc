//! Names and numbers of system calls, beyond what the installed libseccomp knows.

use libseccomp::ScmpSyscall;

use crate::error::{CompileError, nearest};

/// Since 424 every architecture gives a new call the same number, so one table serves all.
const NEWER: &[(&str, i32)] = &[
    ("process_madvise", 440),
    ("epoll_pwait2", 441),
    ("mount_setattr", 442),
    ("quotactl_fd", 443),
    ("landlock_create_ruleset", 444),
    ("landlock_add_rule", 445),
    ("landlock_restrict_self", 446),
    ("memfd_secret", 447),
    ("process_mrelease", 448),
    ("futex_waitv", 449),
    ("set_mempolicy_home_node", 450),
    ("cachestat", 451),
    ("fchmodat2", 452),
    ("map_shadow_stack", 453),
    ("futex_wake", 454),
    ("futex_wait", 455),
    ("futex_requeue", 456),
    ("statmount", 457),
    ("listmount", 458),
    ("lsm_get_self_attr", 459),
    ("lsm_set_self_attr", 460),
    ("lsm_list_modules", 461),
    ("mseal", 462),
    ("setxattrat", 463),
    ("getxattrat", 464),
    ("listxattrat", 465),
    ("removexattrat", 466),
    ("open_tree_attr", 467),
    ("file_getattr", 468),
    ("file_setattr", 469),
];

/// The kernel enters these for its own probes; they exist on x86_64 only.
const X86_64: &[(&str, i32)] = &[("uretprobe", 335), ("uprobe", 336)];

/// Beyond the newest number either table has.
const END: i32 = 512;

/// The number of a call on this machine; `None` when the call exists on other machines only.
pub(crate) fn number(name: &str) -> Result<Option<u32>, CompileError> {
    if let Some((_, number)) = NEWER.iter().find(|(known, _)| *known == name) {
        return Ok(u32::try_from(*number).ok());
    }
    if let Some((_, number)) = X86_64.iter().find(|(known, _)| *known == name) {
        return Ok(u32::try_from(*number).ok().filter(|_| cfg!(target_arch = "x86_64")));
    }
    match ScmpSyscall::from_name(name) {
        // libseccomp gives calls of other machines negative numbers below its error value.
        Ok(call) if !call.is_error() => Ok(u32::try_from(call.as_raw_syscall()).ok()),
        _ => Err(CompileError::UnknownSyscall { name: name.to_owned(), nearest: likely(name) }),
    }
}

/// The name of a number on this machine.
pub(crate) fn name(number: u32) -> Option<String> {
    let raw = i32::try_from(number).ok()?;
    let native: &[(&str, i32)] = if cfg!(target_arch = "x86_64") { X86_64 } else { &[] };
    let mut own = NEWER.iter().chain(native);
    match own.find(|(_, known)| *known == raw) {
        Some((name, _)) => Some((*name).to_owned()),
        None => ScmpSyscall::from_raw_syscall(raw).get_name().ok(),
    }
}

fn likely(word: &str) -> String {
    let known: Vec<String> = (0..END).filter_map(|number| name(number.cast_unsigned())).collect();
    nearest(word, known.iter().map(String::as_str)).to_owned()
}
