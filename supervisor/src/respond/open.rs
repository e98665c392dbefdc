//! Opening on behalf: the pinned object is opened as the caller, and the descriptor handed over.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

use nix::errno::Errno;
use rustix::fs::{FileType, Mode, OFlags, Stat};

use super::{Answer, Attempt, Class, Means};
use crate::receive::Reply;
use crate::resolve::names::{descriptor_name, own_descriptors};
use crate::resolve::open::OpenRequest;
use crate::resolve::{Caller, procfs};
use crate::sys::from_rustix;

/// `/dev/tty`: whoever opens it gets its own controlling terminal.
const TTY_DEVICE: (u32, u32) = (5, 0);

pub(super) fn open(
    request: &OpenRequest,
    caller: &Caller,
    means: Means<'_>,
) -> Result<Attempt, Errno> {
    let mode = Mode::from_raw_mode(request.mode);
    let mut flags = request.flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    if let Some(umask) = request.umask {
        means.guise.set_umask(umask);
    }
    let result = match (&request.place.object, &request.place.parent) {
        (Some(object), parent) => {
            let stat = rustix::fs::fstat(object).map_err(from_rustix)?;
            if request.flags.contains(OFlags::CREATE)
                && let Some(parent) = parent
            {
                sticky_rule(&rustix::fs::fstat(parent).map_err(from_rustix)?, &stat, caller)?;
            }
            if is_terminal_alias(&stat) {
                return terminal(request, caller);
            }
            if !request.flags.contains(OFlags::TMPFILE) {
                flags.remove(OFlags::CREATE | OFlags::EXCL);
            }
            flags.remove(OFlags::NOFOLLOW);
            let name = descriptor_name(object.as_fd());
            let table = own_descriptors()?;
            means.guise.wear(caller.credentials()?)?;
            means.slot.interruptible(|| rustix::fs::openat(table, name, flags, mode))
        }
        (None, Some(parent)) => {
            // Exclusive: what appears meanwhile was not judged, and no link is followed.
            flags |= OFlags::CREATE | OFlags::EXCL;
            means.guise.wear(caller.credentials()?)?;
            let name = &request.place.name[..];
            means.slot.interruptible(|| rustix::fs::openat(parent, name, flags, mode))
        }
        (None, None) => return Err(Errno::ENOENT),
    };
    means.guise.take_off()?;
    match result {
        Ok(fd) => Ok(handed_over(fd, request)),
        Err(rustix::io::Errno::EXIST) if !request.flags.contains(OFlags::EXCL) => {
            Ok(Attempt::Changed)
        }
        Err(errno) => Err(from_rustix(errno)),
    }
}

fn handed_over(fd: OwnedFd, request: &OpenRequest) -> Attempt {
    let close_on_exec = request.flags.contains(OFlags::CLOEXEC);
    let reply = Reply::Descriptor { fd, close_on_exec };
    Attempt::Done(Answer::new(reply, Class::OnBehalf))
}

fn is_terminal_alias(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
        && (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)) == TTY_DEVICE
}

/// `/dev/tty` is the caller's terminal, not the supervisor's. Which one is in the caller's status;
/// its own descriptors are the way to the very device, in whichever devpts it lives.
fn terminal(request: &OpenRequest, caller: &Caller) -> Result<Attempt, Errno> {
    let device = procfs::terminal_of(&caller.task)?;
    if device == 0 {
        return Err(Errno::ENXIO);
    }
    // tty_nr packs the minor around the major; dev_t does it differently.
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
    let wanted = rustix::fs::makedev(major as u32, minor as u32);
    let path = match major {
        136..=143 => format!("/dev/pts/{}", minor + (major - 136) * 256),
        4 if minor < 64 => format!("/dev/tty{minor}"),
        4 => format!("/dev/ttyS{}", minor - 64),
        _ => return Err(Errno::ENXIO),
    };
    let flags = (request.flags | OFlags::CLOEXEC | OFlags::NOCTTY)
        & !(OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW);
    let matches = |fd: &OwnedFd| rustix::fs::fstat(fd).is_ok_and(|stat| stat.st_rdev == wanted);
    let root = caller.task.link("root")?;
    let by_name = rustix::fs::openat(&root, &path[1..], flags, Mode::empty()).ok().filter(matches);
    let by_descriptor = || {
        (0..3).find_map(|number| {
            let pinned = caller.task.link(&format!("fd/{number}")).ok().filter(matches)?;
            let name = descriptor_name(pinned.as_fd());
            rustix::fs::openat(own_descriptors().ok()?, name, flags, Mode::empty()).ok()
        })
    };
    let fd = by_name.or_else(by_descriptor).ok_or(Errno::ENXIO)?;
    Ok(handed_over(fd, request))
}

/// fs.protected_regular and fs.protected_fifos: O_CREAT on somebody else's file in a sticky,
/// world-writable directory is refused. The kernel checks this only while creating by name.
fn sticky_rule(parent: &Stat, object: &Stat, caller: &Caller) -> Result<(), Errno> {
    const STICKY: u32 = 0o1000;
    let level = match FileType::from_raw_mode(object.st_mode) {
        FileType::RegularFile => protected("regular"),
        FileType::Fifo => protected("fifos"),
        _ => 0,
    };
    let uid = caller.credentials()?.uid;
    let foreign = object.st_uid != uid && object.st_uid != parent.st_uid;
    let exposed = parent.st_mode & 0o002 != 0 || (level >= 2 && parent.st_mode & 0o020 != 0);
    if level > 0 && parent.st_mode & STICKY != 0 && foreign && exposed {
        return Err(Errno::EACCES);
    }
    Ok(())
}

fn protected(kind: &str) -> u32 {
    static REGULAR: OnceLock<u32> = OnceLock::new();
    static FIFOS: OnceLock<u32> = OnceLock::new();
    let cell = if kind == "regular" { &REGULAR } else { &FIFOS };
    *cell.get_or_init(|| {
        std::fs::read_to_string(format!("/proc/sys/fs/protected_{kind}"))
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(2)
    })
}
