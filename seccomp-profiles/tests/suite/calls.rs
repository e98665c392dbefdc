//! What the tests say about calls.

use std::sync::LazyLock;

use libseccomp::ScmpSyscall;
use seccomp_profiles::{Filter, Profile, compile};

use crate::interpreter::{X86_64, run};

/// What a program should answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Allow,
    Notify,
    Errno(u32),
    Kill,
}

pub(crate) const EPERM: Want = Want::Errno(1);
pub(crate) const ENOSYS: Want = Want::Errno(38);
pub(crate) const EPROTONOSUPPORT: Want = Want::Errno(93);
pub(crate) const EAFNOSUPPORT: Want = Want::Errno(97);

/// Bits that the kernel ignores in an `int`, and a filter therefore must too.
pub(crate) const GARBAGE: u64 = 0xdead_beef_0000_0000;

static FILTERS: LazyLock<Vec<(&'static str, Filter)>> = LazyLock::new(|| {
    let names = Profile::builtin_names().iter();
    names.map(|name| (*name, compile(&Profile::builtin(name).unwrap()).unwrap())).collect()
});

pub(crate) fn filters() -> &'static [(&'static str, Filter)] {
    &FILTERS
}

pub(crate) fn filter(name: &str) -> &'static Filter {
    &FILTERS.iter().find(|(known, _)| *known == name).expect("a built-in profile").1
}

/// Numbers written out once more, so that a slip in the crate's own table shows.
const NEWER: &[(&str, u32)] = &[
    ("uretprobe", 335),
    ("uprobe", 336),
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

pub(crate) fn number(name: &str) -> u32 {
    if let Some((_, number)) = NEWER.iter().find(|(known, _)| *known == name) {
        return *number;
    }
    let call = ScmpSyscall::from_name(name).unwrap();
    u32::try_from(call.as_raw_syscall()).unwrap_or_else(|_| panic!("{name} is not native"))
}

pub(crate) fn want(value: u32) -> Want {
    match (value & 0xffff_0000, value & 0xffff) {
        (0x7fff_0000, 0) => Want::Allow,
        (0x7fc0_0000, 0) => Want::Notify,
        (0x0005_0000, errno) => Want::Errno(errno),
        (0x8000_0000, 0) => Want::Kill,
        _ => panic!("the program answered {value:#x}"),
    }
}

/// What a filter answers to a native call.
pub(crate) fn answer(filter: &Filter, name: &str, args: &[u64; 6]) -> Want {
    want(run(filter.program(), X86_64, number(name), args).value)
}

/// Six registers from a few.
pub(crate) fn registers(set: &[(usize, u64)]) -> [u64; 6] {
    let mut registers = [0; 6];
    set.iter().for_each(|(index, value)| registers[*index] = *value);
    registers
}

/// One row of a table: a call, the registers that matter, the answer.
pub(crate) type Case = (&'static str, &'static [(usize, u64)], Want);

/// Checks every row against one filter and says all that differ at once.
pub(crate) fn check(profile: &str, filter: &Filter, cases: &[Case]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, set, want)| {
            let found = answer(filter, name, &registers(set));
            (found != *want).then(|| format!("{name}{set:x?}: {found:?}, wanted {want:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "profile {profile}:\n{}", wrong.join("\n"));
}
