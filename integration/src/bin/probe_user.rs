//! What a caller may do after it gave up rights: the supervisor may lend it none of its own.
#![allow(unsafe_code, clippy::expect_used)]

use std::os::unix::fs::PermissionsExt;

use integration::raw::{describe, furnish, state};
use integration::sys;
use libc::*;

const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_DAC_READ_SEARCH: u32 = 2;
const CAP_CHOWN: u32 = 0;
const CAP_FOWNER: u32 = 3;

fn main() {
    furnish();
    let mode = |path: &str, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode");
    };
    std::fs::create_dir_all("locked/inside").expect("locked");
    std::fs::create_dir("open").expect("open");
    std::fs::create_dir("sticky").expect("sticky");
    std::fs::write("secret", "s").expect("secret");
    std::fs::write("group", "s").expect("group");
    std::fs::write("sticky/theirs", "s").expect("theirs");
    std::fs::write("locked/inside/file", "s").expect("file");
    std::os::unix::fs::symlink("theirs", "sticky/link").expect("link");
    std::os::unix::fs::chown("group", Some(0), Some(77)).expect("group");
    for (path, bits) in [
        ("secret", 0o600),
        ("group", 0o640),
        ("locked", 0o700),
        ("open", 0o777),
        ("sticky", 0o1777),
        (".", 0o755),
        ("sticky/theirs", 0o666),
    ] {
        mode(path, bits);
    }
    match std::env::args().nth(1).as_deref() {
        Some("nobody") => {
            sys!(SYS_setgroups, 1, [77_u32].as_ptr());
            sys!(SYS_setresgid, 65534, 65534, 65534);
            sys!(SYS_setresuid, 65534, 65534, 65534);
            table();
        }
        Some("fsuid") => {
            sys!(SYS_setfsgid, 65534);
            sys!(SYS_setfsuid, 65534);
            table();
        }
        Some("effective") => {
            sys!(SYS_setresuid, 0, 65534, 0);
            table();
            sys!(SYS_setresuid, 0, 0, 0);
            describe(sys!(SYS_open, c"secret", O_RDWR));
        }
        Some("capabilities") => {
            drop_capabilities(&[CAP_DAC_OVERRIDE]);
            table();
            drop_capabilities(&[CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_CHOWN, CAP_FOWNER]);
            table();
        }
        Some("thread") => one_thread(),
        other => println!("no section {other:?}"),
    }
}

fn table() {
    describe(sys!(SYS_open, c"secret", O_RDONLY));
    describe(sys!(SYS_open, c"secret", O_WRONLY | O_TRUNC));
    describe(sys!(SYS_open, c"group", O_RDONLY));
    describe(sys!(SYS_open, c"group", O_RDWR));
    describe(sys!(SYS_open, c"f", O_RDONLY));
    describe(sys!(SYS_open, c"f", O_RDWR));
    describe(sys!(SYS_open, c"f", O_RDONLY | O_NOATIME));
    describe(sys!(SYS_open, c"locked/inside/file", O_RDONLY));
    describe(sys!(SYS_open, c"locked/absent", O_RDONLY));
    describe(sys!(SYS_open, c"locked", O_RDONLY | O_DIRECTORY));
    describe(sys!(SYS_open, c"locked", O_PATH));
    describe(sys!(SYS_open, c"locked/new", O_CREAT | O_RDWR, 0o666));
    describe(sys!(SYS_open, c"refused", O_CREAT | O_RDWR, 0o666));
    describe(sys!(SYS_open, c"open/made", O_CREAT | O_RDWR, 0o666));
    state("open/made");
    describe(sys!(SYS_open, c"open", O_TMPFILE | O_RDWR, 0o600));
    sys!(SYS_mkdir, c"open/dir", 0o777);
    state("open/dir");
    sys!(SYS_symlink, c"x", c"open/link");
    state("open/link");
    sys!(SYS_mknod, c"open/fifo", S_IFIFO | 0o600, 0);
    state("open/fifo");
    sys!(SYS_mkdir, c"refused", 0o777);
    sys!(SYS_unlink, c"f");
    state("f");
    sys!(SYS_link, c"secret", c"open/stolen");
    sys!(SYS_rename, c"secret", c"open/secret");
    sys!(SYS_chmod, c"secret", 0o666);
    sys!(SYS_chmod, c"open/made", 0o4755);
    sys!(SYS_chown, c"secret", 65534, 65534);
    sys!(SYS_chown, c"open/made", 65534, 77);
    state("open/made");
    sys!(SYS_truncate, c"secret", 0);
    sys!(SYS_utimensat, AT_FDCWD, c"f", 0, 0);
    sys!(SYS_utimensat, AT_FDCWD, c"f", [5_i64, 0, 5, 0].as_ptr(), 0);
    sys!(SYS_setxattr, c"f", c"user.x", c"v", 1, 0);
    sys!(SYS_setxattr, c"open/made", c"trusted.x", c"v", 1, 0);
    sys!(SYS_unlink, c"sticky/theirs");
    sys!(SYS_rename, c"sticky/theirs", c"sticky/mine");
    describe(sys!(SYS_open, c"sticky/theirs", O_RDWR | O_CREAT, 0o666));
    describe(sys!(SYS_open, c"sticky/theirs", O_RDWR));
    describe(sys!(SYS_open, c"sticky/link", O_RDONLY));
    describe(sys!(SYS_open, c"/proc/self/status", O_RDONLY));
    describe(sys!(SYS_open, c"/proc/self/environ", O_RDONLY));
    describe(sys!(SYS_open, c"/etc/shadow", O_RDONLY));
    sys!(SYS_execve, c"secret", 0, 0);
    sys!(SYS_execve, c"locked/inside/file", 0, 0);
    state("secret");
}

fn drop_capabilities(dropped: &[u32]) {
    let header = [0x2008_0522_u32, 0];
    let mut sets = [0_u32; 6];
    sys!(SYS_capget, header.as_ptr(), sets.as_mut_ptr());
    for capability in dropped {
        sets[0] &= !(1 << capability);
    }
    sys!(SYS_capset, header.as_ptr(), sets.as_ptr());
}

/// Credentials belong to a thread: one drops them (by the raw call), the other keeps them.
fn one_thread() {
    let dropped = std::thread::spawn(|| {
        sys!(SYS_setresuid, 65534, 65534, 65534);
        table();
    });
    dropped.join().expect("thread");
    describe(sys!(SYS_open, c"secret", O_RDWR));
    describe(sys!(SYS_open, c"by-root", O_CREAT | O_RDWR, 0o600));
    state("by-root");
}
