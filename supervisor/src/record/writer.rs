//! The writer: one append-only file per day, one lock, one write per record.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::decision::{DecisionRecord, Line, VERSION};

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
}

#[derive(Debug)]
struct State {
    /// Holds the lock of the directory.
    _lock: File,
    file: File,
    day: String,
    /// Bytes of whole records; a torn write is cut back to here.
    length: u64,
    /// Bytes that the file system has promised.
    reserved: u64,
    seq: u64,
}

/// Room for this much must be promised before anything is done on behalf.
const HEADROOM: u64 = 512 * 1024;
const RESERVATION: u64 = 1024 * 1024;

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
        let (file, length) = open_day(directory, &day).map_err(opening)?;
        let state = Mutex::new(State { _lock: lock, file, day, length, reserved: 0, seq });
        Ok(Self {
            directory: path,
            state,
            failing: AtomicBool::new(false),
            notices: Mutex::new(notices),
        })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// False while the last write failed: nothing can be allowed then.
    pub(crate) fn is_healthy(&self) -> bool {
        !self.failing.load(Ordering::Relaxed)
    }

    /// Makes sure that a record has room *before* its call is done: what cannot be recorded must
    /// not have happened.
    pub(crate) fn make_room(&self) -> Result<(), LogError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = state.reserve();
        if result.is_err() {
            self.announce(&result);
        }
        result.map_err(|cause| LogError::Write { cause })
    }

    /// Writes a decision; refusals are passed on to whoever wants to see them.
    pub(crate) fn decision(&self, record: DecisionRecord) -> Result<u64, LogError> {
        let refused = record.decision != "allow" && record.decision != "none";
        let line = self.write("decision", record)?;
        let seq = line.seq;
        if refused {
            let notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(notices) = notices.as_ref() {
                // A slow reader misses lines on the screen, never in the log.
                let _ = notices.try_send(line);
            }
        }
        Ok(seq)
    }

    /// Ends the stream of refusals.
    pub(crate) fn close_notices(&self) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Writes a control record: start, stop, session begin and end, policy change, anomalies.
    pub(crate) fn control(&self, kind: &str, body: serde_json::Value) -> Result<u64, LogError> {
        self.write(kind, body).map(|line| line.seq)
    }

    fn write<T: Serialize>(&self, kind: &str, body: T) -> Result<Line<T>, LogError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = state.append(&self.directory, kind, body);
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
    fn reserve(&mut self) -> io::Result<()> {
        if self.reserved >= self.length + HEADROOM {
            return Ok(());
        }
        let keep = rustix::fs::FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, keep, self.length, RESERVATION) {
            Ok(()) => self.reserved = self.length + RESERVATION,
            // A file system that cannot promise: the write itself will tell.
            Err(rustix::io::Errno::OPNOTSUPP) => self.reserved = u64::MAX,
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn append<T: Serialize>(
        &mut self,
        directory: &Path,
        kind: &str,
        body: T,
    ) -> io::Result<Line<T>> {
        let now = jiff::Timestamp::now();
        let day = now.strftime("%Y-%m-%d").to_string();
        if day != self.day {
            (self.file, self.length) = open_day(directory, &day)?;
            self.reserved = 0;
            self.day = day;
        }
        let time = now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let line = Line { v: VERSION, seq: self.seq + 1, time, kind: kind.to_owned(), body };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        if let Err(error) = self.file.write_all(&bytes) {
            // Half a record is no record.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.seq += 1;
        Ok(line)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Gives back what was promised and not used.
        let _ = self.file.set_len(self.length);
    }
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

fn open_day(directory: &Path, day: &str) -> io::Result<(File, u64)> {
    let path = directory.join(format!("decisions-{day}.jsonl"));
    let file = OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(path)?;
    let length = repair(&file)?;
    Ok((file, length))
}

/// Cuts a torn last line, left by a crash in the middle of a write.
fn repair(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let whole = whole_lines(file, length)?;
    if whole < length {
        file.set_len(whole)?;
    }
    Ok(whole)
}

fn whole_lines(mut file: &File, length: u64) -> io::Result<u64> {
    const STEP: u64 = 65_536;
    let mut end = length;
    while end > 0 {
        let from = end.saturating_sub(STEP);
        let mut chunk = vec![0; (end - from) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut chunk)?;
        if let Some(newline) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + newline as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

/// The number of the last record in a directory.
fn last_seq(directory: &Path) -> io::Result<u64> {
    let mut last = 0;
    for path in super::reader::segments(directory)? {
        let file = File::open(path)?;
        let whole = whole_lines(&file, file.metadata()?.len())?;
        let from = whole.saturating_sub(1 << 20);
        let mut reader = &file;
        reader.seek(SeekFrom::Start(from))?;
        let mut tail = vec![0; (whole - from) as usize];
        reader.read_exact(&mut tail)?;
        let line = tail.split(|byte| *byte == b'\n').rev().find(|line| !line.is_empty());
        let seq = line
            .and_then(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
            .and_then(|value| value.get("seq")?.as_u64());
        last = last.max(seq.unwrap_or(0));
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
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
