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
/// What the kernel reads of a file to know its kind.
const HEAD_BYTES: usize = 256;
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
    let mut head = [0_u8; HEAD_BYTES];
    let length = rustix::io::read(&file, &mut head[..]).map_err(from_rustix)?;
    match parse_shebang(&head[..length])? {
        Some(shebang) => Ok(Head::Script(shebang)),
        None => Ok(Head::Binary { loader: elf::loader(&head[..length], file.as_fd()) }),
    }
}

/// The kernel's own reading of `#!`: one interpreter, one optional argument, the rest of the line,
/// which ends at the last byte that was read where there is no newline before.
fn parse_shebang(read: &[u8]) -> Result<Option<Shebang>, Errno> {
    const LAST: usize = HEAD_BYTES - 1;
    if !read.starts_with(b"#!") {
        return Ok(None);
    }
    let mut head = [0; HEAD_BYTES];
    head[..read.len()].copy_from_slice(read);
    let blank = |at: &usize| matches!(head[*at], b' ' | b'\t');
    let terminator = |at: &usize| blank(at) || head[*at] == 0;
    let text = |from: usize, to: usize| {
        let text = &head[from..to];
        text[..text.iter().position(|byte| *byte == 0).unwrap_or(text.len())].to_vec()
    };
    let newline = head.iter().take_while(|byte| **byte != 0).position(|byte| *byte == b'\n');
    let name = (2..=newline.unwrap_or(LAST)).find(|at| !blank(at)).ok_or(Errno::ENOEXEC)?;
    if newline == Some(name) || (newline.is_none() && !(name..=LAST).any(|at| terminator(&at))) {
        // No name, or one that is cut off.
        return Err(Errno::ENOEXEC);
    }
    let mut end = newline.unwrap_or(LAST);
    while blank(&(end - 1)) {
        end -= 1;
    }
    let Some(gap) = (name..end).find(terminator) else {
        return Ok(Some(Shebang { path: text(name, end), argument: None }));
    };
    let argument = (gap..end).find(|at| !blank(at)).filter(|_| head[gap] != 0);
    let argument = argument.map(|from| text(from, end));
    match text(name, gap) {
        path if path.is_empty() => Err(Errno::ENOENT),
        path => Ok(Some(Shebang { path, argument })),
    }
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
        assert_shebang(b"#!/bin/sh a \0b\n", b"/bin/sh", Some(b"a "));
        assert_shebang(b"#!/bin/sh\0a\n", b"/bin/sh", None);
    }

    #[test]
    fn a_long_line_is_cut_before_the_last_byte_read() {
        let long = [b"#!/bin/sh ".as_slice(), &[b'a'; 246]].concat();
        assert_shebang(&long, b"/bin/sh", Some(&[b'a'; 245]));
        let named = [b"#!/".as_slice(), &[b'a'; 252]].concat();
        let path = [b"/".as_slice(), &[b'a'; 252]].concat();
        assert_shebang(&named, &path, None);
        assert_shebang(&[&named[..], b" "].concat(), &path, None);
    }

    #[test]
    fn binaries_have_none_and_empty_ones_do_not_run() {
        assert_eq!(parse_shebang(b"\x7fELF"), Ok(None));
        assert_eq!(parse_shebang(b"#!\n"), Err(Errno::ENOEXEC));
        assert_eq!(parse_shebang(b"#! \t\n"), Err(Errno::ENOEXEC));
        assert_eq!(parse_shebang(b"#!"), Err(Errno::ENOENT));
        assert_eq!(parse_shebang(&[b"#!/".as_slice(), &[b'a'; 253]].concat()), Err(Errno::ENOEXEC));
    }

    #[test]
    fn scripts_by_descriptor_are_called_by_it() {
        assert_eq!(script_name(5, b"x"), b"/dev/fd/5/x");
        assert_eq!(script_name(5, b""), b"/dev/fd/5");
        assert_eq!(script_name(5, b"/x"), b"/x");
    }
}
