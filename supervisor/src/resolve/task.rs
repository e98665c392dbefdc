//! The calling task: pinned in `/proc`, with its program and ancestry remembered between calls.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nix::errno::Errno;
use rustix::fs::{Mode, OFlags};

use crate::identity::Status;
use crate::sys::from_rustix;

/// Deepest ancestry that facts carry.
const MAX_ANCESTORS: usize = 32;
/// Remembered living tasks per session; past that the table starts anew.
const MAX_TASKS: usize = 256;
/// The dead are looked for when there are at least this many.
const MIN_SWEEP: usize = 32;

/// One thread of the session. The open directory is tied to this very task: once it is dead, every
/// look-up below it fails, however soon its number is used again.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) tid: i32,
    pub(crate) tgid: i32,
    directory: OwnedFd,
    /// The program it runs.
    pub(crate) exe: Vec<u8>,
    /// Programs of its parents, nearest first.
    pub(crate) ancestors: Vec<String>,
    /// Identity of this program run, unique in the session.
    pub(crate) exec_id: u64,
    pub(crate) parent_exec_id: Option<u64>,
    /// Its capabilities are worth nothing outside its own user namespace. Profiles let no task change
    /// that namespace.
    foreign_user_namespace: bool,
}

impl Task {
    /// The pinned `/proc/TID`.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Opens one of the task's magic links (`root`, `cwd`, `exe`, `fd/N`) as an O_PATH descriptor.
    pub(crate) fn link(&self, name: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::openat(self.directory(), name, flags, Mode::empty()).map_err(from_rustix)
    }

    /// Whether the task's table has a free number below its limit. Unknown counts as room: the
    /// kernel itself says EMFILE when the descriptor is installed.
    pub(crate) fn has_room_for_a_descriptor(&self) -> bool {
        let Some(limit) = self.descriptor_limit() else { return true };
        let exists = |number: u64| {
            rustix::fs::readlinkat(self.directory(), format!("fd/{number}"), Vec::new()).is_ok()
        };
        // Numbers are given out from the lowest: mostly the last one tells.
        limit > 0 && (!exists(limit - 1) || (0..limit).any(|number| !exists(number)))
    }

    /// Whether one of the task's descriptors is an O_PATH one.
    pub(crate) fn is_path_only(&self, fd: i32) -> bool {
        let flags = self.field(&format!("fdinfo/{fd}"), "flags:");
        let flags = flags.and_then(|text| u32::from_str_radix(&text, 8).ok());
        flags.is_some_and(|flags| flags & OFlags::PATH.bits() != 0)
    }

    fn descriptor_limit(&self) -> Option<u64> {
        self.field("limits", "Max open files")?.parse().ok()
    }

    /// RLIMIT_FSIZE; `None` is unlimited.
    pub(crate) fn file_size_limit(&self) -> Option<u64> {
        self.field("limits", "Max file size")?.parse().ok()
    }

    /// The word after a line's beginning in one of the task's small files.
    fn field(&self, file: &str, beginning: &str) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.directory(), file, flags, Mode::empty()).ok()?;
        let mut buffer = [0_u8; 2048];
        let length = rustix::io::read(&file, &mut buffer[..]).ok()?;
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix(beginning))?;
        line.split_whitespace().next().map(str::to_owned)
    }

    fn is_alive(&self) -> bool {
        let (exists, flags) = (rustix::fs::Access::EXISTS, rustix::fs::AtFlags::empty());
        rustix::fs::accessat(self.directory(), c"stat", exists, flags).is_ok()
    }

    pub(crate) fn status(&self) -> Result<Status, Errno> {
        let mut status = Status::read(self.directory())?;
        if self.foreign_user_namespace {
            status.credentials.capabilities = 0;
        }
        Ok(status)
    }
}

/// The tasks of a session, as last seen.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    known: Mutex<Known>,
    next_exec_id: AtomicU64,
}

/// Remembered tasks, each with an open descriptor: the dead must go.
#[derive(Debug, Default)]
struct Known {
    tasks: HashMap<i32, Arc<Task>>,
    sweep_at: usize,
}

impl Known {
    fn sweep(&mut self) {
        self.tasks.retain(|_, task| task.is_alive());
        if self.tasks.len() > MAX_TASKS {
            self.tasks.clear();
        }
        self.sweep_at = (self.tasks.len() * 2).max(MIN_SWEEP);
    }
}

impl Tasks {
    /// The task of this thread id. Remembered ones are verified to be alive first.
    pub(crate) fn get(&self, tid: i32) -> Result<Arc<Task>, Errno> {
        if let Some(task) = self.remembered(tid).filter(|task| task.is_alive()) {
            return Ok(task);
        }
        let task = Arc::new(self.look_up(tid)?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.tasks.len() >= known.sweep_at {
            known.sweep();
        }
        known.tasks.insert(tid, task.clone());
        Ok(task)
    }

    /// Forgets what a process ran: it runs something else now.
    pub(crate) fn forget(&self, tgid: i32) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tasks.retain(|_, task| task.tgid != tgid);
    }

    fn remembered(&self, tid: i32) -> Option<Arc<Task>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tasks.get(&tid).cloned()
    }

    fn look_up(&self, tid: i32) -> Result<Task, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory =
            rustix::fs::open(format!("/proc/{tid}"), flags, Mode::empty()).map_err(from_rustix)?;
        let status = Status::read(directory.as_fd())?;
        let exe = read_link(directory.as_fd(), "exe").unwrap_or_default();
        // Threads of one process share its identity; a new process gets its own.
        let sibling = if status.tgid == tid { None } else { self.remembered(status.tgid) };
        let parent = self.remembered(status.parent);
        let exec_id = sibling
            .filter(|leader| leader.exe == exe)
            .map_or_else(|| self.next_exec_id.fetch_add(1, Ordering::Relaxed) + 1, |t| t.exec_id);
        let foreign_user_namespace =
            read_link(directory.as_fd(), "ns/user").ok().as_deref() != own_user_namespace();
        Ok(Task {
            tid,
            foreign_user_namespace,
            tgid: status.tgid,
            directory,
            exe,
            ancestors: ancestry(status.parent),
            exec_id,
            parent_exec_id: parent.map(|task| task.exec_id),
        })
    }
}

/// Programs of a process and its parents, as `/proc` tells now.
fn ancestry(mut pid: i32) -> Vec<String> {
    let mut programs = Vec::new();
    while pid > 1 && programs.len() < MAX_ANCESTORS {
        let Ok(process) = procfs::process::Process::new(pid) else { break };
        let Ok(stat) = process.stat() else { break };
        let exe = process.exe().map(|path| path.to_string_lossy().into_owned());
        programs.push(exe.unwrap_or_else(|_| stat.comm.clone()));
        pid = stat.ppid;
    }
    programs
}

fn own_user_namespace() -> Option<&'static [u8]> {
    static OWN: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let read = || std::fs::read_link("/proc/self/ns/user").ok();
    OWN.get_or_init(|| read().map(|link| link.into_os_string().into_encoded_bytes())).as_deref()
}

/// The text of a link below an open directory.
pub(crate) fn read_link(directory: BorrowedFd<'_>, name: &str) -> Result<Vec<u8>, Errno> {
    rustix::fs::readlinkat(directory, name, Vec::new())
        .map(std::ffi::CString::into_bytes)
        .map_err(from_rustix)
}
