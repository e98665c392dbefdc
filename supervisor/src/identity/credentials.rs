//! `/proc/TID/status`, read by hand: one open, one read, no allocation but the groups.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use rustix::fs::{Mode, OFlags};

use crate::sys::from_rustix;

/// The identity with which a call is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    /// Effective capabilities.
    pub(crate) capabilities: u64,
}

/// The parts of a task's status that decisions need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) tgid: i32,
    pub(crate) parent: i32,
    pub(crate) credentials: Credentials,
    pub(crate) umask: u32,
    /// This task's thread-group ids, from our pid namespace inward.
    pub(crate) namespace_tgids: Vec<i32>,
    /// This task's thread ids, from our pid namespace inward.
    pub(crate) namespace_tids: Vec<i32>,
    /// How a signal that waits would end the call, if one does.
    pub(crate) interruption: Option<Interruption>,
    /// Waiting signals that any thread of the process could take.
    pub(crate) shared_signals: u64,
    pub(crate) blocked_signals: u64,
    /// Seccomp mode: 2 is a filter.
    pub(crate) seccomp: u32,
}

/// How a waiting signal ends a blocking call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// This very thread will handle it: the kernel restarts the call or fails it, as the handler says.
    Restart,
    /// Any thread of the process may take it, so only a plain EINTR is sure to be understood.
    Fail,
}

impl Status {
    /// Reads the status below an open `/proc/PID` directory.
    pub(crate) fn read(directory: BorrowedFd<'_>) -> Result<Self, Errno> {
        let file = rustix::fs::openat(
            directory,
            c"status",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(from_rustix)?;
        let mut buffer = [0_u8; 8192];
        let length = rustix::io::read(file.as_fd(), &mut buffer[..]).map_err(from_rustix)?;
        Self::parse(&String::from_utf8_lossy(&buffer[..length])).ok_or(Errno::EPROTO)
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let hex = |name: &str| u64::from_str_radix(field(name)?, 16).ok();
        let ids = |name: &str| -> Option<Vec<i32>> {
            field(name)?.split_whitespace().map(|id| id.parse().ok()).collect()
        };
        // Columns: real, effective, saved, file system. The last is what files are opened with.
        let file_system_id = |name: &str| field(name)?.split_whitespace().nth(3)?.parse().ok();
        let open = !hex("SigBlk")? & !hex("SigIgn")?;
        let alone = field("Threads")? == "1";
        let interruption = match (hex("SigPnd")? & open != 0, hex("ShdPnd")? & open != 0) {
            (true, _) => Some(Interruption::Restart),
            (false, true) if alone => Some(Interruption::Restart),
            (false, true) => Some(Interruption::Fail),
            (false, false) => None,
        };
        Some(Self {
            tgid: field("Tgid")?.parse().ok()?,
            parent: field("PPid")?.parse().ok()?,
            credentials: Credentials {
                uid: file_system_id("Uid")?,
                gid: file_system_id("Gid")?,
                groups: field("Groups")?
                    .split_whitespace()
                    .map(|group| group.parse().ok())
                    .collect::<Option<_>>()?,
                capabilities: hex("CapEff")?,
            },
            umask: u32::from_str_radix(field("Umask")?, 8).ok()?,
            namespace_tgids: ids("NStgid")?,
            namespace_tids: ids("NSpid")?,
            interruption,
            shared_signals: hex("ShdPnd")? & open,
            blocked_signals: hex("SigBlk")?,
            seccomp: field("Seccomp")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_status() {
        let directory = rustix::fs::open("/proc/self", OFlags::PATH, Mode::empty()).unwrap();
        let status = Status::read(directory.as_fd()).unwrap();
        assert_eq!(status.tgid, std::process::id().cast_signed());
        assert_eq!(status.credentials.uid, nix::unistd::geteuid().as_raw());
        assert_eq!(status.namespace_tgids.last().copied(), Some(status.tgid));
    }

    #[test]
    fn a_status_with_a_missing_field_is_none() {
        assert_eq!(Status::parse("Tgid:\t1\nUid:\t0\t0\t0\t0\n"), None);
    }
}
