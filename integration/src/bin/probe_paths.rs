//! A table of paths; the section to run is the argument. Every call and its result is a line.
#![allow(unsafe_code, clippy::expect_used)]

use std::ffi::{CStr, CString};

use integration::raw::{Word, call, describe, furnish, state};
use integration::sys;
use libc::*;

const SHAPES: [&CStr; 26] = [
    c"",
    c".",
    c"./f",
    c"d/../f",
    c"d//inner",
    c"//etc//hostname",
    c"f/",
    c"f/.",
    c"f/..",
    c"d/.",
    c"d/e/../../f",
    c"loop1",
    c"loop1/x",
    c"s/",
    c"sd/inner",
    c"sd/../f",
    c"dangling",
    c"dangling/x",
    c"/../../etc/hostname",
    c"/..",
    c"/",
    c"d/up",
    c"d/abs",
    c"./././f",
    c"absent/../f",
    c"f/../f",
];

const SPECIAL: [&CStr; 37] = [
    c"/proc/self/status",
    c"/proc/thread-self/status",
    c"/proc/self",
    c"/proc/self/cwd/f",
    c"/proc/self/root/etc/hostname",
    c"/proc/self/exe",
    c"/proc/self/fd",
    c"/proc/self/fd/0",
    c"/proc/self/fd/999",
    c"/proc/self/fd/-1",
    c"/proc/self/task",
    c"/dev/fd",
    c"/dev/fd/0",
    c"/dev/stdin",
    c"/dev/null",
    c"/dev/zero",
    c"/dev/tty",
    c"/dev/ptmx",
    c"/proc/self/ns/mnt",
    c"/proc/self/../self/comm",
    c"/proc/mounts",
    c"/proc/self/mounts",
    c"/proc/self/environ",
    c"/proc/self/maps",
    c"/proc/self/auxv",
    c"/proc/self/mem",
    c"/proc/self/oom_score_adj",
    c"/proc/999999/status",
    c"/proc/sys/kernel/ostype",
    c"/sys/kernel/mm",
    c"/dev/full",
    c"/dev/shm",
    c"/proc/self/fdinfo/0",
    c"/proc/self/map_files",
    c"/proc/net/unix",
    c"/proc/self/net/tcp",
    c"/proc/absent",
];

fn main() {
    furnish();
    match std::env::args().nth(1).as_deref() {
        Some("shapes") => paths(),
        Some("bad") => bad_pointers(),
        Some("long") => long_names(),
        Some("deep") => deep_directory(),
        Some("many") => too_many_files(),
        Some("special") => special(),
        Some("cwd") => directories(),
        other => println!("no section {other:?}"),
    }
}

fn paths() {
    for path in SHAPES {
        println!("{path:?}");
        describe(sys!(SYS_open, path, O_RDONLY));
        describe(sys!(SYS_open, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600));
        describe(sys!(SYS_open, path, O_RDONLY | O_DIRECTORY));
        describe(sys!(SYS_open, path, O_RDONLY | O_CREAT | O_EXCL, 0o600));
    }
    for name in
        [&b"caf\xe9"[..], b"\xff\xfe", b"new\nline", b"sp ace", b"\x01\x7f", "ünï".as_bytes()]
    {
        let name = CString::new(name).expect("name");
        describe(sys!(SYS_open, name.as_c_str(), O_CREAT | O_EXCL | O_RDWR, 0o600));
        describe(sys!(SYS_open, name.as_c_str(), O_RDONLY));
        let directory = CString::new([b"dir-", name.to_bytes()].concat()).expect("name");
        sys!(SYS_mkdir, directory.as_c_str(), 0o700);
        sys!(
            SYS_rename,
            name.as_c_str(),
            CString::new([directory.to_bytes(), b"/", name.to_bytes()].concat())
                .expect("name")
                .as_c_str()
        );
    }
    for depth in [39, 40, 41] {
        for index in 0..depth {
            let text = if index == 0 { "../f".to_owned() } else { format!("l{}", index - 1) };
            std::os::unix::fs::symlink(text, format!("d/l{index}")).expect("link");
        }
        let last = CString::new(format!("d/l{}", depth - 1)).expect("name");
        describe(sys!(SYS_open, last.as_c_str(), O_RDONLY));
        describe(sys!(SYS_open, last.as_c_str(), O_RDWR | O_CREAT, 0o600));
        for index in 0..depth {
            std::fs::remove_file(format!("d/l{index}")).expect("removed");
        }
    }
}

fn before_a_hole(bytes: &[u8]) -> *const u8 {
    // SAFETY: a fresh private mapping, the second page of which is unmapped again; the copy stays
    // within the first.
    unsafe {
        let base = mmap(
            std::ptr::null_mut(),
            8192,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0,
        )
        .cast::<u8>();
        munmap(base.add(4096).cast(), 4096);
        let start = base.add(4096 - bytes.len());
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
        start
    }
}

fn bad_pointers() {
    for pointer in [0_usize, 1, 4095, 0x7fff_ffff_f000, 0xffff_8000_0000_0000, usize::MAX] {
        println!("{pointer:#x}");
        sys!(SYS_open, pointer, O_RDONLY);
        sys!(SYS_openat, AT_FDCWD, pointer, O_RDONLY | O_CREAT, 0o600);
        sys!(SYS_openat, -1, pointer, O_RDONLY);
        sys!(SYS_openat, AT_FDCWD, pointer, O_PATH);
        sys!(SYS_unlink, pointer);
        sys!(SYS_rename, c"f", pointer);
        sys!(SYS_rename, pointer, c"f");
        sys!(SYS_symlink, pointer, c"new");
        sys!(SYS_chmod, pointer, 0o600);
        sys!(SYS_mkdir, pointer, 0o600);
        sys!(SYS_truncate, pointer, 0);
        sys!(SYS_execve, pointer, 0, 0);
    }
    let ended = before_a_hole(b"f\0");
    describe(sys!(SYS_open, ended, O_RDONLY));
    let open_ended = before_a_hole(b"f");
    describe(sys!(SYS_open, open_ended, O_RDONLY));
    let open_ended = before_a_hole(b"new-name");
    describe(sys!(SYS_open, open_ended, O_CREAT | O_WRONLY, 0o600));
    state("new-name");
    let how = before_a_hole(&[0; 23]);
    describe(sys!(SYS_openat2, AT_FDCWD, c"f", how, 24));
    let how = before_a_hole(&[0; 24]);
    describe(sys!(SYS_openat2, AT_FDCWD, c"f", how, 24));
    describe(sys!(SYS_openat2, AT_FDCWD, c"f", how, 32));
}

fn long_names() {
    for length in [4094, 4095, 4096, 4097, 9000] {
        // Always below the working directory: "./././f", with one slash more where needed.
        let slash = if length % 2 == 0 { "/" } else { "" };
        let path = format!("{}{slash}f", "./".repeat((length - 1) / 2));
        let path = CString::new(path).expect("path");
        println!("{} bytes", path.as_bytes().len());
        describe(sys!(SYS_open, path.as_c_str(), O_RDONLY));
        describe(sys!(SYS_open, path.as_c_str(), O_RDWR | O_CREAT, 0o600));
        sys!(SYS_chmod, path.as_c_str(), 0o640);
        let before =
            before_a_hole(path.as_bytes_with_nul().get(..4096).unwrap_or(path.as_bytes_with_nul()));
        describe(sys!(SYS_open, before, O_RDONLY));
    }
    for length in [254, 255, 256, 1000] {
        let name = CString::new(vec![b'n'; length]).expect("name");
        let below =
            CString::new([b"d/".as_slice(), name.as_bytes(), b"/x"].concat()).expect("name");
        println!("{length} bytes");
        describe(sys!(SYS_open, name.as_c_str(), O_RDONLY));
        sys!(SYS_open, name.as_c_str(), O_RDWR | O_CREAT, 0o600);
        sys!(SYS_open, below.as_c_str(), O_RDONLY);
        sys!(SYS_mkdir, below.as_c_str(), 0o700);
        sys!(SYS_rename, name.as_c_str(), c"short");
        sys!(SYS_symlink, name.as_c_str(), c"to-long");
        sys!(SYS_open, c"to-long", O_RDONLY);
        sys!(SYS_unlink, c"to-long");
    }
}

fn deep_directory() {
    let name = CString::new(vec![b'p'; 200]).expect("name");
    for _ in 0..18 {
        let _ = call(SYS_mkdir, &[name.as_c_str().word(), 0o700]);
        let _ = call(SYS_chdir, &[name.as_c_str().word()]);
    }
    describe(sys!(SYS_open, c"deep", O_CREAT | O_RDWR, 0o600));
    for _ in 0..4 {
        sys!(SYS_mkdir, name.as_c_str(), 0o700);
        sys!(SYS_chdir, name.as_c_str());
    }
    sys!(SYS_open, c"too-deep", O_CREAT | O_RDWR, 0o600);
    sys!(SYS_mkdir, c"too-deep-d", 0o700);
    state("too-deep");
}

fn too_many_files() {
    let limit = rlimit { rlim_cur: 12, rlim_max: 12 };
    sys!(SYS_setrlimit, RLIMIT_NOFILE, &raw const limit);
    for _ in 0..14 {
        sys!(SYS_open, c"f", O_RDONLY);
    }
    sys!(SYS_open, c"made", O_RDWR | O_CREAT, 0o600);
    sys!(SYS_open, c"f", O_RDWR | O_TRUNC);
    sys!(SYS_open, c"absent", O_RDONLY);
    sys!(SYS_open, c"f", O_PATH);
    sys!(SYS_close, 7);
    sys!(SYS_open, c"f", O_RDONLY);
    sys!(SYS_open, c"f", O_RDONLY);
    sys!(SYS_mkdir, c"still", 0o700);
    let none = rlimit { rlim_cur: 0, rlim_max: 0 };
    sys!(SYS_setrlimit, RLIMIT_NOFILE, &raw const none);
    sys!(SYS_close, 8);
    sys!(SYS_open, c"f", O_RDONLY);
    state("f");
    state("made");
}

fn special() {
    for path in SPECIAL {
        println!("{path:?}");
        describe(sys!(SYS_open, path, O_RDONLY));
        describe(sys!(SYS_open, path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
    }
    for path in [c"/dev/null", c"/dev/stdout", c"/dev/fd/2", c"/proc/self/comm", c"/proc/self/fd/1"]
    {
        println!("{path:?}");
        describe(sys!(SYS_open, path, O_WRONLY | O_APPEND));
        describe(sys!(SYS_open, path, O_WRONLY | O_CREAT, 0o600));
        describe(sys!(SYS_open, path, O_WRONLY | O_CREAT | O_EXCL, 0o600));
    }
    contents();
}

fn contents() {
    let own = std::process::id().to_string();
    let pid_in = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pid:\t").map(str::to_owned));
        line.or_else(|| text.split(' ').next().map(str::to_owned)).unwrap_or_default()
    };
    println!(
        "self is this process: {}",
        pid_in("/proc/self/status") == own && pid_in("/proc/self/stat") == own
    );
    let other = std::thread::spawn(move || {
        let tid = call(SYS_gettid, &[]).to_string();
        let known = pid_in("/proc/thread-self/status") == tid
            && pid_in(&format!("/proc/self/task/{tid}/stat")) == tid;
        known && pid_in("/proc/self/stat") == std::process::id().to_string()
    });
    println!("thread-self is this thread: {}", other.join().expect("thread"));
    let names = |path: &str| {
        let mut names: Vec<_> = std::fs::read_dir(path)
            .expect("a directory")
            .map(|entry| entry.expect("entry").file_name())
            .collect();
        names.sort();
        names
    };
    println!("descriptors: {:?} {:?}", names("/proc/self/fd"), names("/dev/fd"));
    println!("program: {:?}", std::fs::read("/proc/self/exe").map(|bytes| bytes.len()));
    println!("name: {:?}", std::fs::read_to_string("/proc/self/comm"));
    println!(
        "arguments: {:?}",
        std::fs::read_to_string("/proc/self/cmdline").map(|text| text.contains("special"))
    );
    println!("own memory: {:?}", own_memory());
    println!(
        "renamed: {:?}",
        std::fs::write("/proc/thread-self/comm", "renamed")
            .and_then(|()| std::fs::read_to_string("/proc/self/comm"))
    );
}

fn own_memory() -> Option<[u8; 6]> {
    use std::os::unix::fs::FileExt;
    let secret = *b"marked";
    let mut bytes = [0; 6];
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut bytes, secret.as_ptr() as u64).ok()?;
    Some(bytes)
}

fn directories() {
    let up = sys!(SYS_open, c".", O_RDONLY | O_DIRECTORY);
    sys!(SYS_chdir, c"d");
    describe(sys!(SYS_open, c"inner", O_RDONLY));
    describe(sys!(SYS_open, c"../f", O_RDONLY));
    describe(sys!(SYS_openat, up, c"f", O_RDONLY));
    describe(sys!(SYS_openat, up, c"d/e", O_RDONLY));
    describe(sys!(SYS_openat, 777, c"f", O_RDONLY));
    describe(sys!(SYS_openat, 777, c"/etc/hostname", O_RDONLY));
    describe(sys!(SYS_openat, 1, c"f", O_RDONLY));
    let file = sys!(SYS_openat, up, c"f", O_RDONLY);
    describe(sys!(SYS_openat, file, c"f", O_RDONLY));
    describe(sys!(SYS_openat, file, c"", O_RDONLY));
    sys!(SYS_mkdirat, up, c"gone", 0o700);
    sys!(SYS_fchdir, up);
    sys!(SYS_chdir, c"gone");
    sys!(SYS_rmdir, c"../gone");
    for path in [c".", c"..", c"x", c"../f", c"./x"] {
        println!("in a deleted directory: {path:?}");
        sys!(SYS_close, sys!(SYS_open, path, O_RDONLY));
        sys!(SYS_open, path, O_RDWR | O_CREAT, 0o600);
    }
    sys!(SYS_mkdir, c"x", 0o700);
    sys!(SYS_open, c".", O_TMPFILE | O_RDWR, 0o600);
    sys!(SYS_symlink, c"a", c"b");
    sys!(SYS_unlink, c"b");
    sys!(SYS_rename, c"a", c"b");
    sys!(SYS_chmod, c".", 0o700);
    println!("{:?}", std::env::current_dir().map_err(|error| error.kind()));
    let separate = std::thread::spawn(move || {
        sys!(SYS_unshare, CLONE_FS);
        sys!(SYS_chdir, c"/etc");
        describe(sys!(SYS_open, c"hostname", O_RDONLY));
    });
    separate.join().expect("thread");
    own_table(up);
    sys!(SYS_fchdir, up);
    describe(sys!(SYS_open, c"f", O_RDONLY));
}

/// A thread may have descriptors of its own: what it opens is nobody else's.
fn own_table(up: i64) {
    let separate = std::thread::spawn(move || {
        sys!(SYS_unshare, CLONE_FILES);
        sys!(SYS_close, up);
        sys!(SYS_openat, up, c"f", O_RDONLY);
        let other = sys!(SYS_open, c"/etc", O_RDONLY | O_DIRECTORY);
        describe(sys!(SYS_openat, other, c"hostname", O_RDONLY));
        sys!(SYS_open, c"/dev/null", O_RDONLY)
    });
    let theirs = separate.join().expect("thread");
    sys!(SYS_fcntl, theirs, F_GETFD);
    describe(sys!(SYS_openat, up, c"f", O_RDONLY));
}
