//! Path mutations on behalf: `*at` calls on the pinned directory, or on the pinned object.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags};

use super::Means;
use crate::resolve::Caller;
use crate::resolve::mutation::{Change, End, MutationRequest};
use crate::resolve::names::{descriptor_name, own_descriptors};
use crate::sys::from_rustix;
use crate::sys::signal::signal_thread;

pub(super) fn mutate(
    request: &MutationRequest,
    caller: &Caller,
    means: Means<'_>,
) -> Result<(), Errno> {
    if let Some(umask) = request.umask {
        means.guise.set_umask(umask);
    }
    if let Change::Truncate { length } = request.change
        && caller.task.file_size_limit().is_some_and(|limit| length.cast_unsigned() > limit)
    {
        let _ = signal_thread(caller.task.tgid, caller.task.tid, Signal::SIGXFSZ);
        return Err(Errno::EFBIG);
    }
    means.guise.wear(caller.credentials()?)?;
    let result = means.slot.interruptible(|| change(request));
    means.guise.take_off()?;
    result
}

fn change(request: &MutationRequest) -> Result<(), Errno> {
    // Without an end there is nothing to change.
    let Some(first) = request.ends.first() else { return Ok(()) };
    match &request.change {
        Change::Rename { flags } => {
            let second = request.ends.get(1).ok_or(Errno::EINVAL)?;
            let flags = RenameFlags::from_bits_retain(*flags);
            let (from, to) = (parent(first)?, parent(second)?);
            rustix::fs::renameat_with(from, &name(first)[..], to, &name(second)[..], flags)
                .map_err(from_rustix)
        }
        Change::Link => {
            let second = request.ends.get(1).ok_or(Errno::EINVAL)?;
            let (table, pinned) = pinned(first)?;
            let follow = AtFlags::SYMLINK_FOLLOW;
            rustix::fs::linkat(table, pinned, parent(second)?, &name(second)[..], follow)
                .map_err(from_rustix)
        }
        Change::Unlink { .. }
        | Change::MakeDirectory { .. }
        | Change::MakeNode { .. }
        | Change::Symlink { .. } => name_in_directory(&request.change, first),
        _ => attribute(&request.change, first),
    }
}

fn name_in_directory(change: &Change, end: &End) -> Result<(), Errno> {
    let directory = parent(end)?;
    let name = &name(end)[..];
    match change {
        Change::Unlink { directory: remove_directory } => {
            let flags = if *remove_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            rustix::fs::unlinkat(directory, name, flags)
        }
        Change::MakeDirectory { mode } => {
            rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(*mode & 0o7777))
        }
        Change::MakeNode { mode, device } => {
            let kind = match mode & libc::S_IFMT {
                0 => FileType::RegularFile,
                kind => FileType::from_raw_mode(kind),
            };
            let mode = Mode::from_raw_mode(*mode & 0o7777);
            rustix::fs::mknodat(directory, name, kind, mode, u64::from(*device))
        }
        Change::Symlink { text } => rustix::fs::symlinkat(&text[..], directory, name),
        _ => return Err(Errno::EINVAL),
    }
    .map_err(from_rustix)
}

fn attribute(change: &Change, end: &End) -> Result<(), Errno> {
    let (table, pinned) = pinned(end)?;
    let path = format!("/proc/self/fd/{pinned}");
    let is_link = end
        .place
        .object
        .as_ref()
        .and_then(|object| rustix::fs::fstat(object).ok())
        .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
    match change {
        Change::Truncate { length } => return truncate(end, *length),
        Change::Mode { .. } if is_link => return Err(Errno::EOPNOTSUPP),
        Change::Mode { mode } => {
            let mode = Mode::from_raw_mode(*mode & 0o7777);
            rustix::fs::chmodat(table, pinned, mode, AtFlags::empty())
        }
        Change::Owner { uid, gid } => {
            let uid = (*uid != u32::MAX).then(|| Uid::from_raw(*uid));
            let gid = (*gid != u32::MAX).then(|| Gid::from_raw(*gid));
            rustix::fs::chownat(table, pinned, uid, gid, AtFlags::empty())
        }
        Change::Times(times) => rustix::fs::utimensat(table, pinned, times, AtFlags::empty()),
        Change::SetAttribute { name, value, flags } => {
            let flags = XattrFlags::from_bits_retain(flags.cast_unsigned());
            rustix::fs::setxattr(path, &name[..], value, flags)
        }
        Change::RemoveAttribute { name } => rustix::fs::removexattr(path, &name[..]),
        _ => return Err(Errno::EINVAL),
    }
    .map_err(from_rustix)
}

fn truncate(end: &End, length: i64) -> Result<(), Errno> {
    let length = u64::try_from(length).map_err(|_| Errno::EINVAL)?;
    let object = end.place.object.as_ref().ok_or(Errno::ENOENT)?;
    let stat = rustix::fs::fstat(object).map_err(from_rustix)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::EISDIR),
        _ => return Err(Errno::EINVAL),
    }
    let (table, pinned) = pinned(end)?;
    let file = rustix::fs::openat(table, pinned, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(from_rustix)?;
    rustix::fs::ftruncate(&file, length).map_err(from_rustix)
}

fn parent(end: &End) -> Result<&OwnedFd, Errno> {
    end.place.parent.as_ref().ok_or(Errno::EINVAL)
}

/// The name in its directory, with the slash that asks for a directory.
fn name(end: &End) -> Vec<u8> {
    let mut name = end.place.name.clone();
    if end.place.directory_wanted {
        name.push(b'/');
    }
    name
}

fn pinned(end: &End) -> Result<(std::os::fd::BorrowedFd<'static>, String), Errno> {
    let object = end.place.object.as_ref().ok_or(Errno::ENOENT)?;
    Ok((own_descriptors()?, descriptor_name(object.as_fd())))
}
