//! The daemon's sockets: bound where nobody else is, and removed at the end.

use std::fs::File;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::config::Config;

/// Both sockets, and the locks on their directories that say whose they are.
#[derive(Debug)]
pub(super) struct Sockets {
    paths: [PathBuf; 2],
    _locks: Vec<File>,
}

/// What came of binding.
pub(super) struct Bound {
    pub(super) sockets: Sockets,
    pub(super) agent: UnixListener,
    pub(super) host: UnixListener,
}

impl Sockets {
    pub(super) fn bind(config: &Config) -> anyhow::Result<Bound> {
        let (agent, host) = (&config.agent_socket, &config.host_socket);
        let agent_directory = prepare(agent, "agent")?;
        let host_directory = prepare(host, "host")?;
        let together = agent_directory == host_directory;
        if together && agent.file_name() == host.file_name() {
            bail!("the agent socket and the host socket are both {}", agent.display());
        }
        let mut locks = vec![lock(&agent_directory, agent, "--agent-socket")?];
        if !together {
            locks.push(lock(&host_directory, host, "--host-socket")?);
        }
        Ok(Bound {
            agent: bind(agent, config.agent_socket_mode)?,
            host: bind(host, config.host_socket_mode)?,
            sockets: Self { paths: [agent.clone(), host.clone()], _locks: locks },
        })
    }

    pub(super) fn remove(&self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Makes the directory of a socket, and tells its real name.
fn prepare(path: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let directory =
        path.parent().with_context(|| format!("the {name} socket needs a directory"))?;
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(directory)
        .and_then(|()| directory.canonicalize())
        .with_context(|| format!("cannot create {}", directory.display()))
}

fn lock(directory: &Path, socket: &Path, flag: &str) -> anyhow::Result<File> {
    let lock = File::open(directory)?;
    if lock.try_lock().is_err() {
        bail!(
            "another outcalld owns {}; stop it first, or choose another {flag}",
            socket.display()
        );
    }
    Ok(lock)
}

fn bind(path: &Path, mode: u32) -> anyhow::Result<UnixListener> {
    // The lock is ours, so a socket that is still there is a dead one's.
    let _ = std::fs::remove_file(path);
    let listener =
        UnixListener::bind(path).with_context(|| format!("cannot bind {}", path.display()))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
#[path = "tests/sockets.rs"]
mod tests;
