//! The agent socket as a file: whether it is still the one that was connected to.

use std::ffi::CString;
use std::fs;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::log;
use crate::sys::inotify::Watch;

/// How often the file is looked at without a watch: its loss must be noticed within a second.
const LOOK: Duration = Duration::from_millis(500);

/// Device and inode.
type Identity = (u64, u64);

/// The socket's file.
#[derive(Debug)]
pub(crate) struct Presence {
    path: PathBuf,
    identity: Identity,
    eye: Eye,
}

/// How its loss is noticed.
#[derive(Debug)]
enum Eye {
    /// By a look at that time, and then by a watch. What ends before needs none: closing a watch takes
    /// the kernel some milliseconds.
    Closed(Instant),
    /// By the kernel's news of its directory.
    Watching(Watch),
    /// By looking again and again, since there can be no watch.
    Looking,
}

impl Presence {
    /// The file behind `path`, to which a connection was just made whose peer calls itself `peer`.
    ///
    /// None where the connection does not lead to that file: a supervisor may answer for the path
    /// itself, and then the file, if there is one, is somebody else's.
    pub(crate) fn of(path: &Path, peer: Option<&Path>) -> Option<Self> {
        let identity = identity(path)?;
        // A relative name, or one of another mount namespace, proves nothing.
        let peer = peer?;
        let other = if peer.is_absolute() { self::identity(peer) } else { None };
        if other.is_some_and(|other| other != identity) {
            return None;
        }
        Some(Self { path: path.to_owned(), identity, eye: Eye::Closed(Instant::now() + LOOK) })
    }

    /// The fd that becomes readable when something is to be looked at.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.eye {
            Eye::Watching(watch) => Some(watch.fd()),
            _ => None,
        }
    }

    /// The longest time until the next look, where no fd tells.
    pub(crate) fn patience(&self) -> Option<Duration> {
        match &self.eye {
            Eye::Closed(until) => Some(until.saturating_duration_since(Instant::now())),
            Eye::Watching(_) => None,
            Eye::Looking => Some(LOOK),
        }
    }

    /// Whether the file is still there, as far as there is news.
    pub(crate) fn holds(&mut self) -> bool {
        match &self.eye {
            Eye::Closed(until) if Instant::now() < *until => return true,
            // The watch comes before the look, so that no loss falls in between.
            Eye::Closed(_) => self.eye = self.open(),
            Eye::Watching(watch) if !watch.drain() => return true,
            Eye::Watching(_) | Eye::Looking => {}
        }
        self.is_there()
    }

    /// Whether the file is still there, by looking. A file that replaced it is another one.
    pub(crate) fn is_there(&self) -> bool {
        identity(&self.path) == Some(self.identity)
    }

    fn open(&self) -> Eye {
        let directory = self.path.parent().unwrap_or(Path::new("/")).as_os_str();
        match CString::new(directory.as_bytes()).map_err(Into::into).and_then(|d| Watch::on(&d)) {
            Ok(watch) => Eye::Watching(watch),
            Err(error) => {
                log::debug(&format!("no inotify watch, looking twice a second instead: {error}"));
                Eye::Looking
            }
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("presence-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn socket(&self) -> PathBuf {
            self.0.join("agent.sock")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// EC-002: removed, replaced and renamed are all gone; what happens beside it is not.
    #[test]
    fn a_loss_is_noticed_with_and_without_a_watch() {
        for (name, loss) in [
            ("removed", (|p| fs::remove_file(p).unwrap()) as fn(&Path)),
            ("renamed", |p| fs::rename(p, p.with_file_name("other")).unwrap()),
            ("replaced", |p| {
                let new = p.with_file_name("new");
                drop(UnixListener::bind(&new).unwrap());
                fs::rename(&new, p).unwrap();
            }),
        ] {
            for watched in [true, false] {
                let scratch = Scratch::new(&format!("{name}-{watched}"));
                let path = scratch.socket();
                let _listener = UnixListener::bind(&path).unwrap();
                let mut presence = Presence::of(&path, Some(&path)).unwrap();
                assert!(presence.patience().is_some_and(|rest| rest <= LOOK));
                assert!(presence.holds() && presence.fd().is_none());
                presence.eye = if watched { Eye::Closed(Instant::now()) } else { Eye::Looking };
                assert!(presence.holds());
                assert_eq!(presence.patience().is_some(), !watched);
                assert_eq!(presence.fd().is_some(), watched);
                fs::write(path.with_file_name("beside"), "").unwrap();
                fs::remove_file(path.with_file_name("beside")).unwrap();
                assert!(presence.holds() && presence.is_there(), "{name} {watched}");
                loss(&path);
                assert!(!presence.holds(), "{name} {watched}");
                assert!(!presence.is_there());
            }
        }
    }

    #[test]
    fn a_file_that_is_not_the_peer_is_not_watched() {
        let scratch = Scratch::new("other");
        let (path, other) = (scratch.socket(), scratch.0.join("other.sock"));
        assert!(Presence::of(&path, Some(&path)).is_none(), "there is no file");
        let _listeners = (UnixListener::bind(&path).unwrap(), UnixListener::bind(&other).unwrap());
        assert!(Presence::of(&path, Some(&other)).is_none(), "the peer is another file");
        assert!(Presence::of(&path, None).is_none(), "the peer has no name");
        for elsewhere in ["/nonexistent/agent.sock", "Cargo.toml"] {
            let elsewhere = Path::new(elsewhere);
            assert!(Presence::of(&path, Some(elsewhere)).is_some(), "a name of somewhere else");
        }
    }
}
