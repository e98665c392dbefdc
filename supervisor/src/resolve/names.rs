//! What a pinned object is called.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use nix::errno::Errno;
use rustix::fs::{Mode, OFlags};

use crate::sys::from_rustix;

/// The supervisor's own table of descriptors, through which pinned objects are named and reopened.
pub(crate) fn own_descriptors() -> Result<BorrowedFd<'static>, Errno> {
    static TABLE: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    TABLE
        .get_or_init(|| rustix::fs::open("/proc/self/fd", flags, Mode::empty()).ok())
        .as_ref()
        .map(AsFd::as_fd)
        .ok_or(Errno::ENOSYS)
}

/// The path of an open descriptor, as the kernel tells it. An unlinked file loses the kernel's
/// remark, which a name could forge.
pub(crate) fn path_of(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let name = descriptor_name(fd);
    let mut path = rustix::fs::readlinkat(own_descriptors()?, name, Vec::with_capacity(256))
        .map_err(from_rustix)?
        .into_bytes();
    const REMARK: &[u8] = b" (deleted)";
    if path.ends_with(REMARK) && rustix::fs::fstat(fd).is_ok_and(|stat| stat.st_nlink == 0) {
        path.truncate(path.len() - REMARK.len());
    }
    Ok(path)
}

/// The name of a descriptor in [`own_descriptors`].
pub(crate) fn descriptor_name(fd: BorrowedFd<'_>) -> String {
    fd.as_raw_fd().to_string()
}

/// Text for people, rules and records: bytes that are not UTF-8 appear as `\xNN`.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(text(b"/tmp/a\xffb"), "/tmp/a\\xffb");
    }

    #[test]
    fn a_file_really_called_deleted_keeps_its_name() {
        let directory = std::env::temp_dir().join(format!("names-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("x (deleted)");
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(path_of(file.as_fd()).unwrap(), path.to_str().unwrap().as_bytes());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
