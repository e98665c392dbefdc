//! A table of opens; the section to run is the argument. Every call and its result is a line.
#![allow(clippy::expect_used)]

use std::ffi::{CStr, CString};

use integration::raw::{Word, call, describe, furnish, state, told};
use integration::sys;
use libc::*;

const EVERYWHERE: [&CStr; 18] = [
    c"f",
    c"s",
    c"sd",
    c"d/up",
    c"d/abs",
    c"../workspace/f",
    c"/etc/hostname",
    c"d/../f",
    c"loop1",
    c"/proc/self/fd/1",
    c"/proc/self/status",
    c"/",
    c"..",
    c"d/..",
    c"d/e/../..",
    c"/dev/null",
    c"proc",
    c"absent",
];

fn main() {
    furnish();
    match std::env::args().nth(1).as_deref() {
        Some("flags") => flags(),
        Some("temporary") => temporary(),
        Some("openat2") => openat2(),
        Some("path") => path_only(),
        Some("path-openat2") => {
            how(c"f", O_PATH, 0, 0);
        }
        Some("umask") => umasks(),
        other => println!("no section {other:?}"),
    }
}

fn flags() {
    describe(sys!(SYS_open, c"f", O_RDONLY));
    describe(sys!(SYS_open, c"f", O_RDWR | O_APPEND | O_CLOEXEC));
    describe(sys!(SYS_open, c"f", O_WRONLY | O_NONBLOCK | O_SYNC));
    describe(sys!(SYS_open, c"f", O_RDONLY | O_NOATIME | O_DSYNC));
    describe(sys!(SYS_open, c"f", O_RDONLY | O_NOFOLLOW));
    describe(sys!(SYS_open, c"s", O_RDONLY | O_NOFOLLOW));
    describe(sys!(SYS_open, c"s", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
    describe(sys!(SYS_open, c"sd", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
    describe(sys!(SYS_open, c"sd/", O_RDONLY | O_NOFOLLOW));
    describe(sys!(SYS_open, c"f", O_RDONLY | O_DIRECTORY));
    describe(sys!(SYS_open, c"d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    describe(sys!(SYS_open, c"d", O_WRONLY));
    describe(sys!(SYS_open, c"d", O_RDWR));
    describe(sys!(SYS_open, c"d", O_RDONLY | O_CREAT, 0o644));
    describe(sys!(SYS_open, c"d", O_RDONLY | O_CREAT | O_DIRECTORY, 0o644));
    describe(sys!(SYS_open, c"new-d", O_RDONLY | O_CREAT | O_DIRECTORY, 0o644));
    state("new-d");
    describe(sys!(SYS_open, c"f", O_CREAT | O_EXCL | O_RDWR, 0o644));
    describe(sys!(SYS_open, c"dangling", O_CREAT | O_EXCL | O_RDWR, 0o644));
    describe(sys!(SYS_open, c"dangling", O_CREAT | O_NOFOLLOW | O_RDWR, 0o644));
    describe(sys!(SYS_open, c"dangling", O_RDONLY));
    describe(sys!(SYS_open, c"dangling", O_CREAT | O_RDWR, 0o640));
    state("missing");
    describe(sys!(SYS_open, c"new", O_CREAT | O_RDONLY, 0o444));
    state("new");
    describe(sys!(SYS_open, c"readonly", O_CREAT | O_RDWR, 0o000));
    state("readonly");
    describe(sys!(SYS_open, c"special", O_CREAT | O_RDWR, 0o6755));
    state("special");
    describe(sys!(SYS_open, c"new/", O_RDONLY));
    describe(sys!(SYS_open, c"absent/", O_CREAT | O_RDWR, 0o644));
    describe(sys!(SYS_open, c"f/below", O_RDONLY));
    describe(sys!(SYS_open, c"absent/below", O_CREAT | O_RDWR, 0o644));
    describe(sys!(SYS_creat, c"created", 0o600));
    describe(sys!(SYS_creat, c"d", 0o600));
    describe(sys!(SYS_open, c"f", O_RDONLY | O_TRUNC));
    state("f");
    describe(sys!(SYS_open, c"f", 3));
    describe(sys!(SYS_open, c"f", O_RDONLY | 0x4000_0000));
    describe(sys!(SYS_openat, -1, c"f", O_RDONLY));
    describe(sys!(SYS_openat, 0xffff_ffff_ffff_ff9c_u64, c"f", O_RDONLY));
    describe(sys!(SYS_openat, 0xffff_ff9c_u64, c"f", O_RDONLY));
    describe(sys!(SYS_open, c"f", O_WRONLY | O_DIRECT));
    describe(sys!(SYS_open, c"f", O_RDONLY | O_ASYNC | O_NOCTTY));
    let made = sys!(SYS_open, c"plain", O_CREAT | O_RDWR, 0o600);
    sys!(SYS_fcntl, made, F_GETFL);
}

fn temporary() {
    describe(sys!(SYS_open, c"d", O_TMPFILE | O_RDONLY, 0o600));
    describe(sys!(SYS_open, c"f", O_TMPFILE | O_RDWR, 0o600));
    describe(sys!(SYS_open, c"absent", O_TMPFILE | O_RDWR, 0o600));
    describe(sys!(SYS_open, c"d", O_TMPFILE | O_RDWR | O_CLOEXEC, 0o666));
    let fd = sys!(SYS_open, c"sd", O_TMPFILE | O_RDWR, 0o666);
    sys!(SYS_write, fd, c"kept", 4);
    sys!(SYS_linkat, fd, c"", AT_FDCWD, c"kept", AT_EMPTY_PATH);
    state("kept");
    describe(fd);
    let fd = sys!(SYS_open, c".", O_TMPFILE | O_RDWR, 0o640);
    let name = CString::new(format!("/proc/self/fd/{fd}")).expect("name");
    sys!(SYS_linkat, AT_FDCWD, name.as_c_str(), AT_FDCWD, c"kept-too", AT_SYMLINK_FOLLOW);
    state("kept-too");
    let fd = sys!(SYS_open, c"d", O_TMPFILE | O_RDWR | O_EXCL, 0o600);
    sys!(SYS_linkat, fd, c"", AT_FDCWD, c"never", AT_EMPTY_PATH);
    state("never");
}

fn how(path: &CStr, flags: i32, mode: u64, resolve: u64) -> i64 {
    let how = [flags as u64, mode, resolve];
    let result = call(SYS_openat2, &[AT_FDCWD.word(), path.word(), how.as_ptr().word(), 24]);
    told(&format!("openat2 {path:?} {flags:o} {mode:o} {resolve:#x}"), result);
    describe(result);
    result
}

fn openat2() {
    for resolve in [
        0,
        RESOLVE_BENEATH,
        RESOLVE_IN_ROOT,
        RESOLVE_NO_SYMLINKS,
        RESOLVE_NO_MAGICLINKS,
        RESOLVE_NO_XDEV,
        RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    ] {
        for path in EVERYWHERE {
            how(path, O_RDONLY, 0, resolve);
        }
    }
    how(c"made", O_CREAT | O_RDWR, 0o640, RESOLVE_BENEATH);
    state("made");
    how(c"../made", O_CREAT | O_RDWR, 0o640, RESOLVE_BENEATH);
    how(c"/made", O_CREAT | O_RDWR | O_EXCL, 0o640, RESOLVE_IN_ROOT);
    how(c"f", O_RDONLY, 0o600, 0);
    how(c"f", O_CREAT | O_RDWR, 0o10_0600, 0);
    how(c"f", O_RDONLY | 0x4000_0000, 0, 0);
    how(c"f", O_RDONLY, 0, 0x100);
    how(c"f", O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_IN_ROOT);
    how(c"d", O_DIRECTORY | O_CREAT | O_RDWR, 0o600, 0);
    how(c"d", O_TMPFILE | O_RDWR, 0o600, RESOLVE_NO_SYMLINKS);
    let values = [0_u64; 512];
    for size in [0_usize, 8, 23, 25, 32, 64, 4096, 4104, 1 << 20] {
        describe(sys!(SYS_openat2, AT_FDCWD, c"f", values.as_ptr(), size));
    }
    let extended = [0_u64, 0, 0, 1];
    describe(sys!(SYS_openat2, AT_FDCWD, c"f", extended.as_ptr(), 32));
    describe(sys!(SYS_openat2, AT_FDCWD, c"f", 0, 24));
    describe(sys!(SYS_openat2, AT_FDCWD, c"f", 8, 24));
    let high = [1_u64 << 40, 0, 0];
    describe(sys!(SYS_openat2, AT_FDCWD, c"f", high.as_ptr(), 24));
}

fn path_only() {
    let fd = sys!(SYS_openat, AT_FDCWD, c"f", O_PATH | O_CLOEXEC);
    let name = CString::new(format!("/proc/self/fd/{fd}")).expect("name");
    sys!(SYS_read, fd, 0, 0);
    describe(sys!(SYS_openat, AT_FDCWD, name.as_c_str(), O_RDWR));
    describe(sys!(SYS_openat, AT_FDCWD, name.as_c_str(), O_RDWR | O_TRUNC | O_CREAT, 0o600));
    describe(sys!(SYS_openat, AT_FDCWD, name.as_c_str(), O_RDWR | O_CREAT | O_EXCL, 0o600));
    describe(sys!(SYS_openat, AT_FDCWD, name.as_c_str(), O_RDONLY | O_NOFOLLOW));
    state("f");
    describe(sys!(SYS_openat, fd, c"x", O_RDONLY));
    describe(fd);
    let link = sys!(SYS_openat, AT_FDCWD, c"s", O_PATH | O_NOFOLLOW);
    let name = CString::new(format!("/proc/self/fd/{link}")).expect("name");
    describe(sys!(SYS_openat, AT_FDCWD, name.as_c_str(), O_RDONLY));
    sys!(SYS_fchownat, link, c"", 5, 6, AT_EMPTY_PATH);
    state("s");
    describe(link);
    let directory = sys!(SYS_openat, AT_FDCWD, c"sd", O_PATH | O_DIRECTORY);
    describe(sys!(SYS_openat, directory, c"inner", O_RDONLY));
    describe(sys!(SYS_openat, directory, c"../f", O_RDONLY));
    describe(sys!(SYS_openat, directory, c".", O_RDONLY));
    describe(sys!(SYS_openat, directory, c"", O_RDONLY));
    describe(sys!(SYS_openat, directory, c"made", O_RDWR | O_CREAT, 0o600));
    sys!(SYS_fchdir, directory);
    describe(sys!(SYS_open, c"inner", O_RDONLY));
}

fn umasks() {
    for mask in [0_u32, 0o022, 0o077, 0o777, 0o027] {
        sys!(SYS_umask, mask);
        let name = |kind: &str| CString::new(format!("{kind}-{mask:o}")).expect("name");
        let (file, directory, node, temporary) =
            (name("file"), name("dir"), name("node"), name("temp"));
        describe(sys!(SYS_open, file.as_c_str(), O_CREAT | O_WRONLY, 0o7777));
        sys!(SYS_mkdir, directory.as_c_str(), 0o1777);
        sys!(SYS_mknod, node.as_c_str(), S_IFIFO | 0o666, 0);
        let fd = sys!(SYS_open, c".", O_TMPFILE | O_WRONLY, 0o666);
        sys!(SYS_linkat, fd, c"", AT_FDCWD, temporary.as_c_str(), AT_EMPTY_PATH);
        for shown in [file, directory, node, temporary] {
            state(shown.to_str().expect("text"));
        }
    }
    std::thread::spawn(|| sys!(SYS_umask, 0o070)).join().expect("thread");
    describe(sys!(SYS_open, c"after-thread", O_CREAT | O_WRONLY, 0o666));
    state("after-thread");
}
