//! Second provider: what an OCI runtime keeps about its containers, in directories that only root
//! can write to: `/run/runc/ID/state.json` and `/run/crun/ID/status`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::home::Home;
use super::peer::Peer;
use super::process::Process;
use crate::attach::session::Identity;

/// Containers that are looked at in one directory.
const MAX_CONTAINERS: usize = 4096;
/// A state file is smaller.
const MAX_BYTES: u64 = 1024 * 1024;

/// A container as its runtime knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    id: String,
    init: i32,
    /// When the first process started, in the kernel's ticks: tells it from one with its number.
    started: Option<u64>,
    labels: BTreeMap<String, String>,
}

/// The container that holds a peer.
pub(super) fn find(peer: &Peer, directories: &[PathBuf]) -> Option<Home> {
    let states = directories.iter().flat_map(|directory| states(directory));
    states.filter_map(home).find(|home| home.holds(peer))
}

fn states(directory: &Path) -> Vec<State> {
    let trusted = std::fs::metadata(directory).is_ok_and(|found| found.mode() & 0o022 == 0);
    let Some(entries) = trusted.then(|| std::fs::read_dir(directory).ok()).flatten() else {
        return Vec::new();
    };
    let read = |entry: std::fs::DirEntry| {
        let id = entry.file_name().into_string().ok()?;
        let texts = ["state.json", "status"].map(|name| entry.path().join(name));
        texts.iter().find_map(|path| parse(&id, &text_of(path)?))
    };
    entries.flatten().take(MAX_CONTAINERS).filter_map(read).collect()
}

fn text_of(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Reads the state of runc, or the status of crun.
fn parse(id: &str, text: &str) -> Option<State> {
    let state: Value = serde_json::from_str(text).ok()?;
    let number = |names: [&str; 2]| {
        names.iter().find_map(|name| match &state[*name] {
            Value::Number(number) => number.as_u64(),
            // Some versions write it as text.
            Value::String(text) => text.parse().ok(),
            _ => None,
        })
    };
    let init = number(["init_process_pid", "pid"])?;
    Some(State {
        id: id.to_owned(),
        init: i32::try_from(init).ok().filter(|pid| *pid > 1)?,
        started: number(["init_process_start", "process-start-time"]).filter(|ticks| *ticks > 0),
        labels: labels(&state),
    })
}

/// runc keeps annotations among the labels of its configuration, as `NAME=VALUE`.
fn labels(state: &Value) -> BTreeMap<String, String> {
    let words = state["config"]["labels"].as_array();
    let pairs = words.into_iter().flatten().filter_map(|word| word.as_str()?.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn home(state: State) -> Option<Home> {
    let init = Process::open(state.init).ok()?;
    let started = init.look(started_at)?;
    if state.started.is_some_and(|expected| expected != started) {
        return None;
    }
    let agent = state.labels.get("outcall.agent").unwrap_or(&state.id).clone();
    let identity = Identity {
        agent,
        container: state.id.clone(),
        container_name: state.id,
        labels: state.labels,
        workspace: "/workspace".to_owned(),
        ..Identity::default()
    };
    Home::container(identity, init)
}

fn started_at(pid: i32) -> Option<u64> {
    procfs::process::Process::new(pid).ok()?.stat().ok().map(|stat| stat.starttime)
}

#[cfg(test)]
#[path = "tests/oci.rs"]
mod tests;
