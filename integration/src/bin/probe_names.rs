//! A table of calls that change names and attributes; the section to run is the argument.
#![allow(clippy::expect_used)]

use integration::raw::{Word, call, furnish, state};
use integration::sys;
use libc::*;

const TIMES: [timespec; 2] =
    [timespec { tv_sec: 1000, tv_nsec: 5 }, timespec { tv_sec: 2000, tv_nsec: 7 }];

fn main() {
    furnish();
    match std::env::args().nth(1).as_deref() {
        Some("rename") => renames(),
        Some("link") => links(),
        Some("remove") => removals(),
        Some("make") => makes(),
        Some("truncate") => truncates(),
        Some("mode") => modes(),
        Some("owner") => owners(),
        Some("times") => times(),
        Some("attributes") => attributes(),
        other => println!("no section {other:?}"),
    }
}

fn renames() {
    sys!(SYS_rename, c"absent", c"x");
    sys!(SYS_rename, c"f", c"absent/x");
    sys!(SYS_rename, c"f", c"d");
    sys!(SYS_rename, c"d", c"f");
    sys!(SYS_rename, c"d", c"d/e/x");
    sys!(SYS_rename, c"d/e", c"d");
    sys!(SYS_rename, c"f", c"f");
    sys!(SYS_rename, c"f", c"g/");
    sys!(SYS_rename, c"f/", c"g");
    sys!(SYS_rename, c"d", c"moved/");
    state("moved");
    sys!(SYS_rename, c"moved/", c"d");
    sys!(SYS_rename, c".", c"x");
    sys!(SYS_rename, c"..", c"x");
    sys!(SYS_rename, c"d/.", c"x");
    sys!(SYS_rename, c"f", c".");
    sys!(SYS_rename, c"f", c"..");
    sys!(SYS_rename, c"f", c"/");
    sys!(SYS_rename, c"f", c"");
    sys!(SYS_rename, c"", c"f");
    sys!(SYS_rename, c"f", c"/proc/self/x");
    sys!(SYS_rename, c"f", c"/dev/shm/outcall-probe/x");
    sys!(SYS_rename, c"s", c"s2");
    state("s2");
    sys!(SYS_rename, c"sd/", c"s3");
    sys!(SYS_rename, c"loop1", c"loop3");
    sys!(SYS_renameat2, AT_FDCWD, c"f", AT_FDCWD, c"s2", RENAME_NOREPLACE);
    sys!(SYS_renameat2, AT_FDCWD, c"f", AT_FDCWD, c"g", RENAME_NOREPLACE);
    state("g");
    sys!(SYS_renameat2, AT_FDCWD, c"g", AT_FDCWD, c"d", RENAME_EXCHANGE);
    state("g");
    state("d");
    sys!(SYS_renameat2, AT_FDCWD, c"g", AT_FDCWD, c"d", RENAME_EXCHANGE);
    sys!(SYS_renameat2, AT_FDCWD, c"g", AT_FDCWD, c"absent", RENAME_EXCHANGE);
    sys!(SYS_renameat2, AT_FDCWD, c"g", AT_FDCWD, c"x", RENAME_EXCHANGE | RENAME_NOREPLACE);
    sys!(SYS_renameat2, AT_FDCWD, c"g", AT_FDCWD, c"x", 0x80);
    sys!(SYS_renameat2, AT_FDCWD, c"g", AT_FDCWD, c"white", RENAME_WHITEOUT);
    state("g");
    let directory = sys!(SYS_open, c"d", O_PATH | O_DIRECTORY);
    sys!(SYS_renameat, AT_FDCWD, c"white", directory, c"f");
    sys!(SYS_renameat, directory, c"f", AT_FDCWD, c"f");
    sys!(SYS_renameat, 99, c"f", AT_FDCWD, c"f2");
    sys!(SYS_renameat, AT_FDCWD, c"f", 1, c"f2");
    state("f");
}

fn links() {
    sys!(SYS_link, c"f", c"hard");
    state("f");
    sys!(SYS_link, c"f", c"hard");
    sys!(SYS_link, c"d", c"hard-d");
    sys!(SYS_link, c"absent", c"x");
    sys!(SYS_link, c"f", c"absent/x");
    sys!(SYS_link, c"f", c"x/");
    sys!(SYS_link, c"f/", c"x");
    sys!(SYS_link, c"s", c"hard-s");
    state("hard-s");
    sys!(SYS_linkat, AT_FDCWD, c"s", AT_FDCWD, c"hard-f", AT_SYMLINK_FOLLOW);
    state("hard-f");
    sys!(SYS_linkat, AT_FDCWD, c"dangling", AT_FDCWD, c"x", AT_SYMLINK_FOLLOW);
    sys!(SYS_linkat, AT_FDCWD, c"f", AT_FDCWD, c"x", 0x4000);
    sys!(SYS_linkat, AT_FDCWD, c"", AT_FDCWD, c"x", 0);
    sys!(SYS_linkat, AT_FDCWD, c"", AT_FDCWD, c"x", AT_EMPTY_PATH);
    sys!(SYS_link, c"f", c"/dev/shm/outcall-probe-link");
    sys!(SYS_link, c"/proc/self/status", c"x");
    let fd = sys!(SYS_open, c"f", O_PATH);
    sys!(SYS_linkat, fd, c"", AT_FDCWD, c"by-fd", AT_EMPTY_PATH);
    state("by-fd");
    sys!(SYS_symlink, c"anything at all", c"new");
    state("new");
    sys!(SYS_symlink, c"x", c"new");
    sys!(SYS_symlink, c"x", c"dangling");
    sys!(SYS_symlink, c"", c"empty");
    sys!(SYS_symlink, c"x", c"");
    sys!(SYS_symlink, c"x", c"slash/");
    sys!(SYS_symlink, c"x", c"absent/y");
    sys!(SYS_symlink, c"x", c"f/y");
    sys!(SYS_symlinkat, c"x", fd, c"y");
    sys!(SYS_symlinkat, c"../f", sys!(SYS_open, c"d", O_RDONLY), c"y");
    state("d/y");
}

fn removals() {
    sys!(SYS_unlink, c"absent");
    sys!(SYS_unlink, c"d");
    sys!(SYS_unlink, c"f/");
    sys!(SYS_unlink, c"absent/x");
    sys!(SYS_unlink, c"f/x");
    sys!(SYS_unlink, c"");
    sys!(SYS_unlink, c".");
    sys!(SYS_unlink, c"..");
    sys!(SYS_unlink, c"sd/");
    sys!(SYS_unlink, c"loop1/x");
    sys!(SYS_unlink, c"/proc/self/status");
    sys!(SYS_rmdir, c"d");
    sys!(SYS_rmdir, c"f");
    sys!(SYS_rmdir, c"sd");
    sys!(SYS_rmdir, c"sd/");
    sys!(SYS_rmdir, c".");
    sys!(SYS_rmdir, c"d/e/.");
    sys!(SYS_rmdir, c"d/e/..");
    sys!(SYS_rmdir, c"..");
    sys!(SYS_rmdir, c"/");
    sys!(SYS_rmdir, c"absent");
    sys!(SYS_rmdir, c"");
    sys!(SYS_unlinkat, AT_FDCWD, c"d/inner", 0x1);
    sys!(SYS_unlinkat, AT_FDCWD, c"d/inner", AT_REMOVEDIR);
    sys!(SYS_unlinkat, AT_FDCWD, c"d/e/", AT_REMOVEDIR);
    state("d/e");
    let fd = sys!(SYS_open, c"d", O_RDONLY);
    sys!(SYS_unlinkat, fd, c"inner", 0);
    sys!(SYS_unlinkat, fd, c"up", 0);
    sys!(SYS_unlinkat, fd, c"../sd", 0);
    state("sd");
    sys!(SYS_unlinkat, fd, c"abs", 0);
    sys!(SYS_unlinkat, 99, c"f", 0);
    sys!(SYS_rmdir, c"d");
    state("d");
    sys!(SYS_unlink, c"dangling");
    sys!(SYS_unlink, c"loop1");
    sys!(SYS_unlink, c"s");
    state("f");
}

fn makes() {
    sys!(SYS_umask, 0o022);
    sys!(SYS_mkdir, c"n", 0o777);
    state("n");
    sys!(SYS_mkdir, c"n/", 0o777);
    sys!(SYS_mkdir, c"n2/", 0o2777);
    state("n2");
    sys!(SYS_mkdir, c"f", 0o777);
    sys!(SYS_mkdir, c"dangling", 0o777);
    sys!(SYS_mkdir, c"dangling/", 0o777);
    sys!(SYS_mkdir, c"absent/x", 0o777);
    sys!(SYS_mkdir, c"f/x", 0o777);
    sys!(SYS_mkdir, c".", 0o777);
    sys!(SYS_mkdir, c"..", 0o777);
    sys!(SYS_mkdir, c"/", 0o777);
    sys!(SYS_mkdir, c"", 0o777);
    sys!(SYS_mkdir, c"n/.", 0o777);
    sys!(SYS_mkdir, c"n3/.", 0o777);
    sys!(SYS_mkdirat, 99, c"x", 0o777);
    sys!(SYS_mkdirat, sys!(SYS_open, c"n", O_PATH), c"below", 0o700);
    state("n/below");
    sys!(SYS_mknod, c"fifo", S_IFIFO | 0o666, 0);
    state("fifo");
    sys!(SYS_mknod, c"fifo", S_IFIFO | 0o666, 0);
    sys!(SYS_mknod, c"plain", S_IFREG | 0o664, 0);
    state("plain");
    sys!(SYS_mknod, c"typeless", 0o600, 0);
    state("typeless");
    sys!(SYS_mknod, c"sock", S_IFSOCK | 0o600, 0);
    state("sock");
    sys!(SYS_mknod, c"dir", S_IFDIR | 0o600, 0);
    sys!(SYS_mknod, c"lnk", S_IFLNK | 0o600, 0);
    sys!(SYS_mknod, c"odd", 0o150_600, 0);
    sys!(SYS_mknod, c"slash/", S_IFIFO | 0o600, 0);
    sys!(SYS_mknod, c"dangling", S_IFREG | 0o600, 0);
    sys!(SYS_mknodat, AT_FDCWD, c"d/fifo", S_IFIFO | 0o644, 0);
    state("d/fifo");
    sys!(SYS_mknodat, 99, c"x", S_IFIFO, 0);
}

fn truncates() {
    for path in [c"f", c"s", c"d", c"absent", c"dangling", c"f/", c"", c"/dev/null", c"loop1"] {
        println!("{path:?}");
        sys!(SYS_truncate, path, 100);
        sys!(SYS_truncate, path, -1_i64);
        sys!(SYS_truncate, path, 3);
        sys!(SYS_truncate, path, i64::MAX);
    }
    state("f");
    sys!(SYS_mknod, c"fifo", S_IFIFO | 0o666, 0);
    sys!(SYS_truncate, c"fifo", 1);
}

fn modes() {
    for path in [c"f", c"s", c"d", c"dangling", c"absent", c"loop1", c"f/", c"sd/", c"", c"d/."] {
        println!("{path:?}");
        sys!(SYS_chmod, path, 0o1751);
        sys!(SYS_fchmodat, AT_FDCWD, path, 0o17_7640);
        sys!(SYS_fchmodat2, AT_FDCWD, path, 0o641, AT_SYMLINK_NOFOLLOW);
        sys!(SYS_fchmodat2, AT_FDCWD, path, 0o642, 0);
        sys!(SYS_fchmodat2, AT_FDCWD, path, 0o643, 0x1);
        state("f");
        state("s");
        state("d");
    }
    let fd = sys!(SYS_open, c"f", O_RDONLY);
    sys!(SYS_fchmodat2, fd, c"", 0o711, AT_EMPTY_PATH);
    state("f");
    sys!(SYS_fchmodat2, fd, c"", 0o711, 0);
    sys!(SYS_fchmodat2, fd, c"x", 0o711, 0);
    let pathed = sys!(SYS_open, c"f", O_PATH);
    sys!(SYS_fchmodat2, pathed, c"", 0o712, AT_EMPTY_PATH);
    state("f");
    sys!(SYS_fchmodat2, AT_FDCWD, c"", 0o755, AT_EMPTY_PATH);
    state(".");
    sys!(SYS_fchmod, pathed, 0o700);
}

fn owners() {
    for path in [c"f", c"s", c"d", c"dangling", c"absent", c"f/", c"sd/", c""] {
        println!("{path:?}");
        sys!(SYS_chown, path, 11, 12);
        sys!(SYS_lchown, path, 13, u32::MAX);
        sys!(SYS_fchownat, AT_FDCWD, path, 14, 15, AT_SYMLINK_NOFOLLOW);
        sys!(SYS_fchownat, AT_FDCWD, path, u32::MAX, 16, 0);
        sys!(SYS_fchownat, AT_FDCWD, path, 1, 1, 0x1);
        for name in ["f", "s", "d", "dangling", "sd"] {
            state(name);
        }
    }
    let _ = call(SYS_chmod, &[c"f".word(), 0o6755]);
    sys!(SYS_chown, c"f", 20, 20);
    state("f");
    let fd = sys!(SYS_open, c"f", O_RDONLY);
    sys!(SYS_fchownat, fd, c"", 30, 31, AT_EMPTY_PATH);
    sys!(SYS_fchownat, fd, c"", 30, 31, 0);
    sys!(SYS_fchownat, 99, c"", 30, 31, AT_EMPTY_PATH);
    sys!(SYS_fchownat, AT_FDCWD, c"", 0, 0, AT_EMPTY_PATH);
    let link = sys!(SYS_open, c"s", O_PATH | O_NOFOLLOW);
    sys!(SYS_fchownat, link, c"", 32, 33, AT_EMPTY_PATH);
    state("f");
    state("s");
}

fn times() {
    let pair = TIMES.as_ptr();
    for path in [c"f", c"s", c"d", c"dangling", c"absent", c"f/", c"", c"loop1"] {
        println!("{path:?}");
        sys!(SYS_utimensat, AT_FDCWD, path, pair, 0);
        sys!(SYS_utimensat, AT_FDCWD, path, pair, AT_SYMLINK_NOFOLLOW);
        sys!(SYS_utimensat, AT_FDCWD, path, pair, 0x1);
        sys!(SYS_utimes, path, [3000_i64, 1, 4000, 1].as_ptr());
        sys!(SYS_futimesat, AT_FDCWD, path, [5000_i64, 0, 6000, 0].as_ptr());
        sys!(SYS_utime, path, [7000_i64, 8000].as_ptr());
        for name in ["f", "s", "d", "dangling"] {
            state(name);
        }
    }
    sys!(SYS_utimes, c"f", [1_i64, 1_000_000, 1, 0].as_ptr());
    sys!(SYS_utimensat, AT_FDCWD, c"f", [1_i64, 1_000_000_000, 1, 0].as_ptr(), 0);
    sys!(SYS_utimensat, AT_FDCWD, c"f", [1_i64, UTIME_OMIT, 77, 0].as_ptr(), 0);
    state("f");
    sys!(SYS_utimensat, AT_FDCWD, c"f", [1_i64, UTIME_OMIT, 1, UTIME_OMIT].as_ptr(), 0);
    sys!(SYS_utimensat, AT_FDCWD, c"absent", [1_i64, UTIME_OMIT, 1, UTIME_OMIT].as_ptr(), 0);
    sys!(SYS_utimensat, AT_FDCWD, c"f", [1_i64, UTIME_NOW, 78, 0].as_ptr(), 0);
    state("f");
    sys!(SYS_utimensat, AT_FDCWD, c"f", 8, 0);
    sys!(SYS_utimensat, AT_FDCWD, c"f", 0, 0);
    state("f");
    let fd = sys!(SYS_open, c"f", O_RDONLY);
    sys!(SYS_utimensat, fd, 0, pair, 0);
    state("f");
    sys!(SYS_utimensat, fd, c"", [90_i64, 0, 91, 0].as_ptr(), AT_EMPTY_PATH);
    state("f");
    sys!(SYS_utimensat, fd, c"", pair, 0);
}

fn attributes() {
    for path in [c"f", c"s", c"d", c"dangling", c"absent", c"f/"] {
        println!("{path:?}");
        sys!(SYS_setxattr, path, c"user.a", c"value", 5, 0);
        sys!(SYS_setxattr, path, c"user.a", c"other", 5, XATTR_CREATE);
        sys!(SYS_setxattr, path, c"user.b", c"other", 5, XATTR_REPLACE);
        sys!(SYS_setxattr, path, c"user.b", 0, 0, 0);
        sys!(SYS_setxattr, path, c"nothing", c"value", 5, 0);
        sys!(SYS_setxattr, path, c"", c"value", 5, 0);
        sys!(SYS_setxattr, path, c"user.c", 8, 5, 0);
        sys!(SYS_setxattr, path, c"user.c", c"value", 70_000, 0);
        sys!(SYS_setxattr, path, c"user.c", c"value", 5, 0x80);
        sys!(SYS_setxattr, path, 8, c"value", 5, 0);
        sys!(SYS_lsetxattr, path, c"user.l", c"link", 4, 0);
        sys!(SYS_lsetxattr, path, c"trusted.l", c"link", 4, 0);
        let mut buffer = [0_u8; 128];
        sys!(SYS_llistxattr, path, buffer.as_mut_ptr(), 128);
        println!("    {}", buffer.escape_ascii());
        sys!(SYS_removexattr, path, c"user.a");
        sys!(SYS_removexattr, path, c"user.a");
        sys!(SYS_lremovexattr, path, c"trusted.l");
        sys!(SYS_lremovexattr, path, c"user.none");
        let mut buffer = [0_u8; 128];
        sys!(SYS_listxattr, path, buffer.as_mut_ptr(), 128);
        println!("    {}", buffer.escape_ascii());
    }
}
