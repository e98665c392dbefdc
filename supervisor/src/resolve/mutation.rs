//! Resolving path mutations: every end of a mutation is a pinned directory and a name in it, or a
//! pinned object.

use nix::errno::Errno;
use rustix::fs::{ResolveFlags, Timespec, Timestamps};

use super::{Desk, Object, Place, Unresolved, Wish, identity};
use crate::decode::{At, Mutation, Pointer, TimesLayout};

const MAX_ATTRIBUTE_NAME: usize = 256;
const MAX_ATTRIBUTE_VALUE: u64 = 65_536;

/// What is to be changed, owned.
#[derive(Debug)]
pub(crate) enum Change {
    Unlink { directory: bool },
    MakeDirectory { mode: u32 },
    MakeNode { mode: u32, device: u32 },
    Symlink { text: Vec<u8> },
    Rename { flags: u32 },
    Link,
    Truncate { length: i64 },
    Mode { mode: u32 },
    Owner { uid: u32, gid: u32 },
    SetAttribute { name: Vec<u8>, value: Vec<u8>, flags: i32 },
    RemoveAttribute { name: Vec<u8> },
    Times(Timestamps),
}

impl Change {
    /// A device node is a way to a device under any name; nobody makes one.
    pub(crate) fn makes_device(&self) -> bool {
        matches!(self, Self::MakeNode { mode, .. }
            if matches!(mode & libc::S_IFMT, libc::S_IFCHR | libc::S_IFBLK))
    }

    /// The operation that rules speak about.
    pub(crate) fn operation(&self) -> &'static str {
        match self {
            Self::Unlink { .. } => "delete",
            Self::MakeDirectory { .. } | Self::MakeNode { .. } | Self::Symlink { .. } => "create",
            Self::Rename { .. } => "rename",
            Self::Link => "link",
            Self::Truncate { .. } => "write",
            Self::Mode { .. }
            | Self::Owner { .. }
            | Self::SetAttribute { .. }
            | Self::RemoveAttribute { .. }
            | Self::Times(_) => "metadata",
        }
    }
}

/// One path of a mutation.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) place: Place,
    pub(crate) object: Object,
}

/// A mutation, ready to be judged and done. Rename and link have two ends.
#[derive(Debug)]
pub(crate) struct MutationRequest {
    pub(crate) change: Change,
    pub(crate) ends: Vec<End>,
    pub(crate) umask: Option<u32>,
}

impl Desk<'_, '_> {
    pub(super) fn mutation(&mut self, mutation: Mutation) -> Result<MutationRequest, Unresolved> {
        check_flags(mutation)?;
        let (change, ends) = match mutation {
            Mutation::Unlink { at, flags } => {
                let directory = flags & libc::AT_REMOVEDIR != 0;
                let purpose = if directory { Purpose::RemoveDirectory } else { Purpose::Unlink };
                (Change::Unlink { directory }, vec![self.name(at, purpose)?])
            }
            Mutation::MakeDirectory { at, mode } => {
                (Change::MakeDirectory { mode }, vec![self.name(at, Purpose::Make)?])
            }
            Mutation::MakeNode { at, mode, device } => {
                (Change::MakeNode { mode, device }, vec![self.name(at, Purpose::Make)?])
            }
            Mutation::Symlink { text, at } => {
                (Change::Symlink { text: self.path(text)? }, vec![self.name(at, Purpose::Make)?])
            }
            Mutation::Rename { from, to, flags } => {
                let ends = vec![self.name(from, Purpose::Move)?, self.name(to, Purpose::MoveTo)?];
                (Change::Rename { flags }, ends)
            }
            Mutation::Link { from, to, flags } => {
                let follow = flags & libc::AT_SYMLINK_FOLLOW != 0;
                let ends = vec![self.existing(from, follow, flags)?, self.name(to, Purpose::Make)?];
                (Change::Link, ends)
            }
            other => self.attribute(other)?,
        };
        let creates = matches!(change, Change::MakeDirectory { .. } | Change::MakeNode { .. });
        let umask = if creates { Some(self.caller.status()?.umask) } else { None };
        Ok(MutationRequest { change, ends, umask })
    }

    fn attribute(&mut self, mutation: Mutation) -> Result<(Change, Vec<End>), Unresolved> {
        let follow = |flags: i32| flags & libc::AT_SYMLINK_NOFOLLOW == 0;
        let attribute_name =
            |desk: &Self, name| desk.memory().string(name, MAX_ATTRIBUTE_NAME, Errno::ERANGE);
        let (change, at, follow, flags) = match mutation {
            Mutation::Truncate { at, length } => (Change::Truncate { length }, at, true, 0),
            Mutation::Mode { at, mode, flags } => (Change::Mode { mode }, at, follow(flags), flags),
            Mutation::Owner { at, uid, gid, flags } => {
                (Change::Owner { uid, gid }, at, follow(flags), flags)
            }
            Mutation::SetAttribute { at, follow, name, value, size, flags } => {
                if size > MAX_ATTRIBUTE_VALUE {
                    return Err(Errno::E2BIG.into());
                }
                let name = attribute_name(self, name)?;
                if name.is_empty() {
                    return Err(Errno::ERANGE.into());
                }
                let value = self.memory().bytes(value, size as usize)?;
                (Change::SetAttribute { name, value, flags }, at, follow, empty_path_if_null(at))
            }
            Mutation::RemoveAttribute { at, follow, name } => {
                let name = attribute_name(self, name)?;
                (Change::RemoveAttribute { name }, at, follow, empty_path_if_null(at))
            }
            Mutation::Times { at, times, layout, flags } => {
                (Change::Times(self.times(times, layout)?), at, follow(flags), flags)
            }
            _ => return Err(Unresolved::Unsupported),
        };
        if matches!(&change, Change::Times(times) if leaves_both(times)) {
            // The kernel does not even look the path up.
            return Ok((change, Vec::new()));
        }
        Ok((change, vec![self.existing(at, follow, flags)?]))
    }

    /// The file that binding a Unix socket makes.
    pub(super) fn socket_file(&mut self, path: Vec<u8>) -> Result<End, Unresolved> {
        self.last_path.borrow_mut().clone_from(&path);
        let end = self.named(libc::AT_FDCWD, path, Purpose::Make);
        end.map_err(|why| match why {
            // Whatever is there already, this is what bind says.
            Unresolved::Errno(Errno::EEXIST) => Unresolved::Errno(Errno::EADDRINUSE),
            why => why,
        })
    }

    /// A name in a directory, never followed.
    fn name(&mut self, at: At, purpose: Purpose) -> Result<End, Unresolved> {
        let requested = self.path(at.path)?;
        self.named(at.dirfd, requested, purpose)
    }

    fn named(
        &mut self,
        dirfd: i32,
        requested: Vec<u8>,
        purpose: Purpose,
    ) -> Result<End, Unresolved> {
        let may_be_missing = matches!(purpose, Purpose::Make | Purpose::MoveTo);
        let resolve = ResolveFlags::empty();
        let wish = Wish { follow_last: false, may_be_missing, parent: true, resolve };
        // A trailing slash asks for a directory, but the walk must not follow a link for it.
        let end = requested.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
        let trimmed = &requested[..end.min(requested.len())];
        let place = self.walk(dirfd, trimmed, wish)?;
        if place.parent.is_none() {
            return Err(purpose.refusal(trimmed).into());
        }
        let directory_wanted = requested.ends_with(b"/");
        let mut end = self.end(place, requested)?;
        end.place.directory_wanted = directory_wanted;
        Ok(end)
    }

    /// An object that exists.
    fn existing(&mut self, at: At, follow: bool, flags: i32) -> Result<End, Unresolved> {
        let requested = if at.path.is_null() && flags & libc::AT_EMPTY_PATH != 0 {
            Vec::new()
        } else {
            self.path(at.path)?
        };
        if requested.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            // Calls on a descriptor alone know neither AT_FDCWD nor O_PATH.
            if at.path.is_null() && (at.dirfd < 0 || self.caller.task.is_path_only(at.dirfd)) {
                return Err(Errno::EBADF.into());
            }
            let object = Some(self.caller.directory(at.dirfd)?);
            let (parent, name) = (None, Vec::new());
            let place = Place { parent, name, object, directory_wanted: false };
            return self.end(place, requested);
        }
        let wish = Wish {
            follow_last: follow,
            may_be_missing: false,
            parent: false,
            resolve: ResolveFlags::empty(),
        };
        let place = self.walk(at.dirfd, &requested, wish)?;
        if place.directory_wanted && !place.is_directory() {
            return Err(Errno::ENOTDIR.into());
        }
        self.end(place, requested)
    }

    fn end(&self, place: Place, requested: Vec<u8>) -> Result<End, Unresolved> {
        self.caller.permit(&place)?;
        let resolved = self.caller.path_of(&place)?;
        let (device, inode) = identity(&place);
        Ok(End { place, object: Object { requested, resolved, device, inode } })
    }

    fn times(&self, at: Pointer, layout: TimesLayout) -> Result<Timestamps, Unresolved> {
        let now = Timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };
        if at.is_null() {
            return Ok(Timestamps { last_access: now, last_modification: now });
        }
        let words = if layout == TimesLayout::Seconds { 2 } else { 4 };
        let bytes = self.memory().bytes(at, words * 8)?;
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            i64::from_ne_bytes(word)
        };
        let time = |index: usize| match layout {
            TimesLayout::Seconds => Ok(Timespec { tv_sec: word(index), tv_nsec: 0 }),
            TimesLayout::Microseconds => {
                let micros = word(index * 2 + 1);
                if !(0..1_000_000).contains(&micros) {
                    return Err(Errno::EINVAL);
                }
                Ok(Timespec { tv_sec: word(index * 2), tv_nsec: micros * 1000 })
            }
            TimesLayout::Nanoseconds => {
                Ok(Timespec { tv_sec: word(index * 2), tv_nsec: word(index * 2 + 1) })
            }
        };
        Ok(Timestamps { last_access: time(0)?, last_modification: time(1)? })
    }
}

/// The calls on a descriptor carry no path at all.
fn empty_path_if_null(at: At) -> i32 {
    if at.path.is_null() { libc::AT_EMPTY_PATH } else { 0 }
}

/// What a name is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Make,
    Unlink,
    RemoveDirectory,
    Move,
    MoveTo,
}

impl Purpose {
    /// What the kernel says where the last component is ".", ".." or the root itself.
    fn refusal(self, path: &[u8]) -> Errno {
        match self {
            Self::Make => Errno::EEXIST,
            Self::Unlink => Errno::EISDIR,
            Self::RemoveDirectory if path.ends_with(b"..") => Errno::ENOTEMPTY,
            Self::RemoveDirectory if path.ends_with(b".") => Errno::EINVAL,
            Self::RemoveDirectory | Self::Move | Self::MoveTo => Errno::EBUSY,
        }
    }
}

/// Unknown flags are refused before any path is looked at.
fn check_flags(mutation: Mutation) -> Result<(), Errno> {
    const OBJECT: i32 = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
    const LINK: i32 = libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH;
    let (flags, known) = match mutation {
        Mutation::Unlink { flags, .. } => (flags, libc::AT_REMOVEDIR),
        Mutation::Link { flags, .. } => (flags, LINK),
        Mutation::Mode { flags, .. }
        | Mutation::Owner { flags, .. }
        | Mutation::Times { flags, .. } => (flags, OBJECT),
        Mutation::SetAttribute { flags, .. } => (flags, libc::XATTR_CREATE | libc::XATTR_REPLACE),
        Mutation::Truncate { length, .. } => (i32::from(length < 0), 0),
        Mutation::Rename { flags, .. } => (flags.cast_signed(), 0b111),
        _ => (0, 0),
    };
    if flags & !known == 0 { Ok(()) } else { Err(Errno::EINVAL) }
}

fn leaves_both(times: &Timestamps) -> bool {
    times.last_access.tv_nsec == libc::UTIME_OMIT
        && times.last_modification.tv_nsec == libc::UTIME_OMIT
}
