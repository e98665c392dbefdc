//! Resolving exec: which program would run, with which arguments, through which interpreter.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::names::{descriptor_name, own_descriptors};
use super::{Desk, Object, Place, Unresolved, Wish, identity};
use crate::decode::{At, Pointer};
use crate::sys::from_rustix;

mod elf;

/// The kernel follows interpreters of interpreters this deep.
const MAX_INTERPRETERS: usize = 5;
/// What the kernel reads of a file to find its interpreter.
const SHEBANG_BYTES: usize = 256;
/// More than the kernel's own limit (a quarter of the stack, at most 6 MiB).
const MAX_ARGUMENT_BYTES: usize = 8 << 20;
const AT_EMPTY_PATH: i32 = libc::AT_EMPTY_PATH;
const AT_SYMLINK_NOFOLLOW: i32 = libc::AT_SYMLINK_NOFOLLOW;

/// One program that takes part in an exec.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) object: Object,
    /// Keeps the inode alive, so that its number cannot mean another file until the check.
    pub(crate) _pin: OwnedFd,
}

/// An exec, ready to be judged.
#[derive(Debug)]
pub(crate) struct ExecRequest {
    /// The named file first, then its interpreters; the last is what `/proc/PID/exe` will be.
    pub(crate) programs: Vec<Program>,
    /// The caller's argv.
    pub(crate) argv: Vec<Vec<u8>>,
    /// What the kernel will give the new program: interpreters prepended.
    pub(crate) expected_argv: Vec<Vec<u8>>,
    pub(crate) cwd: Vec<u8>,
    /// The ELF loader that the last program names: the kernel maps and runs it without asking.
    pub(crate) loader: Option<Program>,
}

impl Desk<'_, '_> {
    pub(super) fn exec(
        &mut self,
        at: At,
        argv: Pointer,
        flags: i32,
    ) -> Result<ExecRequest, Unresolved> {
        let requested = self.path(at.path)?;
        let argv = self.memory().string_array(argv, MAX_ARGUMENT_BYTES);
        self.notification.check()?;
        let argv = argv?;
        let place = self.program(at.dirfd, &requested, flags)?;
        // The name under which a script is handed to its interpreter.
        let mut name = script_name(at.dirfd, &requested);
        let mut expected = argv.clone();
        if expected.is_empty() {
            expected.push(Vec::new());
        }
        let mut programs = Vec::new();
        let mut loader = None;
        let mut pending = Some((place, requested));
        while let Some((place, requested)) = pending.take() {
            let (program, head) = self.inspect(place, requested)?;
            programs.push(program);
            if let Head::Binary { loader: Some(path) } = &head {
                let place = self.program(libc::AT_FDCWD, path, 0)?;
                loader = Some(self.inspect(place, path.clone())?.0);
            }
            if let Head::Script(Shebang { path, argument }) = head {
                if programs.len() > MAX_INTERPRETERS {
                    return Err(Errno::ELOOP.into());
                }
                expected
                    .splice(..1, [Some(path.clone()), argument, Some(name)].into_iter().flatten());
                name = path.clone();
                let place = self.program(libc::AT_FDCWD, &path, 0)?;
                pending = Some((place, path));
            }
        }
        let cwd = super::procfs::own_link(&self.caller.task, "cwd");
        Ok(ExecRequest { programs, argv, expected_argv: expected, cwd, loader })
    }

    fn program(&mut self, dirfd: i32, path: &[u8], flags: i32) -> Result<Place, Unresolved> {
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
            let object = Some(self.caller.directory(dirfd)?);
            let name = Vec::new();
            return Ok(Place { parent: None, name, object, directory_wanted: false });
        }
        let wish = Wish {
            follow_last: flags & AT_SYMLINK_NOFOLLOW == 0,
            may_be_missing: false,
            parent: false,
            resolve: ResolveFlags::empty(),
        };
        let place = self.walk(dirfd, path, wish)?;
        self.caller.permit(&place)?;
        Ok(place)
    }

    fn inspect(&self, place: Place, requested: Vec<u8>) -> Result<(Program, Head), Unresolved> {
        let resolved = self.caller.path_of(&place)?;
        let (device, inode) = identity(&place);
        let pin = place.object.ok_or(Errno::ENOENT)?;
        let stat = rustix::fs::fstat(&pin).map_err(from_rustix)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if !place.directory_wanted => {}
            FileType::RegularFile => return Err(Errno::ENOTDIR.into()),
            FileType::Symlink => return Err(Errno::ELOOP.into()),
            _ => return Err(Errno::EACCES.into()),
        }
        let head = read_head(pin.as_fd())?;
        let object = Object { requested, resolved, device, inode };
        Ok((Program { object, _pin: pin }, head))
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Shebang {
    path: Vec<u8>,
    argument: Option<Vec<u8>>,
}

/// What the beginning of a program says.
#[derive(Debug, PartialEq, Eq)]
enum Head {
    Script(Shebang),
    Binary { loader: Option<Vec<u8>> },
}

/// Reads the beginning of a program. Of one that we cannot read we know no interpreter and no
/// loader; if it has one after all, the check at the exec stop finds it and kills.
fn read_head(pin: BorrowedFd<'_>) -> Result<Head, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let name = descriptor_name(pin);
    let file = match rustix::fs::openat(own_descriptors()?, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
            return Ok(Head::Binary { loader: None });
        }
        Err(errno) => return Err(from_rustix(errno)),
    };
    let mut head = [0_u8; SHEBANG_BYTES];
    let length = rustix::io::read(&file, &mut head[..]).map_err(from_rustix)?;
    match parse_shebang(&head[..length])? {
        Some(shebang) => Ok(Head::Script(shebang)),
        None => Ok(Head::Binary { loader: elf::loader(&head[..length], file.as_fd()) }),
    }
}

/// The kernel's own reading of `#!`: one interpreter, one optional argument, the rest of the line.
fn parse_shebang(head: &[u8]) -> Result<Option<Shebang>, Errno> {
    let Some(line) = head.strip_prefix(b"#!") else { return Ok(None) };
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let whole = line.iter().position(|byte| *byte == b'\n');
    let line = &line[..whole.unwrap_or(line.len())];
    let from = line.iter().position(|byte| !blank(byte)).ok_or(Errno::ENOEXEC)?;
    let line = &line[from..];
    let end = line.iter().position(|byte| blank(byte) || *byte == 0);
    if whole.is_none() && end.is_none() && head.len() == SHEBANG_BYTES {
        // The interpreter's name itself is cut off.
        return Err(Errno::ENOEXEC);
    }
    let path = line[..end.unwrap_or(line.len())].to_vec();
    if path.is_empty() {
        return Err(Errno::ENOEXEC);
    }
    let rest = end.map_or(&[][..], |end| &line[end..]);
    let argument = rest.iter().position(|byte| !blank(byte)).and_then(|from| {
        let text = &rest[from..];
        let text = &text[..text.iter().position(|byte| *byte == 0).unwrap_or(text.len())];
        let until = text.iter().rposition(|byte| !blank(byte))? + 1;
        Some(text[..until].to_vec())
    });
    Ok(Some(Shebang { path, argument }))
}

/// What execveat calls a script towards its interpreter.
fn script_name(dirfd: i32, requested: &[u8]) -> Vec<u8> {
    if dirfd == libc::AT_FDCWD || requested.starts_with(b"/") {
        return requested.to_vec();
    }
    let mut name = format!("/dev/fd/{dirfd}").into_bytes();
    if !requested.is_empty() {
        name.push(b'/');
        name.extend_from_slice(requested);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_shebang(head: &[u8], path: &[u8], argument: Option<&[u8]>) {
        let expected = Shebang { path: path.to_vec(), argument: argument.map(<[u8]>::to_vec) };
        assert_eq!(parse_shebang(head), Ok(Some(expected)));
    }

    #[test]
    fn reads_interpreters_as_the_kernel_does() {
        assert_shebang(b"#!/bin/sh\necho", b"/bin/sh", None);
        assert_shebang(b"#! /usr/bin/env  python3 -u \nx", b"/usr/bin/env", Some(b"python3 -u"));
        assert_shebang(b"#!/bin/sh", b"/bin/sh", None);
    }

    #[test]
    fn binaries_have_none_and_empty_ones_do_not_run() {
        assert_eq!(parse_shebang(b"\x7fELF"), Ok(None));
        assert_eq!(parse_shebang(b"#!\n"), Err(Errno::ENOEXEC));
        assert_eq!(parse_shebang(&[b"#!/".as_slice(), &[b'a'; 253]].concat()), Err(Errno::ENOEXEC));
    }

    #[test]
    fn scripts_by_descriptor_are_called_by_it() {
        assert_eq!(script_name(5, b"x"), b"/dev/fd/5/x");
        assert_eq!(script_name(5, b""), b"/dev/fd/5");
        assert_eq!(script_name(5, b"/x"), b"/x");
    }
}
