//! The constant path, in a mount namespace of the shim's own: the machine's stays as it is.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use super::{Manner, Scratch, Seen, serve};

/// Puts `$0` where the socket's directory belongs, then runs the rest.
const ENTER: &str = "mount -t tmpfs tmpfs /run && mkdir /run/outcall \
                     && mount --bind \"$0\" /run/outcall && exec \"$@\"";

/// A directory that the shim sees as `/run/outcall`.
pub struct Place {
    pub scratch: Scratch,
    pub seen: Arc<Seen>,
    connections: Arc<Mutex<Vec<UnixStream>>>,
}

impl Place {
    /// None where mount namespaces cannot be had; that is said.
    pub fn new(name: &str) -> Option<Self> {
        let scratch = Scratch::new(name);
        let place = Self { scratch, seen: Arc::default(), connections: Arc::default() };
        let probe = place.enter(&["true"]).stderr(Stdio::piped()).output().unwrap();
        if !probe.status.success() {
            eprintln!("NOT TESTED: no mount namespace: {}", String::from_utf8_lossy(&probe.stderr));
            assert!(std::env::var_os("CI").is_none(), "mount namespaces must be there in CI");
            return None;
        }
        Some(place)
    }

    pub fn socket(&self) -> PathBuf {
        self.scratch.0.join("agent.sock")
    }

    /// Serves every connection until the process ends.
    pub fn serve(&self, manner: Manner) {
        let listener = UnixListener::bind(self.socket()).unwrap();
        let (seen, connections) = (self.seen.clone(), self.connections.clone());
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                connections.lock().unwrap().push(connection.try_clone().unwrap());
                let seen = seen.clone();
                thread::spawn(move || serve(connection, &seen, manner));
            }
        });
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.connections.lock().unwrap().len()
    }

    /// A program that sees the directory as `/run/outcall`.
    pub fn enter(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        // SAFETY: geteuid takes nothing and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "/bin/sh", "-c", ENTER]).arg(&self.scratch.0).args(words);
        command.stdin(Stdio::null()).env("RUST_LOG", "warn").env_remove("OUTCALL_TIMEOUT_SECS");
        command
    }

    /// The shim at the constant path.
    pub fn shim(&self, words: &[&str]) -> Command {
        let shim = [env!("CARGO_BIN_EXE_outcall-agent")];
        let words: Vec<&str> = shim.iter().chain(words).copied().collect();
        let mut command = self.enter(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}
