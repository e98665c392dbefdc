//! Stage 2, decode (pure): architecture, number and registers become a [`Call`]. Pointers stay
//! unread; int arguments are truncated as the kernel truncates them.

mod mutation;
mod table;

pub(crate) use mutation::{Mutation, TimesLayout};

use crate::sys::listener::RawNotification;

/// An address in the caller's memory. Only `resolve` reads it, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer(pub(crate) u64);

impl Pointer {
    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// A path argument: a directory descriptor and a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) dirfd: i32,
    pub(crate) path: Pointer,
}

/// Where the flags and mode of an open are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// In registers: they cannot change any more.
    Registers { flags: i32, mode: u32 },
    /// In a versioned structure in memory (openat2).
    Memory { pointer: Pointer, size: u64 },
}

/// The data of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// sendto: one buffer and an address.
    Buffer { data: Pointer, length: u64, address: Pointer, address_length: u32 },
    /// sendmsg: a header.
    Header(Pointer),
    /// sendmmsg: an array of headers.
    Headers { first: Pointer, count: u32 },
}

/// What the caller wants, its memory still unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Open {
        at: At,
        how: How,
    },
    Exec {
        at: At,
        argv: Pointer,
        flags: i32,
    },
    Connect {
        socket: i32,
        address: Pointer,
        length: u32,
    },
    Bind {
        socket: i32,
        address: Pointer,
        length: u32,
    },
    Send {
        socket: i32,
        outgoing: Outgoing,
        flags: i32,
    },
    Mutate(Mutation),
    /// Notified by a profile, but nothing this version knows: denied.
    Unknown,
}

/// A decoded system call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub(crate) call: Call,
    /// The call's name; `unknown` where there is none.
    pub(crate) name: &'static str,
}

/// AUDIT_ARCH_X86_64.
pub(crate) const ARCH_X86_64: u32 = 0xc000_003e;

/// Decodes registers. Total: whatever is not understood is [`Call::Unknown`].
pub(crate) fn decode(registers: &RawNotification) -> Decoded {
    if registers.arch != ARCH_X86_64 {
        return Decoded { call: Call::Unknown, name: "unknown" };
    }
    table::lookup(i64::from(registers.number), Registers(registers.args))
}

/// The six argument registers, read as the kernel's own prototypes would.
#[derive(Clone, Copy)]
struct Registers([u64; 6]);

impl Registers {
    fn int(self, index: usize) -> i32 {
        self.0[index] as u32 as i32
    }

    fn word(self, index: usize) -> u32 {
        self.0[index] as u32
    }

    fn long(self, index: usize) -> u64 {
        self.0[index]
    }

    fn pointer(self, index: usize) -> Pointer {
        Pointer(self.0[index])
    }

    /// A path relative to the working directory.
    fn path(self, index: usize) -> At {
        At { dirfd: libc::AT_FDCWD, path: self.pointer(index) }
    }

    /// A descriptor that is itself the object: no path.
    fn descriptor(self, index: usize) -> At {
        At { dirfd: self.int(index), path: Pointer(0) }
    }

    /// A directory descriptor and the path after it.
    fn at(self, index: usize) -> At {
        At { dirfd: self.int(index), path: self.pointer(index + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, args: [u64; 6]) -> Decoded {
        let registers = RawNotification {
            number: number as i32,
            arch: ARCH_X86_64,
            args,
            ..Default::default()
        };
        decode(&registers)
    }

    #[test]
    fn directory_descriptors_are_truncated_to_int() {
        let decoded = call(libc::SYS_openat, [0xdead_beef_ffff_ff9c, 16, 0, 0, 0, 0]);
        let at = At { dirfd: libc::AT_FDCWD, path: Pointer(16) };
        assert_eq!(decoded.call, Call::Open { at, how: How::Registers { flags: 0, mode: 0 } });
    }

    #[test]
    fn creat_is_an_open_that_creates_and_truncates() {
        let decoded = call(libc::SYS_creat, [16, 0o600, 0, 0, 0, 0]);
        let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
        assert!(
            matches!(decoded.call, Call::Open { how: How::Registers { flags: f, mode: 0o600 }, .. } if f == flags)
        );
    }

    #[test]
    fn foreign_architectures_and_unknown_numbers_are_unknown() {
        let registers = RawNotification { arch: 0x4000_0003, number: 5, ..Default::default() };
        assert_eq!(decode(&registers).call, Call::Unknown);
        assert_eq!(call(100_000, [0; 6]).call, Call::Unknown);
    }
}
