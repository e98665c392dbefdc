//! The child between clone and exec: raw system calls only, nothing allocated, nothing returned.
//!
//! With a filter it shares the fd table with its parent, which is how the listener gets there: once the
//! filter is in place the child may call nothing that the filter could notify (open, exec, connect,
//! sendmsg), because nobody answers yet.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::check;
use super::process::own_pid;
use super::signal::Inherited;

const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;
const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
const LANDLOCK_SCOPE_SIGNAL: u64 = 1 << 1;
/// The first Landlock ABI that can scope signals.
const LANDLOCK_ABI_SCOPE: libc::c_long = 6;

/// `struct landlock_ruleset_attr` since ABI 6.
#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// The size of one [`Report`] in the pipe.
pub(crate) const REPORT_SIZE: usize = 8;

/// What the child tells its parent, one pipe write each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Report {
    /// The filter is in place; this is the listener in the shared fd table.
    Listener(i32),
    /// no_new_privs was refused with this errno.
    NoNewPrivs(i32),
    /// The filter was refused with this errno.
    Filter(i32),
    /// Signals are not scoped, for this errno; the child goes on.
    Unscoped(i32),
    /// The program was not started, for this errno.
    Exec(i32),
}

impl Report {
    fn encode(self) -> [u8; REPORT_SIZE] {
        let (kind, value) = match self {
            Report::Listener(v) => (1u32, v),
            Report::NoNewPrivs(v) => (2, v),
            Report::Filter(v) => (3, v),
            Report::Unscoped(v) => (4, v),
            Report::Exec(v) => (5, v),
        };
        let (k, v) = (kind.to_ne_bytes(), value.to_ne_bytes());
        [k[0], k[1], k[2], k[3], v[0], v[1], v[2], v[3]]
    }

    /// Reads what the child wrote.
    pub(crate) fn decode(bytes: [u8; REPORT_SIZE]) -> Option<Self> {
        let [a, b, c, d, rest @ ..] = bytes;
        let value = i32::from_ne_bytes(rest);
        Some(match u32::from_ne_bytes([a, b, c, d]) {
            1 => Report::Listener(value),
            2 => Report::NoNewPrivs(value),
            3 => Report::Filter(value),
            4 => Report::Unscoped(value),
            5 => Report::Exec(value),
            _ => return None,
        })
    }
}

/// What the child puts on before its program.
#[derive(Clone, Copy)]
pub(crate) struct Confinement<'a> {
    /// The program of the filter.
    pub(crate) filter: &'a [libc::sock_filter],
    /// Whether the workload may only signal itself.
    pub(crate) scope_signals: bool,
}

/// Everything the child needs, prepared before it exists.
pub(crate) struct Plan<'a> {
    /// None for a program that runs as its caller would run it.
    pub(crate) confinement: Option<Confinement<'a>>,
    /// Paths to try, in order.
    pub(crate) candidates: &'a [CString],
    /// The workload's arguments.
    pub(crate) arguments: &'a [CString],
    /// The signal state to put back.
    pub(crate) inherited: &'a Inherited,
    /// Where reports go.
    pub(crate) report: BorrowedFd<'a>,
    /// Where the go byte comes from.
    pub(crate) go: BorrowedFd<'a>,
}

/// The plan as the pointers and numbers that system calls take.
struct Prepared<'a> {
    plan: &'a Plan<'a>,
    program: Option<libc::sock_fprog>,
    arguments: Vec<*const c_char>,
    environment: *const *const c_char,
    parent: i32,
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Starts the child: its pid, and a pidfd that becomes readable when it ends.
pub(crate) fn spawn(plan: &Plan<'_>) -> io::Result<(i32, OwnedFd)> {
    let arguments = plan.arguments.iter().map(|a| a.as_ptr()).chain([ptr::null()]).collect();
    let program = plan.confinement.map(|Confinement { filter, .. }| libc::sock_fprog {
        len: filter.len() as libc::c_ushort,
        filter: filter.as_ptr().cast_mut(),
    });
    let prepared = Prepared {
        plan,
        program,
        arguments,
        // SAFETY: libc initialised `environ` before main, and this program never changes it.
        environment: unsafe { environ },
        parent: own_pid(),
    };
    let table = if plan.confinement.is_some() { libc::CLONE_FILES } else { 0 };
    let flags = table | libc::CLONE_PIDFD | libc::SIGCHLD;
    let mut pidfd: c_int = -1;
    // SAFETY: without CLONE_VM and with a null stack this is fork(2): the child runs on a copy of this
    // stack. The kernel writes the pidfd to `pidfd`. This process has one thread, so the copy holds no
    // lock that somebody else had.
    let pid = check(unsafe {
        let none: libc::c_long = 0;
        libc::syscall(libc::SYS_clone, flags as libc::c_ulong, none, &raw mut pidfd, none, none)
    })?;
    if pid == 0 {
        live(&prepared);
    }
    // SAFETY: clone succeeded, so `pidfd` is open and nothing else owns it.
    Ok((pid as i32, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

fn live(prepared: &Prepared<'_>) -> ! {
    let plan = prepared.plan;
    die_with(prepared.parent);
    if plan.confinement.is_some_and(|confinement| confinement.scope_signals)
        && let Err(errno) = scope_signals()
    {
        tell(plan, Report::Unscoped(errno));
    }
    match prepared.program.as_ref().map(install) {
        None => {}
        Some(Ok(listener)) => tell(plan, Report::Listener(listener)),
        Some(Err(report)) => {
            tell(plan, report);
            leave();
        }
    }
    await_go(plan);
    plan.inherited.restore();
    tell(plan, Report::Exec(exec(prepared)));
    leave()
}

fn die_with(parent: i32) {
    // SAFETY: PR_SET_PDEATHSIG takes an integer; getppid takes nothing.
    let actual = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        libc::getppid()
    };
    // The parent may have died before the first call; then no signal comes.
    if actual != parent {
        leave();
    }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}

/// Before the filter, so that no profile can refuse it; no_new_privs first, as Landlock demands.
fn scope_signals() -> Result<(), i32> {
    let none: *const c_void = ptr::null();
    // SAFETY: a null attribute of size 0 with the VERSION flag asks for the ABI number only.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            none,
            0usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    if abi < 0 {
        return Err(errno());
    }
    if abi < LANDLOCK_ABI_SCOPE {
        return Err(libc::EOPNOTSUPP);
    }
    no_new_privs()?;
    let attr =
        RulesetAttr { handled_access_fs: 0, handled_access_net: 0, scoped: LANDLOCK_SCOPE_SIGNAL };
    let size = mem::size_of_val(&attr);
    // SAFETY: the pointer and the size describe `attr`, laid out as the kernel's structure.
    let ruleset =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size, 0) };
    if ruleset < 0 {
        return Err(errno());
    }
    // SAFETY: restrict_self takes integers.
    let restricted = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) };
    let outcome = if restricted < 0 { Err(errno()) } else { Ok(()) };
    // SAFETY: this function opened `ruleset` and nobody else knows its number.
    unsafe { libc::close(ruleset as c_int) };
    outcome
}

fn no_new_privs() -> Result<(), i32> {
    // SAFETY: PR_SET_NO_NEW_PRIVS takes integers.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

fn install(program: &libc::sock_fprog) -> Result<i32, Report> {
    no_new_privs().map_err(Report::NoNewPrivs)?;
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV;
    // SAFETY: `program` points at `len` instructions that outlive the call; the kernel copies and
    // checks them.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            ptr::from_ref(program),
        )
    };
    if listener < 0 { Err(Report::Filter(errno())) } else { Ok(listener as i32) }
}

fn tell(plan: &Plan<'_>, report: Report) {
    let bytes = report.encode();
    // SAFETY: the pointer and the length describe `bytes`. A pipe takes 8 bytes whole.
    unsafe { libc::write(plan.report.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
}

fn await_go(plan: &Plan<'_>) {
    let mut byte = 0u8;
    loop {
        // SAFETY: the pointer is to one live byte, and the length is 1.
        let got = unsafe { libc::read(plan.go.as_raw_fd(), (&raw mut byte).cast(), 1) };
        match got {
            1 => return,
            -1 if errno() == libc::EINTR => {}
            _ => leave(),
        }
    }
}

/// execvp's search: a refused candidate is remembered, an absent one is skipped, anything else ends it.
fn exec(prepared: &Prepared<'_>) -> i32 {
    let mut result = libc::ENOENT;
    for candidate in prepared.plan.candidates {
        let (arguments, environment) = (prepared.arguments.as_ptr(), prepared.environment);
        // SAFETY: the path is a C string, and both arrays end with a null pointer and hold C strings
        // that live in this process's copy of the memory.
        unsafe { libc::syscall(libc::SYS_execve, candidate.as_ptr(), arguments, environment) };
        match errno() {
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => result = libc::EACCES,
            other => return other,
        }
    }
    result
}

fn leave() -> ! {
    // SAFETY: _exit takes an integer and does not return; no destructor runs in the copy.
    unsafe { libc::_exit(1) }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn reports_survive_the_pipe() {
        for report in [
            Report::Listener(7),
            Report::NoNewPrivs(1),
            Report::Filter(libc::EBUSY),
            Report::Unscoped(libc::ENOSYS),
            Report::Exec(libc::ENOENT),
        ] {
            assert_eq!(Report::decode(report.encode()), Some(report));
        }
        assert_eq!(Report::decode([0xff; 8]), None);
    }
}
