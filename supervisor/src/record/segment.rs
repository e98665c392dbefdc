//! One file of the log: whole records only, with room that is kept for those to come.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// Room is asked of the file system in steps of this.
const STEP_BYTES: u64 = 1024 * 1024;
/// Promises end with a page: the next begins with another.
const PAGE_BYTES: u64 = 4096;

#[derive(Debug)]
pub(super) struct Segment {
    file: File,
    /// Bytes of whole records; a torn write is cut back to here.
    length: u64,
    /// How far the file system has promised room.
    reserved: u64,
    /// How much of it is spoken for.
    kept: u64,
}

impl Segment {
    /// Opens the file of a day, cutting a torn last line.
    pub(super) fn open(directory: &Path, day: &str) -> io::Result<Self> {
        let path = directory.join(format!("decisions-{day}.jsonl"));
        let file =
            OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(path)?;
        let length = repair(&file)?;
        Ok(Self { file, length, reserved: 0, kept: 0 })
    }

    /// Goes on in the file of another day, with as much room kept there.
    pub(super) fn continue_in(&mut self, directory: &Path, day: &str) -> io::Result<()> {
        let mut next = Self::open(directory, day)?;
        next.keep(self.kept)?;
        *self = next;
        Ok(())
    }

    /// Keeps room for a record to come.
    pub(super) fn keep(&mut self, bytes: u64) -> io::Result<()> {
        self.reserve(self.length + self.kept + bytes)?;
        self.kept += bytes;
        Ok(())
    }

    pub(super) fn release(&mut self, bytes: u64) {
        self.kept = self.kept.saturating_sub(bytes);
    }

    /// Appends a whole record. `own` bytes of what is kept are kept for this one; the rest is not
    /// touched.
    pub(super) fn append(&mut self, record: &[u8], own: u64) -> io::Result<()> {
        let others = self.kept.saturating_sub(own);
        self.reserve(self.length + record.len() as u64 + others)?;
        if let Err(error) = self.file.write_all(record) {
            // Half a record is no record.
            let _ = self.file.set_len(self.length);
            self.reserved = 0;
            return Err(error);
        }
        self.length += record.len() as u64;
        Ok(())
    }

    fn reserve(&mut self, end: u64) -> io::Result<()> {
        if self.reserved >= end {
            return Ok(());
        }
        for end in [end + STEP_BYTES, end] {
            let end = end.next_multiple_of(PAGE_BYTES);
            match self.allocate(end) {
                Ok(()) => {
                    self.reserved = end;
                    return Ok(());
                }
                // A file system that cannot promise: the write itself will tell.
                Err(Errno::OPNOTSUPP) => {
                    self.reserved = u64::MAX;
                    return Ok(());
                }
                Err(Errno::NOSPC | Errno::DQUOT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::NOSPC.into())
    }

    /// Asks for what is not reserved yet, and for no byte more: where there is too little, tmpfs
    /// takes back everything unwritten in the range that was asked for, older promises too.
    fn allocate(&self, end: u64) -> Result<(), Errno> {
        let start = self.reserved.max(self.length);
        rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, start, end - start)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // Gives back what was reserved and not used.
        let _ = self.file.set_len(self.length);
    }
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
pub(super) fn last_seq(directory: &Path) -> io::Result<u64> {
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
