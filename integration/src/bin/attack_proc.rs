//! Reaches for entries of `/proc` that belong to somebody else, by every way there is to name them.
//!
//! `attack_proc PID…`: prints `REACHED way path` for every entry from which something could be read.
#![allow(unsafe_code, missing_docs, clippy::expect_used)]

use std::ffi::CString;

const ENTRIES: &[&str] = &[
    "mem",
    "environ",
    "maps",
    "auxv",
    "syscall",
    "smaps",
    "pagemap",
    "mountinfo",
    "fd",
    "fdinfo",
    "map_files",
    "ns",
    "root",
    "cwd",
    "exe",
    "root/etc/hostname",
    "fd/0",
    "fd/1",
    "fd/3",
    "fd/4",
    "fd/5",
    "fd/6",
    "fd/7",
    "fd/8",
    "fd/9",
    "fd/10",
    "fd/11",
    "fd/12",
    "fdinfo/3",
];

fn open(at: i32, path: &str, flags: i32) -> i32 {
    let path = CString::new(path).expect("no NUL");
    // SAFETY: the path ends in NUL.
    unsafe { libc::openat(at, path.as_ptr(), flags | libc::O_CLOEXEC | libc::O_NONBLOCK) }
}

/// Says so if a descriptor gives anything: bytes, names, or memory.
fn report(way: &str, path: &str, fd: i32) {
    if fd < 0 {
        return;
    }
    let mut buffer = [0_u8; 256];
    let (room, size) = (buffer.as_mut_ptr(), buffer.len());
    // SAFETY: the buffer has room for what is asked; the descriptor is ours.
    let got = unsafe {
        libc::read(fd, room.cast(), size) > 0
            || libc::pread(fd, room.cast(), 8, stack_of(path)) > 0
            || libc::syscall(libc::SYS_getdents64, fd, room, size) > 0
    };
    // SAFETY: opened by the caller of this function for this report.
    unsafe { libc::close(fd) };
    if got {
        println!("REACHED {way} {path}");
    }
}

/// Where the process's stack was when it last said so; any mapped address will do for `mem`.
fn stack_of(path: &str) -> i64 {
    let pid = path.split('/').find(|word| word.parse::<i32>().is_ok()).unwrap_or("self");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let field = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(25));
    field.and_then(|start| start.parse().ok()).unwrap_or(0x40_0000)
}

fn attack(pid: &str) {
    let parent = format!("/proc/{pid}");
    let directory = open(libc::AT_FDCWD, &parent, libc::O_PATH);
    let threads = std::fs::read_dir(format!("{parent}/task")).into_iter().flatten().flatten();
    let thread = threads.last().map(|entry| entry.file_name().to_string_lossy().into_owned());
    for entry in ENTRIES {
        let path = format!("{parent}/{entry}");
        for flags in [libc::O_RDONLY, libc::O_RDWR] {
            report("plain", &path, open(libc::AT_FDCWD, &path, flags));
            report("dirfd", &path, open(directory, entry, flags));
        }
        let by_root = format!("/proc/1/root{path}");
        report("by /proc/1/root", &path, open(libc::AT_FDCWD, &by_root, libc::O_RDONLY));
        let dotted = format!("/proc/self/../{pid}/./{entry}");
        report("dotted", &path, open(libc::AT_FDCWD, &dotted, libc::O_RDONLY));
        if let Some(thread) = &thread {
            let path = format!("{parent}/task/{thread}/{entry}");
            report("thread", &path, open(libc::AT_FDCWD, &path, libc::O_RDONLY));
            let path = format!("/proc/{thread}/{entry}");
            report("thread as process", &path, open(libc::AT_FDCWD, &path, libc::O_RDONLY));
        }
        let _ = std::fs::remove_file("link");
        let _ = std::os::unix::fs::symlink(&path, "link");
        report("symlink", &path, open(libc::AT_FDCWD, "link", libc::O_RDONLY));
        let pinned = open(libc::AT_FDCWD, &path, libc::O_PATH);
        let again = format!("/proc/self/fd/{pinned}");
        report("O_PATH and reopen", &path, open(libc::AT_FDCWD, &again, libc::O_RDONLY));
        report("O_PATH and reopen rw", &path, open(libc::AT_FDCWD, &again, libc::O_RDWR));
        report("O_PATH and /dev/fd", &path, {
            open(libc::AT_FDCWD, &format!("/dev/fd/{pinned}"), libc::O_RDONLY)
        });
        report("O_PATH directory", &path, open(pinned, ".", libc::O_RDONLY));
        // SAFETY: closes what was opened above.
        unsafe { libc::close(pinned) };
    }
    // SAFETY: changes our own directory.
    unsafe { libc::fchdir(directory) };
    for entry in ["mem", "environ", "maps", "fd/3"] {
        report("cwd", &format!("{parent}/{entry}"), open(libc::AT_FDCWD, entry, libc::O_RDONLY));
        let path = format!("/proc/self/cwd/{entry}");
        report("/proc/self/cwd", &format!("{parent}/{entry}"), {
            open(libc::AT_FDCWD, &path, libc::O_RDONLY)
        });
    }
}

fn main() {
    let cwd = std::env::current_dir().expect("a directory");
    for pid in std::env::args().skip(1) {
        attack(&pid);
        std::env::set_current_dir(&cwd).expect("back again");
    }
    println!("done");
}
