//! System calls exactly as written, each told on a line: what the probes are made of.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// Anything that fits a register.
pub trait Word {
    fn word(&self) -> usize;
}

macro_rules! words {
    ($($kind:ty),*) => { $(impl Word for $kind {
        fn word(&self) -> usize {
            *self as usize
        }
    })* };
}
words!(i32, u32, i64, u64, usize);

impl Word for &CStr {
    fn word(&self) -> usize {
        self.as_ptr() as usize
    }
}

impl<T> Word for *const T {
    fn word(&self) -> usize {
        *self as usize
    }
}

impl<T> Word for *mut T {
    fn word(&self) -> usize {
        *self as usize
    }
}

/// Makes a system call; a negative result is an errno.
#[must_use]
pub fn call(number: i64, arguments: &[usize]) -> i64 {
    let word = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: probes pass what the kernel is to judge, bad pointers included; nothing that they
    // pass makes the kernel write to memory that Rust thinks is constant.
    let result =
        unsafe { libc::syscall(number, word(0), word(1), word(2), word(3), word(4), word(5)) };
    if result < 0 {
        -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    } else {
        result
    }
}

/// Prints the result of a call under its text.
pub fn told(text: &str, result: i64) -> i64 {
    if result < 0 {
        let error = std::io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(0));
        println!("{text} => {error}");
    } else {
        println!("{text} => {result}");
    }
    result
}

/// Makes a system call and prints its text and its result: `sys!(SYS_openat, AT_FDCWD, c"f", 0)`.
#[macro_export]
macro_rules! sys {
    ($number:ident $(, $argument:expr)* $(,)?) => {
        $crate::raw::told(
            concat!(line!(), " ", stringify!($number) $(, ", ", stringify!($argument))*),
            $crate::raw::call(libc::$number, &[$($crate::raw::Word::word(&$argument)),*]),
        )
    };
}

/// Prints what an open descriptor is: its flags, whether exec closes it, and its file. Closes it.
pub fn describe(fd: i64) {
    if fd < 0 {
        return;
    }
    // An open by a pinned descriptor cannot keep O_NOFOLLOW, which means nothing from here on.
    let flags =
        call(libc::SYS_fcntl, &[fd.word(), libc::F_GETFL.word()]) & !i64::from(libc::O_NOFOLLOW);
    let close = call(libc::SYS_fcntl, &[fd.word(), libc::F_GETFD.word()]);
    let position = call(libc::SYS_lseek, &[fd.word(), 0, libc::SEEK_CUR.word()]);
    let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default();
    let shown = path.to_string_lossy().replace(&std::process::id().to_string(), "PID");
    let kind = shown.split('[').next().unwrap_or_default();
    let shown = if shown.contains("/#") { "a file without a name" } else { kind };
    println!("    fd {fd}: flags {flags:o}, closes {close}, at {position}, {shown}");
    let _ = call(libc::SYS_close, &[fd.word()]);
}

/// Prints what a name is: kind, mode, owner, links, size, and whole-second times from long ago.
pub fn state(path: &str) {
    match std::fs::symlink_metadata(path) {
        Err(error) => println!("    {path}: {error}"),
        Ok(found) => {
            let kind = found.file_type();
            let fifo = if kind.is_fifo() { " fifo" } else { "" };
            let old = |seconds: i64| if seconds < 1_500_000_000 { seconds } else { 0 };
            println!(
                "    {path}: {:o}{fifo} {}:{} links {} size {} times {} {} device {}",
                found.mode(),
                found.uid(),
                found.gid(),
                found.nlink(),
                if found.is_dir() { 0 } else { found.len() },
                old(found.atime()),
                old(found.mtime()),
                found.rdev(),
            );
        }
    }
}

/// Makes the files, directories and links that the tables speak about.
pub fn furnish() {
    std::fs::write("f", "content").expect("f");
    std::fs::create_dir_all("d/e").expect("d");
    std::fs::write("d/inner", "x").expect("inner");
    let links = [
        ("f", "s"),
        ("missing", "dangling"),
        ("d", "sd"),
        ("loop2", "loop1"),
        ("loop1", "loop2"),
        ("../f", "d/up"),
        ("/etc/hostname", "d/abs"),
    ];
    for (text, name) in links {
        std::os::unix::fs::symlink(text, name).expect("link");
    }
}

/// A socket address, as bytes.
#[derive(Debug)]
pub struct Address(Vec<u8>);

impl Address {
    /// A family and what follows it.
    #[must_use]
    pub fn raw(family: i32, rest: &[u8]) -> Self {
        Self([&(family as u16).to_ne_bytes(), rest].concat())
    }

    #[must_use]
    pub fn four(host: [u8; 4], port: u16) -> Self {
        Self::raw(libc::AF_INET, &[&port.to_be_bytes()[..], &host, &[0; 8]].concat())
    }

    #[must_use]
    pub fn six(host: [u8; 16], port: u16) -> Self {
        Self::raw(libc::AF_INET6, &[&port.to_be_bytes()[..], &[0; 4], &host, &[0; 4]].concat())
    }

    /// A Unix path, ended by a zero byte.
    #[must_use]
    pub fn unix(path: &[u8]) -> Self {
        Self::raw(libc::AF_UNIX, &[path, b"\0"].concat())
    }

    #[must_use]
    pub fn family(&self) -> i32 {
        i32::from(u16::from_ne_bytes([self.0[0], self.0[1]]))
    }

    #[must_use]
    pub fn pointer(&self) -> *const u8 {
        self.0.as_ptr()
    }

    #[must_use]
    pub fn length(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(0)
    }
}

/// Handles a signal; the handler may do no more than count.
pub fn handle(signal: i32, handler: extern "C" fn(i32), flags: i32) {
    // SAFETY: a zeroed sigaction is a valid one, and the handlers of probes only count.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = flags;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Sends SIGALRM to this process in a while.
pub fn alarm_in(time: std::time::Duration) {
    let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let value = libc::timeval { tv_sec: 0, tv_usec: i64::from(time.subsec_micros()) };
    let timer = libc::itimerval { it_interval: none, it_value: value };
    let _ = call(libc::SYS_setitimer, &[libc::ITIMER_REAL.word(), (&raw const timer).word(), 0]);
}
