//! Texts that a condition joins. Short ones stand on the stack; only long ones, or many, allocate.

use std::cell::{Cell, OnceCell};

use super::Fault;

/// Bytes that one condition may join in all.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Room for a text without an allocation: a path is seldom longer.
const INLINE_BYTES: usize = 256;
/// How many of them there are.
const INLINE_TEXTS: usize = 4;

/// Shelves for further texts, each twice as long as the one before.
const SHELVES: usize = 12;
const FIRST_SHELF: usize = 64;

/// Every text that one evaluation has joined. They live as long as the evaluation, so that a
/// joined text is borrowed like any other.
#[derive(Debug, Default)]
pub(super) struct Joined {
    short: [OnceCell<Short>; INLINE_TEXTS],
    shelves: [OnceCell<Box<[OnceCell<String>]>>; SHELVES],
    texts: Cell<usize>,
    bytes: Cell<usize>,
}

#[derive(Debug)]
struct Short {
    bytes: [u8; INLINE_BYTES],
    length: usize,
}

/// A text that is being joined.
pub(super) struct Joining<'j> {
    joined: &'j Joined,
    short: Short,
    long: String,
}

impl Joined {
    pub(super) fn begin(&self) -> Joining<'_> {
        let short = Short { bytes: [0; INLINE_BYTES], length: 0 };
        Joining { joined: self, short, long: String::new() }
    }

    /// The next free place on the shelves.
    fn place(&self) -> Option<&OnceCell<String>> {
        let mut number = self.texts.replace(self.texts.get() + 1);
        let mut length = FIRST_SHELF;
        for shelf in &self.shelves {
            if number < length {
                let empty = || std::iter::repeat_with(OnceCell::new).take(length).collect();
                return shelf.get_or_init(empty).get(number);
            }
            number -= length;
            length *= 2;
        }
        None
    }
}

impl<'j> Joining<'j> {
    pub(super) fn push(&mut self, part: &str) -> Result<(), Fault> {
        let used = self.joined.bytes.get() + part.len();
        if used > MAX_BYTES {
            return Err(Fault::TooLong);
        }
        self.joined.bytes.set(used);
        let end = self.short.length + part.len();
        let room = self.short.bytes.get_mut(self.short.length..end);
        match room.filter(|_| self.long.is_empty()) {
            Some(room) => {
                room.copy_from_slice(part.as_bytes());
                self.short.length = end;
            }
            None => {
                if self.long.is_empty() {
                    self.long.push_str(self.short.text());
                }
                self.long.push_str(part);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<&'j str, Fault> {
        let Self { joined, short, mut long } = self;
        if long.is_empty() {
            if let Some(cell) = joined.short.iter().find(|cell| cell.get().is_none()) {
                return Ok(cell.get_or_init(|| short).text());
            }
            short.text().clone_into(&mut long);
        }
        let place = joined.place().ok_or(Fault::TooLong)?;
        Ok(place.get_or_init(|| long))
    }
}

impl Short {
    fn text(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        // Whole texts were copied in, so this is text.
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}
