//! Reading the log back, while it is written: a bounded number of bytes at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::query::Query;

/// As much of the log as one answer looks at.
const MAX_SCAN_BYTES: u64 = 32 * 1024 * 1024;
/// Read at once, backwards.
const STEP_BYTES: u64 = 256 * 1024;
/// Where searching by halves ends and reading begins.
const NEAR_BYTES: u64 = 64 * 1024;

/// The files of a log directory, oldest first.
pub(crate) fn segments(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("decisions-") && name.ends_with(".jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Some records of a log, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) records: Vec<Value>,
    /// The last number that was looked at.
    pub(crate) last_seq: u64,
    /// Nothing that is asked for is left out: the end was reached, or the beginning.
    pub(crate) complete: bool,
}

/// The records that a query asks for.
pub(crate) fn read(directory: &Path, query: &Query) -> io::Result<Page> {
    match query.since_seq {
        Some(since) => after(directory, since, query),
        None => latest(directory, query),
    }
}

/// Records after a number, oldest first.
fn after(directory: &Path, since: u64, query: &Query) -> io::Result<Page> {
    let files = segments(directory)?;
    let mut first = 0;
    for (index, path) in files.iter().enumerate().rev() {
        if first_seq(path)?.is_some_and(|seq| seq <= since.saturating_add(1)) {
            first = index;
            break;
        }
    }
    let mut page = Page { last_seq: since, ..Page::default() };
    let mut looked_at = 0;
    for path in files.get(first..).unwrap_or_default() {
        let mut file = File::open(path)?;
        let offset = offset_after(&mut file, since)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            looked_at += line.len() as u64;
            let seq = seq_of(&line).unwrap_or(0);
            if query.until_seq.is_some_and(|until| seq > until) {
                page.complete = true;
                return Ok(page);
            }
            if seq > since {
                if page.records.len() == query.limit() || looked_at > MAX_SCAN_BYTES {
                    return Ok(page);
                }
                page.last_seq = seq;
                page.records.extend(wanted(&line, query));
            }
            line.clear();
        }
    }
    page.complete = true;
    Ok(page)
}

/// The latest records, found from the end.
fn latest(directory: &Path, query: &Query) -> io::Result<Page> {
    let mut page = Page::default();
    let mut looked_at = 0;
    for path in segments(directory)?.iter().rev() {
        let mut lines = Backwards::open(path)?;
        while let Some(line) = lines.next()? {
            looked_at += line.len() as u64;
            let seq = seq_of(&line).unwrap_or(0);
            if query.until_seq.is_some_and(|until| seq > until) {
                continue;
            }
            if looked_at > MAX_SCAN_BYTES {
                page.records.reverse();
                return Ok(page);
            }
            page.last_seq = page.last_seq.max(seq);
            page.records.extend(wanted(&line, query));
            if page.records.len() >= query.limit() {
                page.records.truncate(query.limit());
                page.records.reverse();
                page.complete = true;
                return Ok(page);
            }
        }
    }
    page.records.reverse();
    page.complete = true;
    Ok(page)
}

fn wanted(line: &[u8], query: &Query) -> Option<Value> {
    serde_json::from_slice(line).ok().filter(|record| query.takes(record))
}

fn first_seq(path: &Path) -> io::Result<Option<u64>> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).take(NEAR_BYTES).read_until(b'\n', &mut line)?;
    Ok(seq_of(&line))
}

/// Where the records after a number begin, or a little before: numbers grow with the place.
fn offset_after(file: &mut File, since: u64) -> io::Result<u64> {
    let (mut low, mut high) = (0, file.metadata()?.len());
    while high - low > NEAR_BYTES {
        let middle = low + (high - low) / 2;
        match line_after(file, middle, high)? {
            Some((start, seq)) if seq <= since => low = start,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The first line that begins after a place, with its number.
fn line_after(file: &mut File, place: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
    file.seek(SeekFrom::Start(place))?;
    let mut reader = BufReader::new(&*file);
    let mut line = Vec::new();
    let start = place + reader.read_until(b'\n', &mut line)? as u64;
    if start >= end {
        return Ok(None);
    }
    let mut beginning = [0; 64];
    let length = reader.read(&mut beginning)?;
    Ok(seq_of(&beginning[..length]).map(|seq| (start, seq)))
}

/// The number of a line, which stands at its beginning.
fn seq_of(line: &[u8]) -> Option<u64> {
    const KEY: &[u8] = b"\"seq\":";
    let head = line.get(..64).unwrap_or(line);
    let at = head.windows(KEY.len()).position(|bytes| bytes == KEY)? + KEY.len();
    // A number that is cut off is another number.
    let end = at + head[at..].iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&head[at..end]).ok()?.parse().ok()
}

/// The whole lines of a file, last one first.
struct Backwards {
    file: File,
    /// What lies before this place is not read yet.
    unread: u64,
    read: Vec<u8>,
}

impl Backwards {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let unread = file.metadata()?.len();
        let mut lines = Self { file, unread, read: Vec::new() };
        // A line that is being written is none yet.
        while !lines.read.contains(&b'\n') && lines.unread > 0 {
            lines.read_more()?;
        }
        let whole = lines.read.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        lines.read.truncate(whole);
        Ok(lines)
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let body = self.read.len().saturating_sub(1);
            let before = self.read[..body].iter().rposition(|byte| *byte == b'\n');
            match before {
                Some(at) => return Ok(Some(self.read.split_off(at + 1))),
                None if self.unread > 0 => self.read_more()?,
                None if self.read.is_empty() => return Ok(None),
                None => return Ok(Some(std::mem::take(&mut self.read))),
            }
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let from = self.unread.saturating_sub(STEP_BYTES);
        let mut bytes = vec![0; (self.unread - from) as usize];
        self.file.seek(SeekFrom::Start(from))?;
        self.file.read_exact(&mut bytes)?;
        bytes.append(&mut self.read);
        (self.unread, self.read) = (from, bytes);
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests/reader.rs"]
mod tests;
