//! The C entry point. The Rust runtime's own would change what the workload inherits.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

#[cfg_attr(not(test), unsafe(export_name = "main"))]
#[cfg_attr(test, allow(dead_code))]
extern "C" fn entry(count: c_int, arguments: *const *const c_char) -> c_int {
    // Without this, a closed stderr could be reused by a socket and diagnostics written into it.
    if super::fd::fill_standard().is_err() {
        return 1;
    }
    let words = (0..usize::try_from(count).unwrap_or(0)).map(|index| {
        // SAFETY: C's main receives `count` valid NUL-terminated strings that live as long as the
        // process; index is below count.
        let word = unsafe { CStr::from_ptr(*arguments.add(index)) };
        OsString::from(OsStr::from_bytes(word.to_bytes()))
    });
    crate::start(words.collect())
}
