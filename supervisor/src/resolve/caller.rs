//! The caller as one call needs it: its task, and what of it is read only when asked for.

use std::cell::{Cell, OnceCell};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use nix::errno::Errno;
use rustix::fs::{Mode, OFlags};

use super::names;
use super::procfs::Procfs;
use super::task::Task;
use super::walk::{Place, Start, Wish, same_directory, walk};
use crate::identity::{Credentials, Guise, Status};

/// Who makes the call that is being resolved.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) task: Arc<Task>,
    /// The session's shim: every process of the session descends from it.
    pub(crate) shim: i32,
    status: OnceCell<Status>,
    /// Something of this call was refused by the `/proc` guard.
    guarded: Cell<bool>,
    own: Credentials,
    privileged: bool,
    root: OwnedFd,
    shares_root: bool,
}

impl Caller {
    /// Learns who calls. The worker must wear its own guise: `/proc` is looked into as ourselves.
    pub(crate) fn new(task: Arc<Task>, shim: i32, guise: &Guise) -> Result<Self, Errno> {
        let root = task.link("root")?;
        let shares_root = same_directory(root.as_fd(), own_root()?)?;
        Ok(Self {
            task,
            shim,
            status: OnceCell::new(),
            guarded: Cell::new(false),
            own: guise.own().clone(),
            privileged: guise.is_privileged(),
            root,
            shares_root,
        })
    }

    /// The caller's status, read once.
    pub(crate) fn status(&self) -> Result<&Status, Errno> {
        if let Some(status) = self.status.get() {
            return Ok(status);
        }
        let status = self.task.status()?;
        Ok(self.status.get_or_init(|| status))
    }

    /// The credentials the call is to be done with.
    pub(crate) fn credentials(&self) -> Result<&Credentials, Errno> {
        if self.privileged { Ok(&self.status()?.credentials) } else { Ok(&self.own) }
    }

    /// The directory that a relative path begins at.
    pub(crate) fn directory(&self, dirfd: i32) -> Result<OwnedFd, Errno> {
        if dirfd == libc::AT_FDCWD {
            return self.task.link("cwd");
        }
        if dirfd < 0 {
            return Err(Errno::EBADF);
        }
        self.task.link(&format!("fd/{dirfd}")).map_err(|errno| match errno {
            Errno::ENOENT => Errno::EBADF,
            other => other,
        })
    }

    /// Walks a path as the caller: credentials on for the walk, off again after it.
    pub(crate) fn walk(
        &self,
        guise: &mut Guise,
        dirfd: i32,
        path: &[u8],
        wish: Wish,
    ) -> Result<Place, Errno> {
        let base;
        let base_fd = if path.starts_with(b"/") && wish.resolve.is_empty() {
            self.root.as_fd()
        } else {
            base = self.directory(dirfd)?;
            base.as_fd()
        };
        let credentials = self.credentials()?;
        let procfs = Procfs { caller: self };
        let start = Start {
            root: self.root.as_fd(),
            base: base_fd,
            shares_root: self.shares_root,
            procfs: &procfs,
            uid: credentials.uid,
        };
        guise.wear(credentials)?;
        let place = walk(&start, path, wish);
        guise.take_off()?;
        place
    }

    /// The path of a place as the caller would write it.
    pub(crate) fn path_of(&self, place: &Place) -> Result<Vec<u8>, Errno> {
        let mut path = match (&place.object, &place.parent) {
            // A link that is not followed, and a missing name, are called by their directory.
            (_, Some(parent)) => {
                let mut path = names::path_of(parent.as_fd())?;
                if path != b"/" {
                    path.push(b'/');
                }
                path.extend_from_slice(&place.name);
                path
            }
            (Some(object), None) => names::path_of(object.as_fd())?,
            (None, None) => return Err(Errno::ENOENT),
        };
        self.strip_root(&mut path)?;
        Ok(path)
    }

    /// The path of a descriptor as the caller would write it.
    pub(crate) fn visible_path(&self, fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
        let mut path = names::path_of(fd)?;
        self.strip_root(&mut path)?;
        Ok(path)
    }

    fn strip_root(&self, path: &mut Vec<u8>) -> Result<(), Errno> {
        if self.shares_root {
            return Ok(());
        }
        let root = names::path_of(self.root.as_fd())?;
        let below = path
            .strip_prefix(&root[..])
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        if root != b"/" && below {
            path.drain(..root.len());
            if path.is_empty() {
                path.push(b'/');
            }
        }
        Ok(())
    }

    /// Notes that the `/proc` guard refused something.
    pub(super) fn set_guarded(&self) {
        self.guarded.set(true);
    }

    /// Whether the `/proc` guard refused something.
    pub(crate) fn was_guarded(&self) -> bool {
        self.guarded.get()
    }

    /// The caller's root directory.
    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Refuses what of `/proc` no caller may reach through the supervisor.
    pub(crate) fn permit(&self, place: &Place) -> Result<(), Errno> {
        let procfs = Procfs { caller: self };
        let Some(object) = &place.object else { return Ok(()) };
        if !super::procfs::is_procfs(object.as_fd()) {
            return Ok(());
        }
        match &place.parent {
            Some(parent) => procfs.permit(parent.as_fd(), &place.name),
            None => procfs.permit_object(object.as_fd()),
        }
    }
}

/// The supervisor's own root, which never changes.
fn own_root() -> Result<BorrowedFd<'static>, Errno> {
    static ROOT: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = || rustix::fs::open("/", flags, Mode::empty()).ok();
    ROOT.get_or_init(open).as_ref().map(AsFd::as_fd).ok_or(Errno::ENOSYS)
}
