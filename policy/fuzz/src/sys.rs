//! The only unsafe code of this package: an allocator with a limit. libFuzzer's own limit of one
//! allocation needs a sanitizer, and its limit of resident memory counts what libFuzzer uses itself.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What one input may have allocated at once. libFuzzer's memory does not count: it is C++.
const LIMIT: usize = 64 << 20;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator; above the limit it refuses, which aborts and is a finding.
#[derive(Debug)]
pub struct Bounded;

fn grow(bytes: usize) -> bool {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
    if live > LIMIT {
        LIVE.fetch_sub(bytes, Relaxed);
    }
    live <= LIMIT
}

// SAFETY: every call goes to the system's allocator unchanged, or is refused with a null pointer.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !grow(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new exist side by side while bytes are copied, so both count.
        if !grow(size) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// At the end of the run, says how much any input had allocated at once.
pub fn note_peak() {
    static NOTED: Once = Once::new();
    extern "C" fn say() {
        let mib = PEAK.load(Relaxed) as f64 / 1_048_576.0;
        eprintln!("most memory of one input: {mib:.1} MiB of {} MiB", LIMIT >> 20);
    }
    NOTED.call_once(|| {
        // SAFETY: the function lives as long as the program and does not unwind.
        unsafe { libc::atexit(say) };
    });
}
