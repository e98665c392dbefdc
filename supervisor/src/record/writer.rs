//! The writer: one append-only file per day, one lock, one write per record.

use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::decision::{DecisionRecord, Line, VERSION};
use super::denials::Denials;
use super::segment::{Segment, last_seq};
use super::stream::Stream;
use super::tally::Tally;

/// The log cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    #[error("cannot create the log directory {path}: {cause}")]
    Create { path: PathBuf, cause: io::Error },
    #[error("cannot open the log in {path}: {cause}")]
    Open { path: PathBuf, cause: io::Error },
    #[error(
        "the log directory {path} is in use by another outcalld or outcallctl; choose another with --log"
    )]
    InUse { path: PathBuf },
    #[error("cannot write the log: {cause}")]
    Write { cause: io::Error },
}

/// A refusal on its way to a person.
pub(crate) type Notice = Line<DecisionRecord>;

/// Writes the decision log. Anything it cannot write must be answered with a denial.
#[derive(Debug)]
pub(crate) struct Recorder {
    directory: PathBuf,
    state: Mutex<State>,
    failing: AtomicBool,
    notices: Mutex<Option<SyncSender<Notice>>>,
    denials: Denials,
    /// Records as they are written.
    pub(crate) stream: Stream,
    pub(crate) tally: Tally,
}

#[derive(Debug)]
struct State {
    /// Holds the lock of the directory.
    _lock: File,
    segment: Segment,
    day: String,
    seq: u64,
}

/// What a record takes beside the strings of its call.
const RECORD_BYTES: u64 = 4096;
/// A character takes up to six bytes in JSON.
const ESCAPED_BYTES: u64 = 6;

/// Room in the log that is kept for one record. What is done on behalf needs it *before* it is
/// done: what cannot be recorded must not have happened.
#[derive(Debug)]
#[must_use = "room is given back when it is dropped"]
pub(crate) struct Room<'r> {
    recorder: &'r Recorder,
    bytes: u64,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.recorder.lock().segment.release(self.bytes);
    }
}

impl Recorder {
    /// Opens the log in a directory, continuing the numbers of what is there.
    pub(crate) fn open(
        directory: &Path,
        notices: Option<SyncSender<Notice>>,
    ) -> Result<Self, LogError> {
        // Absolute: a worker's working directory is its caller's for a moment.
        let path = std::path::absolute(directory)
            .map_err(|cause| LogError::Create { path: directory.to_owned(), cause })?;
        let directory = path.as_path();
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|cause| LogError::Create { path: path.clone(), cause })?;
        let opening = |cause| LogError::Open { path: path.clone(), cause };
        let lock = File::open(directory).map_err(opening)?;
        lock.try_lock().map_err(|_| LogError::InUse { path: path.clone() })?;
        let day = today();
        let seq = last_seq(directory).map_err(opening)?;
        let segment = Segment::open(directory, &day).map_err(opening)?;
        let state = Mutex::new(State { _lock: lock, segment, day, seq });
        Ok(Self {
            directory: path,
            state,
            failing: AtomicBool::new(false),
            notices: Mutex::new(notices),
            denials: Denials::default(),
            stream: Stream::default(),
            tally: Tally::default(),
        })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// False while the last write failed: nothing can be allowed then.
    pub(crate) fn is_healthy(&self) -> bool {
        !self.failing.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps room for a record whose call has strings of this length.
    pub(crate) fn keep_room(&self, length: usize) -> Result<Room<'_>, LogError> {
        let bytes = RECORD_BYTES + length as u64 * ESCAPED_BYTES;
        let kept = self.lock().segment.keep(bytes);
        if kept.is_err() {
            self.announce(&kept);
        }
        kept.map(|()| Room { recorder: self, bytes }).map_err(|cause| LogError::Write { cause })
    }

    /// Writes a decision; refusals are passed on to whoever wants to see them.
    pub(crate) fn decision(
        &self,
        record: DecisionRecord,
        room: Option<&Room<'_>>,
    ) -> Result<u64, LogError> {
        let refused = record.decision != "allow" && record.decision != "none";
        let announced = refused && !record.quiet;
        let line = self.write("decision", record, room.map_or(0, |room| room.bytes))?;
        self.tally.count(&line.body);
        let seq = line.seq;
        if refused {
            self.denials.note(&line);
        }
        if announced {
            let notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(notices) = notices.as_ref() {
                // A slow reader misses lines on the screen, never in the log.
                let _ = notices.try_send(line);
            }
        }
        Ok(seq)
    }

    /// The latest denials of every container.
    pub(crate) fn denials(&self) -> &Denials {
        &self.denials
    }

    /// Ends the stream of refusals.
    pub(crate) fn close_notices(&self) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Writes a control record: start, stop, session begin and end, policy change, anomalies.
    pub(crate) fn control(&self, kind: &str, body: serde_json::Value) -> Result<u64, LogError> {
        self.write(kind, body, 0).map(|line| line.seq)
    }

    fn write<T: Serialize>(&self, kind: &str, body: T, kept: u64) -> Result<Line<T>, LogError> {
        let result = {
            let mut state = self.lock();
            let appended = state.append(&self.directory, kind, body, kept);
            appended.map(|(line, bytes)| {
                self.stream.publish(line.seq, &bytes);
                line
            })
        };
        self.announce(&result);
        result.map_err(|cause| LogError::Write { cause })
    }

    /// Says once that the log cannot be written, and once that it can again.
    fn announce<T>(&self, result: &io::Result<T>) {
        let failed = result.is_err();
        if self.failing.swap(failed, Ordering::Relaxed) == failed {
            return;
        }
        let directory = self.directory.display();
        match result {
            Err(error) => {
                tracing::error!(%directory, %error, "the log cannot be written: everything is refused until it can")
            }
            Ok(_) => tracing::warn!(%directory, "the log can be written again"),
        }
    }
}

impl State {
    /// Appends a record; `kept` bytes of the room that is kept are its own. Tells its bytes too.
    fn append<T: Serialize>(
        &mut self,
        directory: &Path,
        kind: &str,
        body: T,
        kept: u64,
    ) -> io::Result<(Line<T>, Vec<u8>)> {
        let now = jiff::Timestamp::now();
        let day = now.strftime("%Y-%m-%d").to_string();
        if day != self.day {
            self.segment.continue_in(directory, &day)?;
            self.day = day;
        }
        let time = now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let line = Line { v: VERSION, seq: self.seq + 1, time, kind: kind.to_owned(), body };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        self.segment.append(&bytes, kept)?;
        self.seq += 1;
        Ok((line, bytes))
    }
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("outcall-log-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        path
    }

    fn day_file(directory: &Path) -> PathBuf {
        directory.join(format!("decisions-{}.jsonl", today()))
    }

    #[test]
    fn numbers_continue_and_a_torn_tail_is_cut() {
        let directory = scratch("continue");
        let recorder = Recorder::open(&directory, None).unwrap();
        assert_eq!(recorder.control("start", serde_json::json!({})).unwrap(), 1);
        drop(recorder);
        let mut file = OpenOptions::new().append(true).open(day_file(&directory)).unwrap();
        file.write_all(b"{\"v\":1,\"seq\":2,\"torn").unwrap();
        let recorder = Recorder::open(&directory, None).unwrap();
        assert_eq!(recorder.control("start", serde_json::json!({})).unwrap(), 2);
        let text = std::fs::read_to_string(day_file(&directory)).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(!text.contains("torn"));
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_second_writer_is_refused() {
        let directory = scratch("lock");
        let _first = Recorder::open(&directory, None).unwrap();
        let second = Recorder::open(&directory, None);
        assert!(matches!(second, Err(LogError::InUse { .. })));
        std::fs::remove_dir_all(directory).unwrap();
    }
}
