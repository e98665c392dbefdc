//! Calls that change what a path means without opening it.

use super::{At, Pointer};

/// How a caller lays out the two timestamps of a utime call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimesLayout {
    /// `struct utimbuf`: two longs of seconds.
    Seconds,
    /// `struct timeval[2]`.
    Microseconds,
    /// `struct timespec[2]`.
    Nanoseconds,
}

/// A path mutation, its memory still unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    Unlink { at: At, flags: i32 },
    MakeDirectory { at: At, mode: u32 },
    MakeNode { at: At, mode: u32, device: u32 },
    Symlink { text: Pointer, at: At },
    Rename { from: At, to: At, flags: u32 },
    Link { from: At, to: At, flags: i32 },
    Truncate { at: At, length: i64 },
    Mode { at: At, mode: u32, flags: i32 },
    Owner { at: At, uid: u32, gid: u32, flags: i32 },
    SetAttribute { at: At, follow: bool, name: Pointer, value: Pointer, size: u64, flags: i32 },
    RemoveAttribute { at: At, follow: bool, name: Pointer },
    Times { at: At, times: Pointer, layout: TimesLayout, flags: i32 },
}
