//! `/proc` as the caller sees it, and what of it no caller may reach through us.
//!
//! `self` and `thread-self` name whoever resolves them, so they are translated to the caller. Entries
//! that the kernel guards with the ptrace check are opened by a *supervisor's* thread, for which that
//! check could pass where the caller's would not: of processes outside the session only the public
//! entries can be opened, whatever the rules say.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::caller::Caller;
use super::task::{Task, read_link};
use crate::identity::Status;
use crate::sys::from_rustix;

const PROC_SUPER_MAGIC: i64 = 0x9fa0;
const PROC_ROOT_INODE: u64 = 1;
/// Deepest place below a procfs root: PID/task/TID/ns/x and the like.
const MAX_DEPTH: usize = 12;

/// What anybody may read about any process.
const PUBLIC_ENTRIES: &[&str] =
    &["", "stat", "statm", "status", "cmdline", "comm", "cgroup", "limits", "loginuid", "task"];

/// The caller's view of `/proc`.
#[derive(Debug)]
pub(crate) struct Procfs<'a> {
    pub(crate) caller: &'a Caller,
}

pub(crate) fn is_procfs(fd: BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(fd).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC)
}

/// Whether `name` in a procfs directory is a link without a text, one that the kernel jumps through.
pub(crate) fn is_magic(parent: BorrowedFd<'_>, name: &[u8]) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let result =
        rustix::fs::openat2(parent, name, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
    matches!(result, Err(rustix::io::Errno::LOOP))
}

impl Procfs<'_> {
    /// The text of `self` and `thread-self` for the caller; `None` for every other link.
    pub(crate) fn self_text(
        &self,
        parent: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>, Errno> {
        if !matches!(name, b"self" | b"thread-self") || !is_root(parent) {
            return Ok(None);
        }
        let (tgid, tid) = self.ids_in(parent).ok_or(Errno::ENOENT)?;
        Ok(Some(match name {
            b"self" => tgid.to_string().into_bytes(),
            _ => format!("{tgid}/task/{tid}").into_bytes(),
        }))
    }

    /// The caller's ids in the pid namespace of this procfs: the innermost candidate under which
    /// the caller itself is found there.
    fn ids_in(&self, root: BorrowedFd<'_>) -> Option<(i32, i32)> {
        let own_start = start_time(self.caller.task.directory())?;
        let status = self.caller.status().ok()?;
        let candidates = status.namespace_tgids.iter().zip(&status.namespace_tids);
        candidates.rev().map(|(tgid, tid)| (*tgid, *tid)).find(|(tgid, tid)| {
            open_directory(root, &format!("{tgid}/task/{tid}"))
                .and_then(|directory| start_time(directory.as_fd()))
                .is_some_and(|start| start == own_start)
        })
    }

    /// Refuses entries of processes that do not belong to the session.
    pub(crate) fn permit(&self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        self.permit_at(Position::of(parent, name))
    }

    /// The same for an object that was reached without a directory: by a descriptor that the caller
    /// has had before, which may be an O_PATH one of anything.
    pub(crate) fn permit_object(&self, object: BorrowedFd<'_>) -> Result<(), Errno> {
        let stat = rustix::fs::fstat(object).map_err(from_rustix)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return self.permit(object, b"");
        }
        let path = self.caller.visible_path(object)?;
        self.permit_at(Position::of_path(self.caller.root(), &path))
    }

    fn permit_at(&self, position: Option<Position>) -> Result<(), Errno> {
        let permitted = position.is_some_and(|position| match position.pid {
            None => true,
            Some(pid) => {
                PUBLIC_ENTRIES.contains(&position.entry.as_str())
                    || self.belongs(&position.root, pid)
            }
        });
        if permitted {
            return Ok(());
        }
        self.caller.set_guarded();
        Err(Errno::EACCES)
    }

    fn belongs(&self, root: &OwnedFd, pid: i32) -> bool {
        if self.ids_in(root.as_fd()).is_some_and(|(tgid, _)| tgid == pid) {
            return true;
        }
        let Some(directory) = open_directory(root.as_fd(), &pid.to_string()) else { return false };
        let Ok(status) = Status::read(directory.as_fd()) else { return false };
        // Only filtered processes can be the session's; the shim and the supervisor are not.
        status.seccomp == 2 && (!is_own_namespace(root.as_fd()) || self.descends(&status))
    }

    /// Whether the shim is among a process's parents, in the supervisor's own `/proc`.
    fn descends(&self, status: &Status) -> bool {
        let mut parent = status.parent;
        for _ in 0..64 {
            if parent == self.caller.shim {
                return true;
            }
            if parent <= 1 {
                return false;
            }
            let Ok(directory) = std::fs::File::open(format!("/proc/{parent}")) else {
                return false;
            };
            let Ok(status) = Status::read(directory.as_fd()) else { return false };
            parent = status.parent;
        }
        false
    }
}

/// A place inside a procfs mount.
struct Position {
    root: OwnedFd,
    pid: Option<i32>,
    /// Below the process's directory, and below `task/TID` where it is there.
    entry: String,
}

impl Position {
    /// Climbs from `parent` to the root of its procfs; the names on the way are the end of the
    /// directory's own path.
    fn of(parent: BorrowedFd<'_>, name: &[u8]) -> Option<Self> {
        let path = super::names::path_of(parent).ok()?;
        let mut root = rustix::io::fcntl_dupfd_cloexec(parent, 3).ok()?;
        let mut depth = 0;
        while !is_root(root.as_fd()) {
            depth += 1;
            if depth > MAX_DEPTH || !is_procfs(root.as_fd()) {
                return None;
            }
            root = open_directory(root.as_fd(), "..")?;
        }
        let text = String::from_utf8_lossy(&path).into_owned();
        let mut inside: Vec<&str> = text.rsplit('/').take(depth).collect();
        inside.reverse();
        let last = String::from_utf8_lossy(name);
        if !last.is_empty() {
            inside.push(&last);
        }
        Some(Self::inside(root, &inside))
    }

    /// By the text of a path alone: its procfs is the directory above the first component below
    /// which there is one.
    fn of_path(caller_root: BorrowedFd<'_>, path: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(path).into_owned();
        let components: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        (0..components.len()).find_map(|depth| {
            let prefix = format!("./{}", components[..depth].join("/"));
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let scope = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
            let root =
                rustix::fs::openat2(caller_root, prefix, flags, Mode::empty(), scope).ok()?;
            is_root(root.as_fd()).then(|| Self::inside(root, &components[depth..]))
        })
    }

    fn inside(root: OwnedFd, inside: &[&str]) -> Self {
        let pid = inside.first().and_then(|first| first.parse().ok());
        let below = match inside.get(1..) {
            Some(["task", tid, rest @ ..]) if tid.parse::<i32>().is_ok() => rest,
            Some(rest) => rest,
            None => &[],
        };
        Self { root, pid, entry: below.join("/") }
    }
}

fn is_root(fd: BorrowedFd<'_>) -> bool {
    is_procfs(fd) && rustix::fs::fstat(fd).is_ok_and(|stat| stat.st_ino == PROC_ROOT_INODE)
}

fn is_own_namespace(root: BorrowedFd<'_>) -> bool {
    let own = rustix::fs::stat("/proc").map(|stat| stat.st_dev);
    let theirs = rustix::fs::fstat(root).map(|stat| stat.st_dev);
    matches!((own, theirs), (Ok(own), Ok(theirs)) if own == theirs)
}

fn open_directory(parent: BorrowedFd<'_>, name: &str) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty()).ok()
}

/// When a task began, in clock ticks: with its number, an identity.
fn start_time(directory: BorrowedFd<'_>) -> Option<u64> {
    let file =
        rustix::fs::openat(directory, c"stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .ok()?;
    let mut buffer = [0_u8; 1024];
    let length = rustix::io::read(&file, &mut buffer[..]).ok()?;
    let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The controlling terminal of a task as a device number; 0 is none.
pub(crate) fn terminal_of(task: &Task) -> Result<u64, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file =
        rustix::fs::openat(task.directory(), c"stat", flags, Mode::empty()).map_err(from_rustix)?;
    let mut buffer = [0_u8; 1024];
    let length = rustix::io::read(&file, &mut buffer[..]).map_err(from_rustix)?;
    let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
    text.rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(4)?.parse::<i64>().ok())
        .map(i64::cast_unsigned)
        .ok_or(Errno::ENXIO)
}

/// The text of a link in the caller's own directory.
pub(crate) fn own_link(task: &Task, name: &str) -> Vec<u8> {
    read_link(task.directory(), name).unwrap_or_default()
}
