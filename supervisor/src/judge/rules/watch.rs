//! Watching the places that hold the rules: a change that has come to rest is a reload.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::files::is_rule_name;
use super::{ReloadError, Rules, STACK_BYTES, Trigger};
use crate::record::Recorder;

/// Changes have come to rest when there was none for this long.
const QUIET: Duration = Duration::from_millis(100);
/// Whoever never rests is interrupted.
const PATIENCE: Duration = Duration::from_secs(1);
/// When to try again what the log could not take.
const LATER: Duration = Duration::from_secs(5);

/// The watching thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    stopping: Arc<AtomicBool>,
    wake: SyncSender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches the files of these rules. The built-in ones have none: `None`.
    pub(crate) fn start(rules: &Arc<Rules>, recorder: &Arc<Recorder>) -> Option<Self> {
        rules.all_paths().next()?;
        let started = Self::spawn(rules.clone(), recorder.clone());
        if let Err(error) = &started {
            tracing::warn!("changed rule files will not be noticed: {error}");
        }
        started.ok()
    }

    fn spawn(rules: Arc<Rules>, recorder: Arc<Recorder>) -> notify::Result<Self> {
        let paths: Vec<PathBuf> =
            rules.all_paths().filter_map(|path| std::path::absolute(path).ok()).collect();
        // One place: what matters is that something happened, not how often.
        let (wake, woken) = sync_channel(1);
        let (told, watched) = (wake.clone(), paths.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.map_or(true, |event| concerns(&watched, &event)) {
                let _ = told.try_send(());
            }
        })?;
        let stopping = Arc::new(AtomicBool::new(false));
        let mut watching =
            Watching { rules, recorder, paths, watcher, woken, stopping: stopping.clone() };
        let thread = std::thread::Builder::new()
            .name("rules".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || watching.run())
            .map_err(notify::Error::io)?;
        Ok(Self { stopping, wake, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        let _ = self.wake.try_send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Watching {
    rules: Arc<Rules>,
    recorder: Arc<Recorder>,
    paths: Vec<PathBuf>,
    watcher: RecommendedWatcher,
    woken: Receiver<()>,
    stopping: Arc<AtomicBool>,
}

impl Watching {
    /// Begins with a reload, since the files may have changed after they were loaded; not at once,
    /// since most runs are over by then.
    fn run(&mut self) {
        let mut armed = BTreeSet::new();
        loop {
            self.rest();
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            // Before reading: what changes after it is told, what changed before it is read.
            self.arm(&mut armed);
            let wait = match self.rules.reload(Trigger::Watch, &self.recorder) {
                Err(ReloadError::Log(_)) => LATER,
                _ => Duration::MAX,
            };
            if self.woken.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    /// Returns when changes have come to rest.
    fn rest(&self) {
        let until = Instant::now() + PATIENCE;
        while !self.stopping.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.woken.recv_timeout(QUIET.min(left)).is_err() {
                return;
            }
        }
    }

    /// Watches the directories under these names anew: there may be others by now.
    fn arm(&mut self, armed: &mut BTreeSet<PathBuf>) {
        for directory in std::mem::take(armed) {
            let _ = self.watcher.unwatch(&directory);
        }
        let mut complete = true;
        for path in &self.paths {
            let holder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
            // The directory above tells when the holder itself is replaced.
            let above = holder.and_then(Path::parent);
            for (directory, needed) in [(holder, true), (above, false)] {
                let Some(directory) = directory else { continue };
                if armed.contains(directory) {
                    continue;
                }
                match self.watcher.watch(directory, RecursiveMode::NonRecursive) {
                    Ok(()) => drop(armed.insert(directory.to_owned())),
                    Err(_) if !needed => {}
                    Err(error) => {
                        complete = false;
                        tracing::debug!(directory = %directory.display(), %error, "not watched");
                    }
                }
            }
        }
        if self.rules.watched.swap(complete, Ordering::Relaxed) && !complete {
            tracing::warn!(
                "some rule files are not watched: a change of them needs a reload by hand"
            );
        }
    }
}

/// Whether an event is about a rule file, a place that holds one, or a name on the way there.
fn concerns(paths: &[PathBuf], event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        // Our own reading is an event as well.
        EventKind::Access(_) => return false,
        _ => {}
    }
    let concerned = |changed: &PathBuf| {
        paths.iter().any(|path| {
            let inside = changed.parent() == Some(path.as_path())
                && changed.file_name().is_some_and(is_rule_name);
            inside || path.starts_with(changed)
        })
    };
    event.need_rescan() || event.paths.iter().any(concerned)
}

#[cfg(test)]
#[path = "tests/watch.rs"]
mod tests;
