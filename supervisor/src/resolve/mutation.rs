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
        let (change, ends) = match mutation {
            Mutation::Unlink { at, flags } => {
                let change = Change::Unlink { directory: flags & libc::AT_REMOVEDIR != 0 };
                (change, vec![self.name(at, false)?])
            }
            Mutation::MakeDirectory { at, mode } => {
                (Change::MakeDirectory { mode }, vec![self.name(at, true)?])
            }
            Mutation::MakeNode { at, mode, device } => {
                (Change::MakeNode { mode, device }, vec![self.name(at, true)?])
            }
            Mutation::Symlink { text, at } => {
                (Change::Symlink { text: self.path(text)? }, vec![self.name(at, true)?])
            }
            Mutation::Rename { from, to, flags } => {
                let ends = vec![self.name(from, false)?, self.name(to, true)?];
                (Change::Rename { flags }, ends)
            }
            Mutation::Link { from, to, flags } => {
                let follow = flags & libc::AT_SYMLINK_FOLLOW != 0;
                (Change::Link, vec![self.existing(from, follow, flags)?, self.name(to, true)?])
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
                let value = self.memory().bytes(value, size as usize)?;
                (Change::SetAttribute { name, value, flags }, at, follow, 0)
            }
            Mutation::RemoveAttribute { at, follow, name } => {
                (Change::RemoveAttribute { name: attribute_name(self, name)? }, at, follow, 0)
            }
            Mutation::Times { at, times, layout, flags } => {
                (Change::Times(self.times(times, layout)?), at, follow(flags), flags)
            }
            _ => return Err(Unresolved::Unsupported),
        };
        Ok((change, vec![self.existing(at, follow, flags)?]))
    }

    /// A name in a directory, never followed.
    fn name(&mut self, at: At, may_be_missing: bool) -> Result<End, Unresolved> {
        let resolve = ResolveFlags::empty();
        let wish = Wish { follow_last: false, may_be_missing, parent: true, resolve };
        let requested = self.path(at.path)?;
        // A trailing slash asks for a directory, but the walk must not follow a link for it.
        let end = requested.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
        let place = self.walk(at.dirfd, &requested[..end.min(requested.len())], wish)?;
        if place.parent.is_none() {
            // "/", "." or "..": nothing that could be made or removed there.
            return Err(Errno::EBUSY.into());
        }
        let mut end_of = self.end(place, requested.clone())?;
        end_of.place.directory_wanted = requested.ends_with(b"/");
        Ok(end_of)
    }

    /// An object that exists.
    fn existing(&mut self, at: At, follow: bool, flags: i32) -> Result<End, Unresolved> {
        let requested = if at.path.is_null() && flags & libc::AT_EMPTY_PATH != 0 {
            Vec::new()
        } else {
            self.path(at.path)?
        };
        if requested.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
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
