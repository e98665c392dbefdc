//! Verified exec: the kernel carries on, and before the new program's first instruction its file and
//! its arguments are compared with what was judged.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::fs::{Mode, OFlags};

use super::{Answer, Attempt, Class};
use crate::receive::{Notification, Reply};
use crate::resolve::Object;
use crate::resolve::exec::ExecRequest;
use crate::resolve::names::text;
use crate::sys::from_rustix;
use crate::sys::ptrace::{self, Stop};

/// Another worker may still be letting go of the same task.
const PATIENCE: Duration = Duration::from_secs(2);

/// A task held for its exec stop, by the current thread.
#[derive(Debug)]
#[must_use = "a seized task must be awaited and let go"]
pub(crate) struct Seized {
    tid: i32,
}

/// How an exec ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The program that was judged runs.
    Verified,
    /// The exec itself failed, or the task was interrupted: nothing was started.
    NotStarted,
    /// The task died meanwhile.
    Gone,
    /// Something else was about to run. It was killed.
    Killed { difference: String },
}

/// Tasks whose worker asked for a stop and has not seen it yet.
static AWAITED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn awaited() -> MutexGuard<'static, BTreeSet<i32>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes hold of the caller before the kernel is told to carry on.
pub(super) fn seize(notification: &Notification<'_>) -> Result<Attempt, Errno> {
    let (tid, began) = (notification.tid(), Instant::now());
    loop {
        match ptrace::seize(tid) {
            Ok(()) => {
                let answer = Answer::new(Reply::Continue, Class::Verified);
                return Ok(Attempt::Done(Answer { seized: Some(Seized { tid }), ..answer }));
            }
            // Its exec before this one failed, and the worker of that one holds it still, waiting
            // for a stop that cannot come while the caller waits for us. The stop is pending, so
            // the kernel takes it first and then makes this call once more.
            Err(Errno::EPERM) if awaited().contains(&tid) => return Ok(Attempt::Postponed),
            Err(Errno::EPERM) if began.elapsed() < PATIENCE && notification.check().is_ok() => {
                std::thread::sleep(Duration::from_micros(50));
            }
            Err(_) => return Err(Errno::EPERM),
        }
    }
}

impl Seized {
    /// Waits for the exec stop after the answer went out. With `judged`, the new program must be
    /// that one; without it (the answer was a refusal), there must be no new program at all.
    /// `stopped` runs while the new program still stands still.
    pub(crate) fn finish(self, judged: Option<&ExecRequest>, stopped: &dyn Fn()) -> Outcome {
        // An exec that fails returns to its caller without a stop; this makes one. Where the exec
        // stop comes first, the request is dropped with the detach.
        let _ = ptrace::interrupt(self.tid);
        awaited().insert(self.tid);
        let stop = ptrace::wait();
        awaited().remove(&self.tid);
        match stop {
            Stop::Gone => Outcome::Gone,
            Stop::Trap { pid } => {
                let _ = ptrace::detach(pid, 0);
                Outcome::NotStarted
            }
            Stop::Signal { pid, signal } => {
                let _ = ptrace::detach(pid, signal);
                Outcome::NotStarted
            }
            Stop::Exec { pid } => match compare(pid, judged) {
                Ok(()) => {
                    stopped();
                    let _ = ptrace::detach(pid, 0);
                    Outcome::Verified
                }
                Err(difference) => {
                    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                    while ptrace::wait() != Stop::Gone {}
                    Outcome::Killed { difference }
                }
            },
        }
    }
}

/// Compares the kernel's own copies with what was judged.
fn compare(pid: i32, judged: Option<&ExecRequest>) -> Result<(), String> {
    let judged = judged.ok_or("a refused exec took place")?;
    let program = judged.programs.last().ok_or("no program was judged")?;
    let exe = rustix::fs::stat(format!("/proc/{pid}/exe"))
        .map_err(|errno| format!("the new program cannot be seen ({errno})"))?;
    if (exe.st_dev, exe.st_ino) != (program.object.device, program.object.inode) {
        let path = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        return Err(format!("another program was about to run: {}", path.display()));
    }
    check_mappings(pid, judged)?;
    let arguments = arguments(pid).map_err(|errno| format!("arguments unreadable ({errno})"))?;
    let expected: Vec<u8> = judged
        .expected_argv
        .iter()
        .flat_map(|word| word.iter().copied().chain(std::iter::once(0)))
        .collect();
    if arguments != expected {
        return Err("the program was about to run with other arguments".to_owned());
    }
    Ok(())
}

/// Nothing may be mapped but the judged program and the loader that was judged with it: a loader
/// runs first, and the file that names it may have changed meanwhile.
fn check_mappings(pid: i32, judged: &ExecRequest) -> Result<(), String> {
    let maps = read_all(pid, "maps").map_err(|errno| format!("mappings unreadable ({errno})"))?;
    let known: Vec<&Object> = judged
        .programs
        .last()
        .into_iter()
        .chain(&judged.loader)
        .map(|program| &program.object)
        .collect();
    for line in maps.split(|byte| *byte == b'\n') {
        let Some(Mapping { device, inode, path }) = Mapping::parse(line) else { continue };
        let same = |object: &&Object| (object.device, object.inode) == (device, inode);
        // On stacked file systems the numbers are another layer's; the path is the judged one.
        if !known.iter().any(|object| same(object) || object.resolved == path) {
            return Err(format!("another loader was about to run: {}", text(path)));
        }
    }
    Ok(())
}

/// A file that is mapped.
struct Mapping<'l> {
    device: u64,
    inode: u64,
    path: &'l [u8],
}

impl<'l> Mapping<'l> {
    /// Reads `range modes offset major:minor inode path`; `None` where there is no file.
    fn parse(line: &'l [u8]) -> Option<Self> {
        let mut fields = line.splitn(6, |byte| *byte == b' ');
        let device = std::str::from_utf8(fields.nth(3)?).ok()?;
        let inode = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let path = fields.next().unwrap_or_default().trim_ascii_start();
        let (major, minor) = device.split_once(':')?;
        let number = |digits| u32::from_str_radix(digits, 16).ok();
        let device = rustix::fs::makedev(number(major)?, number(minor)?);
        (inode != 0).then_some(Self { device, inode, path })
    }
}

fn arguments(pid: i32) -> Result<Vec<u8>, Errno> {
    read_all(pid, "cmdline")
}

fn read_all(pid: i32, name: &str) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(format!("/proc/{pid}/{name}"), flags, Mode::empty())
        .map_err(from_rustix)?;
    let mut bytes = Vec::new();
    let mut chunk = vec![0_u8; 16_384];
    loop {
        match rustix::io::read(file.as_fd(), &mut chunk[..]).map_err(from_rustix)? {
            0 => return Ok(bytes),
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}
