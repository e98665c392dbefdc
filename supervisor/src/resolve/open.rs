//! Resolving the open family.

use nix::errno::Errno;
use rustix::fs::{FileType, OFlags, ResolveFlags};

use super::{Desk, Object, Place, Request, Unresolved, Wish, identity};
use crate::decode::{At, How, Pointer};

const O_PATH: u64 = libc::O_PATH as u64;
const O_CREAT: u64 = libc::O_CREAT as u64;
const O_EXCL: u64 = libc::O_EXCL as u64;
const O_NOFOLLOW: u64 = libc::O_NOFOLLOW as u64;
const O_DIRECTORY: u64 = libc::O_DIRECTORY as u64;
const O_TMPFILE: u64 = libc::O_TMPFILE as u64;
/// The smallest `struct open_how`: flags, mode, resolve.
const OPEN_HOW_V0: u64 = 24;

/// An open, ready to be judged and done.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub(crate) place: Place,
    pub(crate) object: Object,
    /// The caller's O_* flags, as the kernel would have read them.
    pub(crate) flags: OFlags,
    pub(crate) mode: u32,
    /// The caller's umask, where something is to be created.
    pub(crate) umask: Option<u32>,
}

/// Flags, mode and RESOLVE_* of an open, copied out of the caller.
#[derive(Clone, Copy)]
struct Parameters {
    flags: u64,
    mode: u64,
    resolve: u64,
}

impl Parameters {
    fn has(self, flags: u64) -> bool {
        self.flags & flags == flags
    }

    fn is_temporary(self) -> bool {
        self.has(O_TMPFILE)
    }

    fn creates(self) -> bool {
        self.has(O_CREAT) && !self.is_temporary()
    }
}

impl Desk<'_, '_> {
    pub(super) fn open(&mut self, at: At, how: How) -> Result<Request, Unresolved> {
        let parameters = self.parameters(how)?;
        if parameters.creates() && parameters.has(O_DIRECTORY) {
            return Err(Errno::EINVAL.into());
        }
        let requested = self.path(at.path)?;
        if parameters.has(O_PATH) {
            return match how {
                How::Registers { .. } => Ok(Request::PathOnly { requested }),
                // The kernel would read the flags again; callers fall back to openat.
                How::Memory { .. } => Err(Errno::ENOSYS.into()),
            };
        }
        let creates = parameters.creates();
        let wish = Wish {
            follow_last: !(parameters.has(O_NOFOLLOW) || creates && parameters.has(O_EXCL)),
            may_be_missing: creates,
            parent: creates,
            resolve: ResolveFlags::from_bits_retain(parameters.resolve),
        };
        let found = self.walk(at.dirfd, &requested, wish).and_then(|place| {
            check_kind(&place, parameters)?;
            Ok(place)
        });
        let has_effects = creates || parameters.has(libc::O_TRUNC as u64);
        if (found.is_err() || has_effects) && !self.caller.task.has_room_for_a_descriptor() {
            // The kernel takes the number first, before it looks at anything.
            return Err(Errno::EMFILE.into());
        }
        let place = found?;
        self.caller.permit(&place)?;
        let resolved = self.caller.path_of(&place)?;
        let (device, inode) = identity(&place);
        let umask = if creates || parameters.is_temporary() {
            Some(self.caller.status()?.umask)
        } else {
            None
        };
        Ok(Request::Open(OpenRequest {
            place,
            object: Object { requested, resolved, device, inode },
            flags: OFlags::from_bits_retain(parameters.flags as u32),
            mode: parameters.mode as u32,
            umask,
        }))
    }

    fn parameters(&self, how: How) -> Result<Parameters, Unresolved> {
        match how {
            How::Registers { flags, mode } => Ok(Parameters {
                // The kernel drops unknown flags of the older calls silently.
                flags: u64::from(flags.cast_unsigned()),
                mode: u64::from(mode & 0o7777),
                resolve: 0,
            }),
            How::Memory { pointer, size } => self.open_how(pointer, size),
        }
    }

    fn open_how(&self, pointer: Pointer, size: u64) -> Result<Parameters, Unresolved> {
        if size < OPEN_HOW_V0 {
            return Err(Errno::EINVAL.into());
        }
        if size > 4096 {
            return Err(Errno::E2BIG.into());
        }
        let bytes = self.memory().bytes(pointer, size as usize)?;
        if bytes[OPEN_HOW_V0 as usize..].iter().any(|byte| *byte != 0) {
            return Err(Errno::E2BIG.into());
        }
        let field = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_ne_bytes(word)
        };
        let parameters = Parameters { flags: field(0), mode: field(1), resolve: field(2) };
        validate(parameters)?;
        Ok(parameters)
    }
}

/// openat2 refuses what the older calls ignore.
fn validate(parameters: Parameters) -> Result<(), Errno> {
    const KNOWN_FLAGS: u64 = 0o37_777_703;
    /// NO_XDEV to CACHED.
    const KNOWN_RESOLVE: u64 = 0x3f;
    let creating = parameters.creates() || parameters.is_temporary();
    let scopes = (ResolveFlags::BENEATH | ResolveFlags::IN_ROOT).bits();
    if parameters.flags & !KNOWN_FLAGS != 0
        || parameters.resolve & !KNOWN_RESOLVE != 0
        || parameters.resolve & scopes == scopes
        || parameters.mode & !0o7777 != 0
        || (parameters.mode != 0 && !creating)
    {
        return Err(Errno::EINVAL);
    }
    Ok(())
}

/// The refusals that depend on what was found, before anybody is asked.
fn check_kind(place: &Place, parameters: Parameters) -> Result<(), Errno> {
    if parameters.creates() && place.directory_wanted && place.parent.is_some() {
        return Err(Errno::EISDIR);
    }
    let Some(object) = &place.object else { return Ok(()) };
    let stat = rustix::fs::fstat(object).map_err(crate::sys::from_rustix)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if parameters.creates() && parameters.has(O_EXCL) {
        return Err(Errno::EEXIST);
    }
    if kind == FileType::Symlink {
        return Err(if parameters.has(O_DIRECTORY) { Errno::ENOTDIR } else { Errno::ELOOP });
    }
    let is_directory = kind == FileType::Directory;
    if parameters.creates() && is_directory {
        return Err(Errno::EISDIR);
    }
    if (place.directory_wanted || parameters.has(O_DIRECTORY)) && !is_directory {
        return Err(Errno::ENOTDIR);
    }
    Ok(())
}
