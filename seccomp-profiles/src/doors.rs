//! The side doors: calls that reach what a policy guards without a notified call.

/// One way in.
pub(crate) struct Door {
    pub(crate) call: &'static str,
    /// Arguments that open it; the rest are zero.
    pub(crate) args: &'static [(usize, u64)],
    /// Whether the kernel ignores the upper half of those arguments, so that bits there must not
    /// hide the call from the filter.
    pub(crate) truncated: bool,
    /// What it lets a workload do.
    pub(crate) what: &'static str,
}

impl Door {
    /// Every register state that opens the door.
    pub(crate) fn attempts(&self) -> Vec<[u64; 6]> {
        let mut plain = [0; 6];
        let mut disguised = [0; 6];
        for (index, value) in self.args {
            if let (Some(plain), Some(disguised)) =
                (plain.get_mut(*index), disguised.get_mut(*index))
            {
                *plain = *value;
                *disguised = *value | 0xdead_beef_0000_0000;
            }
        }
        if self.truncated && !self.args.is_empty() { vec![plain, disguised] } else { vec![plain] }
    }
}

const WHOLE: &[(&str, &[&str])] = &[
    (
        "opens and connects without system calls",
        &["io_uring_setup", "io_uring_enter", "io_uring_register"],
    ),
    (
        "reads or changes another process",
        &[
            "ptrace",
            "process_vm_readv",
            "process_vm_writev",
            "pidfd_getfd",
            "process_madvise",
            "process_mrelease",
            "kcmp",
            "userfaultfd",
            "move_pages",
            "migrate_pages",
        ],
    ),
    ("opens files that have no path to judge", &["open_by_handle_at"]),
    ("hides its flags from the filter", &["clone3"]),
    (
        "changes what paths mean",
        &[
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
        ],
    ),
    (
        "reaches into the kernel",
        &[
            "bpf",
            "perf_event_open",
            "init_module",
            "finit_module",
            "delete_module",
            "kexec_load",
            "kexec_file_load",
            "syslog",
            "lookup_dcookie",
            "fanotify_init",
            "fanotify_mark",
        ],
    ),
    ("uses keyrings that outlive the container", &["keyctl", "add_key", "request_key"]),
    (
        "changes the machine",
        &[
            "reboot",
            "swapon",
            "swapoff",
            "acct",
            "quotactl",
            "quotactl_fd",
            "iopl",
            "ioperm",
            "vhangup",
            "nfsservctl",
            "uselib",
            "sethostname",
            "setdomainname",
        ],
    ),
    (
        "changes the clock that dates the log",
        &["settimeofday", "clock_settime", "adjtimex", "clock_adjtime"],
    ),
];

const fn door(
    call: &'static str,
    args: &'static [(usize, u64)],
    truncated: bool,
    what: &'static str,
) -> Door {
    Door { call, args, truncated, what }
}

const BY_ARGUMENT: &[Door] = &[
    door("seccomp", &[(0, 0)], true, "installs strict mode over the log"),
    door("seccomp", &[(0, 1)], true, "installs a filter that can blind the log"),
    door("prctl", &[(0, 22)], true, "installs a filter that can blind the log"),
    door("ioctl", &[(1, 0xc050_2100)], true, "receives seccomp notifications"),
    door("ioctl", &[(1, 0xc018_2101)], true, "answers seccomp notifications"),
    door("ioctl", &[(1, 0x5412)], true, "types into a terminal (TIOCSTI)"),
    door("ioctl", &[(1, 0x541c)], true, "pastes into a console (TIOCLINUX)"),
    door("ioctl", &[(1, 0xaa00)], true, "makes a userfaultfd (USERFAULTFD_IOC_NEW)"),
    door("ioctl", &[(1, 0x4008_6602)], true, "changes file attributes (FS_IOC_SETFLAGS)"),
    door("ioctl", &[(1, 0x401c_5820)], true, "changes file attributes (FS_IOC_FSSETXATTR)"),
    door("prctl", &[(0, 35)], true, "changes what a process seems to run (PR_SET_MM)"),
    door("clone", &[(0, 0x1000_0000)], true, "makes a user namespace"),
    door("clone", &[(0, 0x0002_0000)], true, "makes a mount namespace"),
    door("clone", &[(0, 0x0200_0000)], true, "makes a cgroup namespace"),
    door("clone", &[(0, 0x0400_0000)], true, "makes a UTS namespace"),
    door("clone", &[(0, 0x0800_0000)], true, "makes an IPC namespace"),
    door("clone", &[(0, 0x2000_0000)], true, "makes a pid namespace"),
    door("clone", &[(0, 0x4000_0000)], true, "makes a network namespace"),
    door("unshare", &[(0, 0x80)], false, "makes a time namespace"),
    door("unshare", &[(0, 0x1000_0000)], false, "makes a user namespace"),
    door("unshare", &[(0, 0x0002_0000)], false, "makes a mount namespace"),
    door("unshare", &[(0, 0x0200_0000)], false, "makes a cgroup namespace"),
    door("unshare", &[(0, 0x0400_0000)], false, "makes a UTS namespace"),
    door("unshare", &[(0, 0x0800_0000)], false, "makes an IPC namespace"),
    door("unshare", &[(0, 0x2000_0000)], false, "makes a pid namespace"),
    door("unshare", &[(0, 0x4000_0000)], false, "makes a network namespace"),
    door("sendto", &[(3, 0x2000_0000)], true, "connects by MSG_FASTOPEN"),
    door("sendmsg", &[(2, 0x2000_0000)], true, "connects by MSG_FASTOPEN"),
    door("sendmmsg", &[(3, 0x2000_0000)], true, "connects by MSG_FASTOPEN"),
    door("setsockopt", &[(1, 6), (2, 30)], true, "connects by TCP_FASTOPEN_CONNECT"),
    door("setsockopt", &[(1, 0), (2, 4)], true, "reroutes packets by IP_OPTIONS"),
    door("setsockopt", &[(1, 41), (2, 57)], true, "reroutes packets by IPV6_RTHDR"),
    door("setsockopt", &[(1, 41), (2, 5)], true, "reroutes packets by IPV6_2292RTHDR"),
    door("setsockopt", &[(1, 41), (2, 6)], true, "reroutes packets by IPV6_2292PKTOPTIONS"),
    door("socket", &[(0, 17), (1, 3)], true, "writes packets below IP"),
    door("socket", &[(0, 40), (1, 1)], true, "reaches the hypervisor (AF_VSOCK)"),
    door("socket", &[(0, 2), (1, 3)], true, "writes raw IPv4 packets"),
    door("socket", &[(0, 10), (1, 3)], true, "writes raw IPv6 packets"),
    door("socket", &[(0, 2), (1, 10)], true, "writes packets below IP (SOCK_PACKET)"),
    door("socket", &[(0, 2), (1, 1), (2, 132)], true, "connects by SCTP"),
    door("socket", &[(0, 2), (1, 5)], true, "connects by SCTP"),
    door("socketpair", &[(0, 30), (1, 5)], true, "talks to other machines by TIPC"),
    door("prlimit64", &[(0, 1)], true, "changes the limits of another process"),
];

/// Every side door.
pub(crate) fn all() -> impl Iterator<Item = Door> {
    let whole = WHOLE.iter().flat_map(|(what, calls)| {
        calls.iter().map(|call| Door { call, args: &[], truncated: false, what })
    });
    let by_argument = BY_ARGUMENT.iter().map(|known| Door { ..*known });
    whole.chain(by_argument)
}
