//! A file replaced as a whole: whoever reads it sees the old text or the new one.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use super::input::read_text;

/// How many names for the new file are tried.
const ATTEMPTS: u32 = 16;

/// A regular file as it was read.
pub(super) struct Original {
    pub(super) path: PathBuf,
    pub(super) text: String,
    metadata: Metadata,
}

impl Original {
    /// Reads a regular file. A symbolic link is refused: replacing it would leave the file that it
    /// leads to as it is.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        if path.symlink_metadata()?.is_symlink() {
            return Err(io::Error::other("it is a symbolic link; name the file it leads to"));
        }
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        Ok(Self { path: path.to_owned(), text: read_text(file)?, metadata })
    }

    /// Puts a new file with the same owner and mode in the place of this one.
    pub(super) fn replace(&self, text: &str) -> io::Result<()> {
        let directory = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let (name, file) = new_file(directory)?;
        let moved = self.fill(file, text).and_then(|()| std::fs::rename(&name, &self.path));
        if moved.is_err() {
            let _ = std::fs::remove_file(&name);
        }
        moved?;
        File::open(directory)?.sync_all()
    }

    fn fill(&self, mut file: File, text: &str) -> io::Result<()> {
        file.write_all(text.as_bytes())?;
        let ours = file.metadata()?;
        let owner = (self.metadata.uid(), self.metadata.gid());
        if (ours.uid(), ours.gid()) != owner {
            fchown(&file, Some(owner.0), Some(owner.1))?;
        }
        // After the owner: a change of owner takes bits away.
        file.set_permissions(self.metadata.permissions())?;
        file.sync_all()
    }
}

/// A new file beside the old one, hidden, so that nobody loads it as rules.
fn new_file(directory: &Path) -> io::Result<(PathBuf, File)> {
    let mut last = io::Error::other("no name is free");
    for attempt in 0..ATTEMPTS {
        let name = directory.join(format!(".outcallctl-fmt-{}-{attempt}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("outcall-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let directory = directory("replace");
        let path = directory.join("a.yaml");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let mut reader = File::open(&path).unwrap();
        Original::read(&path).unwrap().replace("new").unwrap();
        assert_eq!(read_text(&mut reader).unwrap(), "old", "a reader keeps what it has opened");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640);
        assert_eq!(directory.read_dir().unwrap().count(), 1, "something is left beside it");
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let directory = directory("refuse");
        std::fs::write(directory.join("a"), "x").unwrap();
        symlink("a", directory.join("link")).unwrap();
        symlink("absent", directory.join("dangling")).unwrap();
        for name in ["link", "dangling", "absent", ""] {
            assert!(Original::read(&directory.join(name)).is_err(), "{name}");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_failed_replacement_leaves_nothing_behind() {
        let directory = directory("fail");
        let path = directory.join("a.yaml");
        std::fs::write(&path, "old").unwrap();
        let original = Original::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(original.replace("new").is_err());
        assert_eq!(directory.read_dir().unwrap().count(), 1);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
