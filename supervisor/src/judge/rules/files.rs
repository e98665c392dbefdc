//! Rule files as they lie on disk. Each is opened once, from its directory's descriptor, and what is
//! looked at is what is read: no name is followed twice.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::{MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES, SourceFile};
use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

use super::RulesError;
use crate::resolve::names::text;

const EVERYBODY_WRITES: u32 = 0o002;
const STICKY: u32 = 0o1000;
/// How often files that change under the reader are read again, and after which rest.
const ATTEMPTS: u32 = 3;
const REST: Duration = Duration::from_millis(20);

/// Reads every rule file that the paths name, files and directories alike.
pub(super) fn gather(paths: &[PathBuf]) -> Result<Vec<SourceFile>, RulesError> {
    let mut attempt = 1;
    loop {
        match Gathered::from(paths) {
            Err(error) if error.is_passing() && attempt < ATTEMPTS => {
                attempt += 1;
                std::thread::sleep(REST);
            }
            Err(error) => return Err(error),
            Ok(gathered) => return Ok(gathered.files),
        }
    }
}

/// Whether a name in a rule directory is that of a rule file. Editors' own files are hidden
/// (`.x.swp`, `.#x`) or end otherwise (`x~`, `#x#`).
pub(crate) fn is_rule_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    !name.starts_with(b".") && (name.ends_with(b".yaml") || name.ends_with(b".yml"))
}

#[derive(Default)]
struct Gathered {
    files: Vec<SourceFile>,
    bytes: usize,
}

/// A directory that holds rule files.
struct Holder {
    descriptor: OwnedFd,
    /// Everybody can put files there, but not exchange those of others.
    shared: bool,
}

impl Gathered {
    fn from(paths: &[PathBuf]) -> Result<Self, RulesError> {
        let mut gathered = Self::default();
        for path in paths {
            match open_directory(path, OFlags::RDONLY) {
                Ok(directory) => gathered.add_directory(path, directory)?,
                // No directory, or a link that leads nowhere: a file, or what is said about one.
                Err(Errno::NOTDIR | Errno::NOENT | Errno::LOOP) => gathered.add_named(path)?,
                Err(errno) => return Err(reach(path, errno)),
            }
        }
        Ok(gathered)
    }

    fn add_directory(&mut self, path: &Path, directory: OwnedFd) -> Result<(), RulesError> {
        let holder = Holder::inspect(path, directory)?;
        let names = list(path, &holder)?;
        for name in &names {
            self.add(&holder, name.as_os_str(), &path.join(name))?;
        }
        // A file that was renamed while the directory was listed may be missing in the list.
        if names != list(path, &holder)? {
            return Err(RulesError::Changing { file: shown(path) });
        }
        Ok(())
    }

    fn add_named(&mut self, path: &Path) -> Result<(), RulesError> {
        let name = path.file_name().ok_or_else(|| reach(path, Errno::NOENT))?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let directory = open_directory(parent, OFlags::PATH).map_err(|errno| reach(path, errno))?;
        let holder = Holder::inspect(parent, directory)?;
        self.add(&holder, name, path)
    }

    fn add(&mut self, holder: &Holder, name: &OsStr, path: &Path) -> Result<(), RulesError> {
        let source = read(holder, name, shown(path))?;
        self.bytes += source.text.len();
        if self.bytes > MAX_TOTAL_BYTES {
            return Err(RulesError::TooMuch { file: source.name });
        }
        if self.files.len() >= MAX_FILES {
            return Err(RulesError::TooMany { path: path.to_owned() });
        }
        self.files.push(source);
        Ok(())
    }
}

impl Holder {
    fn inspect(path: &Path, descriptor: OwnedFd) -> Result<Self, RulesError> {
        let found = rustix::fs::fstat(&descriptor).map_err(|errno| reach(path, errno))?;
        let shared = found.st_mode & EVERYBODY_WRITES != 0;
        if shared && found.st_mode & STICKY == 0 {
            return Err(RulesError::OpenDirectory { path: path.to_owned() });
        }
        Ok(Self { descriptor, shared })
    }
}

fn open_directory(path: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The names of the rule files in a directory, in order.
fn list(path: &Path, holder: &Holder) -> Result<Vec<PathBuf>, RulesError> {
    let failed = |errno: Errno| RulesError::List { path: path.to_owned(), cause: errno.into() };
    let mut names = Vec::new();
    for entry in Dir::read_from(&holder.descriptor).map_err(failed)? {
        let name = OsStr::from_bytes(entry.map_err(failed)?.file_name().to_bytes()).to_owned();
        if is_rule_name(&name) {
            names.push(PathBuf::from(name));
        }
        if names.len() > MAX_FILES {
            return Err(RulesError::TooMany { path: path.to_owned() });
        }
    }
    if names.is_empty() {
        return Err(RulesError::Empty { path: path.to_owned() });
    }
    names.sort();
    Ok(names)
}

fn read(holder: &Holder, name: &OsStr, file: String) -> Result<SourceFile, RulesError> {
    // Without blocking: a pipe is opened too before it can be seen to be one.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened =
        rustix::fs::openat(&holder.descriptor, name, flags | OFlags::CLOEXEC, Mode::empty());
    let mut opened = match opened {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::LOOP) => return Err(RulesError::Link { file }),
        Err(Errno::NXIO | Errno::NODEV) => return Err(RulesError::Irregular { file }),
        Err(errno) => return Err(RulesError::Open { file, cause: errno.into() }),
    };
    let before = match opened.metadata() {
        Ok(found) => found,
        Err(cause) => return Err(RulesError::Read { file, cause }),
    };
    let file = trusted(holder, &before, file)?;
    let bytes = match read_bounded(&mut opened) {
        Ok(bytes) => bytes,
        Err(cause) => return Err(RulesError::Read { file, cause }),
    };
    if bytes.len() > MAX_FILE_BYTES {
        return Err(RulesError::TooLarge { file });
    }
    if opened.metadata().map_or(true, |after| state(&after) != state(&before)) {
        return Err(RulesError::Changing { file });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SourceFile { name: file, text }),
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            Err(RulesError::NotText { file, offset })
        }
    }
}

/// The name of a file that may be read as rules.
fn trusted(holder: &Holder, found: &Metadata, file: String) -> Result<String, RulesError> {
    if !found.is_file() {
        return Err(RulesError::Irregular { file });
    }
    if found.mode() & EVERYBODY_WRITES != 0 {
        return Err(RulesError::OpenFile { file });
    }
    let owner = found.uid();
    if holder.shared && owner != 0 && owner != nix::unistd::geteuid().as_raw() {
        return Err(RulesError::Foreign { file, owner });
    }
    if found.len() > MAX_FILE_BYTES as u64 {
        return Err(RulesError::TooLarge { file });
    }
    Ok(file)
}

/// One byte more than is allowed at most, so that a growing file is seen to be too large.
fn read_bounded(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What changes when somebody writes.
fn state(found: &Metadata) -> (u64, i64, i64, i64, i64) {
    (found.len(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec())
}

fn reach(path: &Path, errno: Errno) -> RulesError {
    RulesError::Reach { path: path.to_owned(), cause: errno.into() }
}

/// A path as text; bytes that are none are escaped, so that no two files have one name.
fn shown(path: &Path) -> String {
    text(&path.as_os_str().to_owned().into_vec())
}

#[cfg(test)]
#[path = "tests/files.rs"]
mod tests;
