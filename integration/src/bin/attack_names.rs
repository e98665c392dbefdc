//! Reaches for a secret under other names. `attack_names SECRET WORKSPACE`: whatever could be read of
//! it goes to stdout, with the way that led there.
#![allow(unsafe_code, missing_docs, clippy::expect_used)]

use std::ffi::CString;

fn text(path: &str) -> CString {
    CString::new(path).expect("no NUL")
}

fn open(at: i32, path: &str, flags: i32) -> i32 {
    // SAFETY: the path ends in NUL.
    unsafe { libc::openat(at, text(path).as_ptr(), flags, 0o600) }
}

fn show(way: &str, fd: i32) {
    let mut buffer = [0_u8; 256];
    // SAFETY: the buffer has the stated room.
    let length = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    if length > 0 {
        println!("{way}: {}", String::from_utf8_lossy(&buffer[..length.unsigned_abs()]).trim());
    }
}

fn openat2(at: i32, path: &str, flags: u64, resolve: u64) -> i32 {
    let how = [flags, 0, resolve];
    // SAFETY: path and struct outlive the call; the size is that of the struct.
    let fd = unsafe { libc::syscall(libc::SYS_openat2, at, text(path).as_ptr(), &how, 24) };
    i32::try_from(fd).unwrap_or(-1)
}

fn by_descriptor(secret: &str) {
    let pinned = open(libc::AT_FDCWD, secret, libc::O_PATH);
    for way in ["/proc/self/fd", "/dev/fd", "/proc/thread-self/fd"] {
        show(way, open(libc::AT_FDCWD, &format!("{way}/{pinned}"), libc::O_RDONLY));
    }
    // SAFETY: strings end in NUL.
    unsafe {
        let (empty, flags) = (c"".as_ptr(), libc::AT_EMPTY_PATH);
        libc::linkat(pinned, empty, libc::AT_FDCWD, c"by-descriptor".as_ptr(), flags);
        let source = text(&format!("/proc/self/fd/{pinned}"));
        let follow = libc::AT_SYMLINK_FOLLOW;
        libc::linkat(libc::AT_FDCWD, source.as_ptr(), libc::AT_FDCWD, c"by-link".as_ptr(), follow);
    }
    show("linkat", open(libc::AT_FDCWD, "by-descriptor", libc::O_RDONLY));
    show("linkat follow", open(libc::AT_FDCWD, "by-link", libc::O_RDONLY));
    let (directory, name) = secret.rsplit_once('/').expect("an absolute path");
    let parent = open(libc::AT_FDCWD, directory, libc::O_PATH);
    show("dirfd", open(parent, name, libc::O_RDONLY));
    for resolve in [0, 1, 2, 4, 8, 16] {
        show("openat2", openat2(parent, name, 0, resolve));
        show("openat2 absolute", openat2(libc::AT_FDCWD, secret, 0, resolve));
    }
    // SAFETY: our own directory.
    unsafe { libc::fchdir(parent) };
    show("cwd", open(libc::AT_FDCWD, name, libc::O_RDONLY));
    show("/proc/self/cwd", open(libc::AT_FDCWD, &format!("/proc/self/cwd/{name}"), 0));
}

fn by_mutation(secret: &str, home: &str) {
    let (directory, name) = secret.rsplit_once('/').expect("an absolute path");
    let _ = std::fs::hard_link(secret, "hard");
    let _ = std::fs::rename(secret, "moved");
    let _ = std::fs::rename(directory, "moved-directory");
    let _ = std::fs::rename(home, "moved-home");
    let _ = std::os::unix::fs::symlink(secret, "soft");
    let _ = std::os::unix::fs::symlink(directory, "soft-directory");
    for path in ["hard", "moved", "soft"] {
        show(path, open(libc::AT_FDCWD, path, libc::O_RDONLY));
    }
    for path in ["moved-directory", "soft-directory", "moved-home/.ssh"] {
        show(path, open(libc::AT_FDCWD, &format!("{path}/{name}"), libc::O_RDONLY));
    }
    // An exchange with a directory of ours.
    let _ = std::fs::create_dir("exchange");
    // SAFETY: strings end in NUL; 2 is RENAME_EXCHANGE.
    unsafe {
        let at = libc::AT_FDCWD;
        libc::renameat2(at, text(directory).as_ptr(), at, c"exchange".as_ptr(), 2);
        libc::renameat2(at, text(secret).as_ptr(), at, c"soft".as_ptr(), 2);
        libc::truncate(text(secret).as_ptr(), 1);
    }
    show("exchange", open(libc::AT_FDCWD, &format!("exchange/{name}"), libc::O_RDONLY));
    show("exchanged file", open(libc::AT_FDCWD, "soft", libc::O_RDONLY));
    let _ = open(libc::AT_FDCWD, secret, libc::O_RDONLY | libc::O_TRUNC);
    let _ = open(libc::AT_FDCWD, secret, libc::O_WRONLY | libc::O_TRUNC);
    // SAFETY: the strings end in NUL and live for the call.
    unsafe {
        let node = libc::makedev(1, 11);
        libc::mknod(c"kmsg".as_ptr(), libc::S_IFCHR | 0o600, node);
    }
    show("device node", open(libc::AT_FDCWD, "kmsg", libc::O_RDONLY | libc::O_NONBLOCK));
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (secret, home) = (&arguments[1], &arguments[2]);
    let inner = secret.trim_start_matches('/');
    for way in [
        secret.clone(),
        format!("//{inner}"),
        format!("/./{inner}"),
        format!("/tmp/../{inner}"),
        format!("/proc/self/root/{inner}"),
        format!("/proc/thread-self/root/{inner}"),
        format!("/proc/1/root/{inner}"),
        format!("/proc/self/task/{}/root/{inner}", std::process::id()),
        format!("/proc/self/root/proc/self/root/{inner}"),
        secret.replace(".ssh", ".ssh/../.ssh/."),
    ] {
        for flags in [libc::O_RDONLY, libc::O_RDWR, libc::O_RDONLY | libc::O_CREAT] {
            show(&way, open(libc::AT_FDCWD, &way, flags));
        }
    }
    by_mutation(secret, home);
    by_descriptor(secret);
    println!("done");
}
