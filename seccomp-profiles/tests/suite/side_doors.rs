//! Every side door is closed in every tier, and what stands beside it stays open.

use crate::calls::{
    Case, EAFNOSUPPORT, ENOSYS, EPERM, EPROTONOSUPPORT, GARBAGE, Want, check, filters, number, want,
};
use crate::interpreter::{X86_64, run};

const ALLOW: Want = Want::Allow;
const NOTIFY: Want = Want::Notify;

const REFUSED: &[&str] = &[
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_getfd",
    "process_madvise",
    "process_mrelease",
    "kcmp",
    "userfaultfd",
    "open_by_handle_at",
    "move_pages",
    "migrate_pages",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "mount_setattr",
    "bpf",
    "perf_event_open",
    "keyctl",
    "add_key",
    "request_key",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "iopl",
    "ioperm",
    "syslog",
    "vhangup",
    "lookup_dcookie",
    "nfsservctl",
    "uselib",
    "fanotify_init",
    "fanotify_mark",
    "settimeofday",
    "clock_settime",
    "adjtimex",
    "clock_adjtime",
    "sethostname",
    "setdomainname",
];

const ABSENT: &[&str] = &[
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "clone3",
    "setxattrat",
    "removexattrat",
    "file_setattr",
    "memfd_secret",
    "lsm_set_self_attr",
    "_sysctl",
    "vserver",
    "create_module",
];

const PROCESS: &[Case] = &[
    ("seccomp", &[(0, 0)], EPERM),
    ("seccomp", &[(0, 1)], EPERM),
    ("seccomp", &[(0, 1), (1, 8)], EPERM),
    ("seccomp", &[(0, GARBAGE | 1)], EPERM),
    ("seccomp", &[(0, 4)], EPERM),
    ("seccomp", &[(0, 2)], ALLOW),
    ("seccomp", &[(0, 3)], ALLOW),
    ("seccomp", &[(0, GARBAGE | 3)], ALLOW),
    ("prctl", &[(0, 22), (1, 2)], EPERM),
    ("prctl", &[(0, 22), (1, 1)], EPERM),
    ("prctl", &[(0, GARBAGE | 22), (1, 2)], EPERM),
    ("prctl", &[(0, 38), (1, 1)], ALLOW),
    ("prctl", &[(0, 15)], ALLOW),
    ("prctl", &[(0, 21)], ALLOW),
    ("clone", &[(0, 0x1000_0000)], EPERM),
    ("clone", &[(0, 0x1000_0011)], EPERM),
    ("clone", &[(0, GARBAGE | 0x1000_0011)], EPERM),
    ("clone", &[(0, 0x0002_0011)], EPERM),
    ("clone", &[(0, 0x0200_0011)], EPERM),
    ("clone", &[(0, 0x0400_0011)], EPERM),
    ("clone", &[(0, 0x0800_0011)], EPERM),
    ("clone", &[(0, 0x2000_0011)], EPERM),
    ("clone", &[(0, 0x4000_0011)], EPERM),
    ("clone", &[(0, 0x7e02_0011)], EPERM),
    ("clone", &[(0, 0x003d_0f00)], ALLOW),
    ("clone", &[(0, 0x0120_0011)], ALLOW),
    ("clone", &[(0, 0x4111)], ALLOW),
    ("clone", &[(0, GARBAGE | 0x11)], ALLOW),
    ("unshare", &[(0, 0x80)], EPERM),
    ("unshare", &[(0, 0x1000_0000)], EPERM),
    ("unshare", &[(0, 0x1000_0400)], EPERM),
    ("unshare", &[(0, 0x0002_0000)], EPERM),
    ("unshare", &[(0, 0x0200_0000)], EPERM),
    ("unshare", &[(0, 0x0400_0000)], EPERM),
    ("unshare", &[(0, 0x0800_0000)], EPERM),
    ("unshare", &[(0, 0x2000_0000)], EPERM),
    ("unshare", &[(0, 0x4000_0000)], EPERM),
    ("unshare", &[(0, GARBAGE | 0x4000_0000)], EPERM),
    ("unshare", &[(0, 0x0010_0000)], EPERM),
    ("unshare", &[(0, 0x400)], ALLOW),
    ("unshare", &[(0, 0x200)], ALLOW),
    ("unshare", &[(0, 0x0004_0000)], ALLOW),
    ("unshare", &[(0, 0x0004_0600)], ALLOW),
    ("prlimit64", &[(0, 0), (1, 7)], ALLOW),
    ("prlimit64", &[(0, GARBAGE), (1, 7)], ALLOW),
    ("prlimit64", &[(0, 1), (1, 7)], EPERM),
    ("prlimit64", &[(0, GARBAGE | 1), (1, 7)], EPERM),
    ("personality", &[(0, 0)], ALLOW),
    ("personality", &[(0, 8)], ALLOW),
    ("personality", &[(0, 0xffff_ffff)], ALLOW),
    ("personality", &[(0, u64::MAX)], ALLOW),
    ("personality", &[(0, 0x2_0000)], ALLOW),
    ("personality", &[(0, 0x2_0008)], ALLOW),
    ("personality", &[(0, 0x4_0000)], ALLOW),
    ("personality", &[(0, 0x40_0000)], EPERM),
    ("personality", &[(0, 0x10_0000)], EPERM),
    ("personality", &[(0, GARBAGE | 0x40_0000)], EPERM),
];

const TERMINAL: &[Case] = &[
    ("ioctl", &[(1, 0xc050_2100)], EPERM),
    ("ioctl", &[(1, 0xc018_2101)], EPERM),
    ("ioctl", &[(1, 0x4008_2102)], EPERM),
    ("ioctl", &[(1, 0x4018_2103)], EPERM),
    ("ioctl", &[(1, 0x4008_2104)], EPERM),
    ("ioctl", &[(1, 0x2100)], EPERM),
    ("ioctl", &[(1, GARBAGE | 0xc050_2100)], EPERM),
    ("ioctl", &[(1, 0x5412)], EPERM),
    ("ioctl", &[(1, GARBAGE | 0x5412)], EPERM),
    ("ioctl", &[(1, 0x541c)], EPERM),
    ("ioctl", &[(1, 0xaa00)], EPERM),
    ("ioctl", &[(1, GARBAGE | 0x4008_6602)], EPERM),
    ("ioctl", &[(1, 0x4004_6602)], EPERM),
    ("ioctl", &[(1, 0x401c_5820)], EPERM),
    ("prctl", &[(0, 35)], EPERM),
    ("ioctl", &[(1, GARBAGE | 0x541c)], EPERM),
    ("ioctl", &[(1, 0x5401)], ALLOW),
    ("ioctl", &[(1, 0x5413)], ALLOW),
    ("ioctl", &[(1, 0x541b)], ALLOW),
    ("ioctl", &[(1, 0x0021)], ALLOW),
    ("ioctl", &[(1, 0x0021_0000)], ALLOW),
    ("ioctl", &[(0, 0x2100), (1, 0x5401)], ALLOW),
];

const NETWORK: &[Case] = &[
    ("sendto", &[(3, 0x2000_0000)], EPERM),
    ("sendto", &[(3, 0x2000_4000), (4, 0x7fff_0000)], EPERM),
    ("sendto", &[(3, GARBAGE | 0x2000_0000), (4, 0x7fff_0000)], EPERM),
    ("sendto", &[(3, 0x4000), (4, 0x7fff_0000)], NOTIFY),
    ("sendto", &[(4, 1)], NOTIFY),
    ("sendto", &[(4, 0x1_0000_0000)], NOTIFY),
    ("sendto", &[(3, 0x4000), (5, 16)], ALLOW),
    ("sendmsg", &[(2, 0x2000_0000)], EPERM),
    ("sendmsg", &[(2, GARBAGE | 0x2000_4000)], EPERM),
    ("sendmsg", &[(2, 0x4000), (3, 0x2000_0000)], NOTIFY),
    ("sendmmsg", &[(3, 0x2000_0000)], EPERM),
    ("sendmmsg", &[(3, GARBAGE | 0x2000_4000)], EPERM),
    ("sendmmsg", &[(2, 0x2000_0000), (3, 0x4000)], NOTIFY),
    ("setsockopt", &[(1, 6), (2, 30)], EPERM),
    ("setsockopt", &[(1, GARBAGE | 6), (2, 30)], EPERM),
    ("setsockopt", &[(1, 6), (2, GARBAGE | 30)], EPERM),
    ("setsockopt", &[(1, 0), (2, 4)], EPERM),
    ("setsockopt", &[(1, GARBAGE), (2, GARBAGE | 4)], EPERM),
    ("setsockopt", &[(1, 41), (2, 57)], EPERM),
    ("setsockopt", &[(1, 41), (2, 5)], EPERM),
    ("setsockopt", &[(1, 41), (2, 6)], EPERM),
    ("setsockopt", &[(1, GARBAGE | 41), (2, GARBAGE | 57)], EPERM),
    ("setsockopt", &[(1, 6), (2, 1)], ALLOW),
    ("setsockopt", &[(1, 1), (2, 30)], ALLOW),
    ("setsockopt", &[(1, 1), (2, 4)], ALLOW),
    ("setsockopt", &[(1, 41), (2, 26)], ALLOW),
    ("socket", &[(0, 1), (1, 1)], ALLOW),
    ("socket", &[(0, 1), (1, 3)], ALLOW),
    ("socket", &[(0, 1), (1, 5)], ALLOW),
    ("socket", &[(0, 2), (1, 0x8_0801)], ALLOW),
    ("socket", &[(0, 2), (1, 2), (2, 17)], ALLOW),
    ("socket", &[(0, 2), (1, 2), (2, 1)], ALLOW),
    ("socket", &[(0, 10), (1, 1), (2, 6)], ALLOW),
    ("socket", &[(0, GARBAGE | 10), (1, 1)], ALLOW),
    ("socket", &[(0, 16), (1, 3)], ALLOW),
    ("socket", &[(0, 2), (1, 3)], EPERM),
    ("socket", &[(0, 2), (1, 0x8_0003), (2, 255)], EPERM),
    ("socket", &[(0, GARBAGE | 2), (1, GARBAGE | 3)], EPERM),
    ("socket", &[(0, 10), (1, 3), (2, 58)], EPERM),
    ("socket", &[(0, 2), (1, 10)], EPERM),
    ("socket", &[(0, 17), (1, 10)], EPERM),
    ("socket", &[(0, 2), (1, 1), (2, 132)], EPROTONOSUPPORT),
    ("socket", &[(0, 10), (1, 1), (2, GARBAGE | 132)], EPROTONOSUPPORT),
    ("socket", &[(0, 2), (1, 5)], EPROTONOSUPPORT),
    ("socket", &[(0, 10), (1, 0x8_0005)], EPROTONOSUPPORT),
    ("socket", &[(0, 0), (1, 1)], EAFNOSUPPORT),
    ("socket", &[(0, 17), (1, 3)], EAFNOSUPPORT),
    ("socket", &[(0, 38), (1, 5)], EAFNOSUPPORT),
    ("socket", &[(0, 40), (1, 1)], EAFNOSUPPORT),
    ("socket", &[(0, 44), (1, 3)], EAFNOSUPPORT),
    ("socket", &[(0, GARBAGE | 17), (1, 3)], EAFNOSUPPORT),
    ("socketpair", &[(0, 1), (1, 0x8_0001)], ALLOW),
    ("socketpair", &[(0, GARBAGE | 1), (1, 2)], ALLOW),
    ("socketpair", &[(0, 30), (1, 5)], EAFNOSUPPORT),
    ("socketpair", &[(0, 2), (1, 1)], EAFNOSUPPORT),
    ("socketpair", &[(0, GARBAGE | 30), (1, 5)], EAFNOSUPPORT),
];

#[test]
fn refused_calls_are_refused_whatever_their_arguments() {
    for (profile, filter) in filters() {
        let cases: Vec<Case> = REFUSED
            .iter()
            .flat_map(|name| [(*name, &[][..], EPERM), (*name, &[(0, u64::MAX)][..], EPERM)])
            .chain(ABSENT.iter().map(|name| (*name, &[][..], ENOSYS)))
            .collect();
        check(profile, filter, &cases);
    }
}

#[test]
fn doors_by_argument_are_closed_and_their_neighbours_open() {
    for (profile, filter) in filters() {
        for cases in [PROCESS, TERMINAL, NETWORK] {
            check(profile, filter, cases);
        }
    }
}

#[test]
fn numbers_that_no_kernel_has_do_not_exist() {
    for (profile, filter) in filters() {
        for unknown in [337, 400, 423, 470, 471, 600, 1000, 0x3fff_ffff, u32::MAX] {
            let found = want(run(filter.program(), X86_64, unknown, &[0; 6]).value);
            assert_eq!(found, ENOSYS, "profile {profile}, number {unknown}");
        }
    }
}

#[test]
fn x32_is_killed() {
    let x32 = 0x4000_0000;
    for (profile, filter) in filters() {
        let named = ["read", "execve", "ioctl", "openat", "sendto", "ptrace"].map(number);
        for call in named.into_iter().chain([512, 520, 545, 547, 0x1000]) {
            let found = want(run(filter.program(), X86_64, x32 | call, &[0; 6]).value);
            assert_eq!(found, Want::Kill, "profile {profile}, x32 number {call}");
        }
    }
}

#[test]
fn foreign_machines_are_killed() {
    let (i386, arm, aarch64, riscv64) = (0x4000_0003, 0x4000_0028, 0xc000_00b7, 0xc000_00f3);
    for (profile, filter) in filters() {
        for machine in [i386, arm, aarch64, riscv64, 0, u32::MAX] {
            // 11 is execve and 102 socketcall on i386; the others are calls with exceptions here.
            for call in [0, 1, 5, 11, 16, 44, 56, 102, 157, 317, 322, 437] {
                let found = want(run(filter.program(), machine, call, &[0; 6]).value);
                assert_eq!(found, Want::Kill, "profile {profile}, {machine:#x}, number {call}");
            }
        }
    }
}

#[test]
fn the_tables_are_long_enough_to_mean_something() {
    let rows = REFUSED.len() + ABSENT.len() + PROCESS.len() + TERMINAL.len() + NETWORK.len();
    assert!(rows >= 180, "{rows} rows");
}
