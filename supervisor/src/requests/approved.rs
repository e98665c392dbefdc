//! The directory of approved files: whole ones, written for good before anybody is told.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where approved files are.
#[derive(Debug)]
pub(super) struct Approved(PathBuf);

impl Approved {
    /// Takes the directory over, and clears away what a crash left half written.
    pub(super) fn new(directory: PathBuf) -> io::Result<Self> {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            if is_half(&entry.file_name()) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(Self(directory))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.0
    }

    pub(super) fn path(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.yaml"))
    }

    /// Writes a file under its name, at once or not at all.
    pub(super) fn write(&self, id: &str, text: &str) -> io::Result<()> {
        let half = self.0.join(format!(".{id}.half"));
        let written =
            self.write_half(&half, text).and_then(|()| std::fs::rename(&half, self.path(id)));
        if written.is_err() {
            let _ = std::fs::remove_file(&half);
        }
        written.and_then(|()| self.sync())
    }

    fn write_half(&self, half: &Path, text: &str) -> io::Result<()> {
        let mut open = OpenOptions::new();
        let mut file = open.write(true).create(true).truncate(true).mode(0o600).open(half)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Removes a file for good; one that is not there is fine.
    pub(super) fn remove(&self, id: &str) -> io::Result<()> {
        match std::fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.sync(),
        }
    }

    /// The text of a file, if it is there.
    pub(super) fn read(&self, id: &str) -> io::Result<Option<String>> {
        match std::fs::read_to_string(self.path(id)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }
}

fn is_half(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".") && name.ends_with(b".half")
}
