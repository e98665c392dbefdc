//! What is asked about, and what ordinary programs do without being asked.

use seccomp_profiles::{Action, Profile};

use crate::calls::{Case, Want, check, filter, filters, number};
use crate::interpreter::{X86_64, run};

const ASKED_ALWAYS: &[&str] =
    &["execve", "execveat", "open", "openat", "openat2", "creat", "connect", "sendmsg", "sendmmsg"];

const MUTATIONS: &[&str] = &[
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "truncate",
    "chmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchownat",
    "setxattr",
    "lsetxattr",
    "removexattr",
    "lremovexattr",
    "utime",
    "utimes",
    "futimesat",
    "fchmod",
    "fchown",
    "fsetxattr",
    "fremovexattr",
    "utimensat",
    "bind",
];

/// What a shell, a compiler, Python, Node, Go and git call on an ordinary day.
const ORDINARY: &[&str] = &[
    "read",
    "write",
    "close",
    "stat",
    "fstat",
    "lstat",
    "poll",
    "lseek",
    "mmap",
    "mprotect",
    "munmap",
    "brk",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "pread64",
    "pwrite64",
    "readv",
    "writev",
    "access",
    "pipe",
    "select",
    "sched_yield",
    "mremap",
    "msync",
    "mincore",
    "madvise",
    "shmget",
    "shmat",
    "shmctl",
    "dup",
    "dup2",
    "pause",
    "nanosleep",
    "getitimer",
    "alarm",
    "setitimer",
    "getpid",
    "sendfile",
    "accept",
    "recvfrom",
    "recvmsg",
    "shutdown",
    "listen",
    "getsockname",
    "getpeername",
    "getsockopt",
    "fork",
    "vfork",
    "exit",
    "wait4",
    "kill",
    "uname",
    "semget",
    "semop",
    "semctl",
    "shmdt",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "fcntl",
    "flock",
    "fsync",
    "fdatasync",
    "ftruncate",
    "getdents",
    "getcwd",
    "chdir",
    "fchdir",
    "readlink",
    "umask",
    "gettimeofday",
    "getrlimit",
    "getrusage",
    "sysinfo",
    "times",
    "getuid",
    "getgid",
    "setuid",
    "setgid",
    "geteuid",
    "getegid",
    "setpgid",
    "getppid",
    "getpgrp",
    "setsid",
    "setgroups",
    "setresuid",
    "getresuid",
    "capget",
    "capset",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "sigaltstack",
    "statfs",
    "fstatfs",
    "getpriority",
    "setpriority",
    "sched_getparam",
    "sched_setscheduler",
    "mlock",
    "munlock",
    "arch_prctl",
    "setrlimit",
    "sync",
    "gettid",
    "readahead",
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "flistxattr",
    "tkill",
    "time",
    "futex",
    "sched_setaffinity",
    "sched_getaffinity",
    "io_setup",
    "io_submit",
    "io_getevents",
    "getdents64",
    "set_tid_address",
    "restart_syscall",
    "fadvise64",
    "timer_create",
    "timer_settime",
    "clock_gettime",
    "clock_getres",
    "clock_nanosleep",
    "exit_group",
    "epoll_wait",
    "epoll_ctl",
    "tgkill",
    "mbind",
    "set_mempolicy",
    "get_mempolicy",
    "mq_open",
    "waitid",
    "ioprio_get",
    "inotify_init1",
    "inotify_add_watch",
    "newfstatat",
    "readlinkat",
    "faccessat",
    "faccessat2",
    "pselect6",
    "ppoll",
    "set_robust_list",
    "get_robust_list",
    "splice",
    "tee",
    "vmsplice",
    "sync_file_range",
    "epoll_pwait",
    "epoll_pwait2",
    "signalfd4",
    "timerfd_create",
    "timerfd_settime",
    "eventfd2",
    "fallocate",
    "accept4",
    "epoll_create1",
    "dup3",
    "pipe2",
    "preadv",
    "pwritev",
    "recvmmsg",
    "syncfs",
    "getcpu",
    "sched_getattr",
    "getrandom",
    "memfd_create",
    "membarrier",
    "mlock2",
    "copy_file_range",
    "preadv2",
    "pwritev2",
    "pkey_mprotect",
    "pkey_alloc",
    "pkey_free",
    "statx",
    "rseq",
    "uretprobe",
    "pidfd_send_signal",
    "pidfd_open",
    "close_range",
    "futex_waitv",
    "cachestat",
    "map_shadow_stack",
    "futex_wake",
    "futex_wait",
    "futex_requeue",
    "statmount",
    "listmount",
    "lsm_get_self_attr",
    "lsm_list_modules",
    "mseal",
    "getxattrat",
    "listxattrat",
    "file_getattr",
    "name_to_handle_at",
];

fn everywhere(names: &'static [&'static str], want: Want) -> Vec<Case> {
    names
        .iter()
        .flat_map(|name| [(*name, &[][..], want), (*name, &[(1, 1), (5, u64::MAX)][..], want)])
        .collect()
}

#[test]
fn exec_open_and_network_are_asked_about_in_every_tier() {
    for (profile, filter) in filters() {
        check(profile, filter, &everywhere(ASKED_ALWAYS, Want::Notify));
    }
}

#[test]
fn mutations_are_asked_about_in_default_and_allowed_in_observe() {
    check("default", filter("default"), &everywhere(MUTATIONS, Want::Notify));
    check("observe", filter("observe"), &everywhere(MUTATIONS, Want::Allow));
}

#[test]
fn ordinary_calls_are_allowed() {
    for (profile, filter) in filters() {
        check(profile, filter, &everywhere(ORDINARY, Want::Allow));
    }
}

#[test]
fn ordinary_calls_are_cheap_and_cacheable() {
    for (profile, filter) in filters() {
        for name in ORDINARY {
            let run = run(filter.program(), X86_64, number(name), &[0; 6]);
            assert!(!run.saw_arguments, "{profile}: the kernel cannot cache {name}");
            assert!(run.steps <= 40, "{profile}: {name} costs {} steps", run.steps);
        }
    }
}

#[test]
fn the_notified_calls_are_these() {
    let observe = Profile::builtin("observe").unwrap().notified();
    let first = "connect creat execve execveat open openat openat2 sendmmsg sendmsg sendto";
    assert_eq!(observe.join(" "), first);
    let default = Profile::builtin("default").unwrap().notified();
    assert_eq!(
        default.join(" "),
        "bind chmod chown connect creat execve execveat fchmod fchmodat fchmodat2 fchown fchownat \
         fremovexattr fsetxattr futimesat lchown link linkat lremovexattr lsetxattr mkdir mkdirat mknod mknodat open openat openat2 \
         removexattr rename renameat renameat2 rmdir sendmmsg sendmsg sendto setxattr symlink \
         symlinkat truncate unlink unlinkat utime utimensat utimes"
    );
}

#[test]
fn the_tiers_close_the_same_doors() {
    let refusals = |name| {
        let entries = Profile::builtin(name).unwrap().syscalls.into_iter();
        entries.filter(|entry| entry.action == Action::Errno).collect::<Vec<_>>()
    };
    assert_eq!(refusals("observe"), refusals("default"));
}
