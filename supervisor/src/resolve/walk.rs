//! Walking a path as the *caller* would: its root, its directory, its `/proc/self`.
//!
//! The kernel walks where it can do so exactly; a walk by hand takes over wherever the kernel would
//! answer for us instead of for the caller: magic links, `/proc/self`, a foreign root.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, Statx, StatxFlags};

use super::memory::PATH_MAX;
use super::procfs::{self, Procfs};
use crate::sys::from_rustix;

/// The kernel's own limit for links in one walk.
const MAX_LINKS: usize = 40;
const PATH: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Where a walk begins and what bounds it.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) root: BorrowedFd<'a>,
    /// The directory that relative paths begin at.
    pub(crate) base: BorrowedFd<'a>,
    /// The caller's root is the supervisor's own: the kernel can walk for it.
    pub(crate) shares_root: bool,
    pub(crate) procfs: &'a Procfs<'a>,
    /// The caller's file-system uid, for the rule about links in sticky directories.
    pub(crate) uid: u32,
}

/// What the walk is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) follow_last: bool,
    /// A missing last component is a result, not an error.
    pub(crate) may_be_missing: bool,
    /// The parent directory is needed even where the object exists.
    pub(crate) parent: bool,
    pub(crate) resolve: ResolveFlags,
}

/// Where a path leads: the pinned object, or the pinned directory in which it is missing.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) parent: Option<OwnedFd>,
    pub(crate) name: Vec<u8>,
    pub(crate) object: Option<OwnedFd>,
    /// The path ended in a slash: only a directory will do.
    pub(crate) directory_wanted: bool,
}

impl Place {
    pub(crate) fn is_directory(&self) -> bool {
        self.object.as_ref().is_some_and(|object| require_directory(object.as_fd()).is_ok())
    }
}

/// Walks `path`.
pub(crate) fn walk(start: &Start<'_>, path: &[u8], wish: Wish) -> Result<Place, Errno> {
    if path.is_empty() {
        return Err(Errno::ENOENT);
    }
    if path.len() >= PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    if !wish.parent
        && wish.resolve.is_empty()
        && let Some(object) = by_kernel(start, path, wish.follow_last)
    {
        let directory_wanted = path.ends_with(b"/");
        return Ok(Place {
            parent: None,
            name: Vec::new(),
            object: Some(object),
            directory_wanted,
        });
    }
    Walk::new(start, path, wish)?.run()
}

/// The kernel's own walk; `None` where its answer could be about the supervisor.
fn by_kernel(start: &Start<'_>, path: &[u8], follow_last: bool) -> Option<OwnedFd> {
    let absolute = path.starts_with(b"/");
    let from = if absolute { start.root } else { start.base };
    let scope = match (start.shares_root, absolute) {
        (true, _) => ResolveFlags::NO_MAGICLINKS,
        (false, true) => ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
        (false, false) => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
    };
    let flags = if follow_last { PATH } else { PATH | OFlags::NOFOLLOW };
    let object = rustix::fs::openat2(from, path, flags, Mode::empty(), scope).ok()?;
    if procfs::is_procfs(object.as_fd()) { None } else { Some(object) }
}

struct Walk<'a> {
    start: &'a Start<'a>,
    wish: Wish,
    root: OwnedFd,
    current: OwnedFd,
    pending: VecDeque<Vec<u8>>,
    directory_wanted: bool,
    links: usize,
    /// The path began at a directory, not at the root.
    relative: bool,
}

enum Step {
    Onward,
    Arrived(Place),
}

impl<'a> Walk<'a> {
    fn new(start: &'a Start<'a>, path: &[u8], wish: Wish) -> Result<Self, Errno> {
        let scoped = wish.resolve.intersects(ResolveFlags::IN_ROOT | ResolveFlags::BENEATH);
        if wish.resolve.contains(ResolveFlags::CACHED) {
            // Allowed to say so at any time; callers then ask again without the flag.
            return Err(Errno::EAGAIN);
        }
        let root = copy(if scoped { start.base } else { start.root })?;
        if path.starts_with(b"/") && wish.resolve.contains(ResolveFlags::BENEATH) {
            return Err(Errno::EXDEV);
        }
        let current = if path.starts_with(b"/") { copy(root.as_fd())? } else { copy(start.base)? };
        let mut walk = Self {
            start,
            wish,
            root,
            current,
            pending: VecDeque::new(),
            directory_wanted: false,
            links: 0,
            relative: !path.starts_with(b"/"),
        };
        walk.push(path);
        Ok(walk)
    }

    fn run(mut self) -> Result<Place, Errno> {
        loop {
            let Some(name) = self.pending.pop_front() else {
                // The path was "/", "." or ended in "..": the directory itself.
                return Ok(self.here());
            };
            if let Step::Arrived(place) = self.step(name)? {
                return Ok(place);
            }
        }
    }

    fn step(&mut self, name: Vec<u8>) -> Result<Step, Errno> {
        if name == b"." {
            require_directory(self.current.as_fd())?;
            return Ok(Step::Onward);
        }
        if name == b".." {
            self.ascend()?;
            return Ok(Step::Onward);
        }
        let last = self.pending.is_empty();
        let flags = PATH | OFlags::NOFOLLOW;
        let child = match rustix::fs::openat(&self.current, &name[..], flags, Mode::empty()) {
            Ok(child) => child,
            Err(rustix::io::Errno::NOENT) if last && self.wish.may_be_missing => {
                return self.arrive(name, None);
            }
            Err(errno) => return Err(from_rustix(errno)),
        };
        let stat = rustix::fs::fstat(&child).map_err(from_rustix)?;
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        if is_link && (!last || self.wish.follow_last || self.directory_wanted) {
            return self.follow(name, &child, &stat, last);
        }
        self.same_mount(child.as_fd())?;
        if last {
            return self.arrive(name, Some(child));
        }
        self.current = child;
        Ok(Step::Onward)
    }

    fn ascend(&mut self) -> Result<(), Errno> {
        if same_directory(self.current.as_fd(), self.root.as_fd())? {
            let beneath = self.wish.resolve.contains(ResolveFlags::BENEATH);
            return if beneath { Err(Errno::EXDEV) } else { Ok(()) };
        }
        let parent = open_below(self.current.as_fd(), b"..", PATH | OFlags::DIRECTORY)?;
        self.same_mount(parent.as_fd())?;
        self.current = parent;
        Ok(())
    }

    fn follow(
        &mut self,
        name: Vec<u8>,
        link: &OwnedFd,
        stat: &Stat,
        last: bool,
    ) -> Result<Step, Errno> {
        self.links += 1;
        if self.links > MAX_LINKS || self.wish.resolve.contains(ResolveFlags::NO_SYMLINKS) {
            return Err(Errno::ELOOP);
        }
        self.sticky_link_rule(stat)?;
        if procfs::is_procfs(link.as_fd()) {
            if let Some(text) = self.start.procfs.self_text(self.current.as_fd(), &name)? {
                self.push(&text);
                return Ok(Step::Onward);
            }
            if procfs::is_magic(self.current.as_fd(), &name) {
                return self.jump(&name, last);
            }
        }
        let text = rustix::fs::readlinkat(link, c"", Vec::new()).map_err(from_rustix)?.into_bytes();
        if text.is_empty() {
            return Err(Errno::ENOENT);
        }
        if text.starts_with(b"/") {
            if self.wish.resolve.contains(ResolveFlags::BENEATH) {
                return Err(Errno::EXDEV);
            }
            if self.relative && self.wish.resolve.contains(ResolveFlags::NO_XDEV) {
                // The kernel compares with a root that it has not looked up yet.
                return Err(Errno::EXDEV);
            }
            self.same_mount(self.root.as_fd())?;
            self.current = copy(self.root.as_fd())?;
        }
        self.push(&text);
        Ok(Step::Onward)
    }

    /// Follows a magic link: no text, the kernel jumps to an object.
    fn jump(&mut self, name: &[u8], last: bool) -> Result<Step, Errno> {
        let scoped = ResolveFlags::IN_ROOT | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        if self.wish.resolve.intersects(scoped) {
            return Err(if self.wish.resolve.contains(ResolveFlags::NO_MAGICLINKS) {
                Errno::ELOOP
            } else {
                Errno::EXDEV
            });
        }
        self.start.procfs.permit(self.current.as_fd(), name)?;
        self.current = open_below(self.current.as_fd(), name, PATH)?;
        if last { Ok(Step::Arrived(self.here())) } else { Ok(Step::Onward) }
    }

    /// fs.protected_symlinks: in a sticky, world-writable directory only one's own links, and those
    /// of the directory's owner, are followed.
    fn sticky_link_rule(&self, link: &Stat) -> Result<(), Errno> {
        const STICKY_WORLD_WRITABLE: u32 = 0o1002;
        if link.st_uid == self.start.uid {
            return Ok(());
        }
        let parent = rustix::fs::fstat(&self.current).map_err(from_rustix)?;
        let exposed = parent.st_mode & STICKY_WORLD_WRITABLE == STICKY_WORLD_WRITABLE;
        if exposed && parent.st_uid != link.st_uid { Err(Errno::EACCES) } else { Ok(()) }
    }

    /// RESOLVE_NO_XDEV: the next directory must be on the mount that the walk is on.
    fn same_mount(&self, next: BorrowedFd<'_>) -> Result<(), Errno> {
        if !self.wish.resolve.contains(ResolveFlags::NO_XDEV) {
            return Ok(());
        }
        let same = mount_of(self.current.as_fd())? == mount_of(next)?;
        if same { Ok(()) } else { Err(Errno::EXDEV) }
    }

    fn arrive(&mut self, name: Vec<u8>, object: Option<OwnedFd>) -> Result<Step, Errno> {
        Ok(Step::Arrived(Place {
            parent: Some(copy(self.current.as_fd())?),
            name,
            object,
            directory_wanted: self.directory_wanted,
        }))
    }

    fn here(&mut self) -> Place {
        Place {
            parent: None,
            name: Vec::new(),
            object: copy(self.current.as_fd()).ok(),
            directory_wanted: self.directory_wanted,
        }
    }

    /// Puts the components of `text` before what is still to go.
    fn push(&mut self, text: &[u8]) {
        if self.pending.is_empty() && text.ends_with(b"/") {
            self.directory_wanted = true;
        }
        for component in text.split(|byte| *byte == b'/').rev() {
            if !component.is_empty() {
                self.pending.push_front(component.to_vec());
            }
        }
    }
}

fn require_directory(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(fd).map_err(from_rustix)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(()),
        _ => Err(Errno::ENOTDIR),
    }
}

fn copy(fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(fd, 3).map_err(from_rustix)
}

fn open_below(parent: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(from_rustix)
}

/// Whether two descriptors are the same directory of the same mount.
pub(crate) fn same_directory(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> Result<bool, Errno> {
    let (a, b) = (mount_and_inode(a)?, mount_and_inode(b)?);
    Ok(a.stx_ino == b.stx_ino
        && a.stx_mnt_id == b.stx_mnt_id
        && (a.stx_dev_major, a.stx_dev_minor) == (b.stx_dev_major, b.stx_dev_minor))
}

fn mount_of(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    mount_and_inode(fd).map(|found| found.stx_mnt_id)
}

fn mount_and_inode(fd: BorrowedFd<'_>) -> Result<Statx, Errno> {
    let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
    rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, wanted).map_err(from_rustix)
}
