//! Reading the caller's memory: once, bounded, into owned values.

use std::io::IoSliceMut;

use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

use crate::decode::Pointer;

/// Longest path the kernel accepts, its NUL included.
pub(crate) const PATH_MAX: usize = 4096;
const PAGE: u64 = 4096;

/// The memory of one task. Whoever uses what was read must check the notification first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    tid: i32,
}

impl Memory {
    pub(crate) fn of(tid: i32) -> Self {
        Self { tid }
    }

    /// Reads exactly `length` bytes, or EFAULT.
    pub(crate) fn bytes(self, at: Pointer, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length];
        let read = self.partial(at, &mut bytes)?;
        if read == length { Ok(bytes) } else { Err(Errno::EFAULT) }
    }

    /// Reads an array of fixed size, or EFAULT.
    pub(crate) fn array<const N: usize>(self, at: Pointer) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        let read = self.partial(at, &mut bytes)?;
        if read == N { Ok(bytes) } else { Err(Errno::EFAULT) }
    }

    /// Reads a NUL-terminated path: EFAULT when unreadable, ENAMETOOLONG when it has no end.
    pub(crate) fn path(self, at: Pointer) -> Result<Vec<u8>, Errno> {
        self.string(at, PATH_MAX, Errno::ENAMETOOLONG)
    }

    /// Reads a NUL-terminated string of at most `limit` bytes with its NUL.
    pub(crate) fn string(
        self,
        at: Pointer,
        limit: usize,
        too_long: Errno,
    ) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        let mut cursor = at;
        let mut chunk = [0_u8; PAGE as usize];
        while text.len() < limit {
            // Up to the page's end only: the next page may not be mapped, and need not be.
            let page_rest = (PAGE - cursor.0 % PAGE) as usize;
            // Most paths are short; a first read of 256 bytes is cheaper than a page.
            let wanted =
                page_rest.min(limit - text.len()).min(if text.is_empty() { 256 } else { 4096 });
            let read = self.partial(cursor, &mut chunk[..wanted])?;
            if read == 0 {
                return Err(Errno::EFAULT);
            }
            if let Some(end) = chunk[..read].iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&chunk[..end]);
                return Ok(text);
            }
            text.extend_from_slice(&chunk[..read]);
            cursor = cursor.offset(read as u64);
        }
        Err(too_long)
    }

    /// Reads a NULL-terminated array of string pointers and the strings, as execve takes them.
    pub(crate) fn string_array(self, at: Pointer, limit: usize) -> Result<Vec<Vec<u8>>, Errno> {
        /// The kernel's own limit for one argument.
        const MAX_ARG_STRLEN: usize = 131_072;
        let mut strings = Vec::new();
        let mut total = 0;
        if at.is_null() {
            return Ok(strings);
        }
        for index in 0.. {
            let pointer = Pointer(u64::from_ne_bytes(self.array(at.offset(index * 8))?));
            if pointer.is_null() {
                break;
            }
            let text = self.string(pointer, MAX_ARG_STRLEN, Errno::E2BIG)?;
            total += text.len() + 9;
            if total > limit {
                return Err(Errno::E2BIG);
            }
            strings.push(text);
        }
        Ok(strings)
    }

    fn partial(self, at: Pointer, into: &mut [u8]) -> Result<usize, Errno> {
        if into.is_empty() {
            return Ok(0);
        }
        let base = usize::try_from(at.0).map_err(|_| Errno::EFAULT)?;
        let remote = [RemoteIoVec { base, len: into.len() }];
        match process_vm_readv(Pid::from_raw(self.tid), &mut [IoSliceMut::new(into)], &remote) {
            Ok(read) => Ok(read),
            // Another errno (EPERM, ESRCH) would tell the caller about us, not about its pointer.
            Err(_) => Err(Errno::EFAULT),
        }
    }
}
