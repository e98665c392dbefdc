//! Execs in every way; the section to run is the argument. What is run prints its own arguments.
#![allow(unsafe_code, clippy::expect_used)]

use std::ffi::{CStr, CString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use integration::raw::{Word, call};
use integration::sys;
use libc::*;

fn main() {
    let arguments: Vec<Vec<u8>> =
        std::env::args_os().map(|argument| argument.as_bytes().to_vec()).collect();
    match arguments.get(1).map(Vec::as_slice) {
        Some(b"ways") => ways(),
        Some(b"failures") => failures(),
        Some(b"scripts") => scripts(),
        Some(b"memory") => memory(),
        Some(b"large") => large(),
        Some(b"thread") => from_a_thread(),
        Some(b"busy") => while_others_run(),
        Some(b"spawn") => spawns(),
        Some(b"bytes") => bytes(),
        Some(b"again") => again(),
        _ => {
            let shown: Vec<String> =
                arguments.iter().skip(1).map(|one| one.escape_ascii().to_string()).collect();
            println!("    ran with {shown:?}, {} variables", std::env::vars_os().count());
        }
    }
}

fn own_program() -> CString {
    let path = std::fs::read_link("/proc/self/exe").expect("exe");
    CString::new(path.as_os_str().as_bytes()).expect("path")
}

/// A list of pointers to these words, ended by a null.
fn pointers(words: &[&CStr]) -> Vec<usize> {
    words.iter().map(Word::word).chain(std::iter::once(0)).collect()
}

/// Does something in a child and prints how that ended.
fn child(label: &str, work: impl FnOnce() -> i64) {
    let _ = std::io::stdout().flush();
    // SAFETY: this program has one thread where it forks.
    let child = unsafe { fork() };
    if child == 0 {
        let _ = work();
        let _ = std::io::stdout().flush();
        let _ = call(SYS_exit_group, &[42]);
    }
    let mut status = 0;
    let _ = call(SYS_wait4, &[child.word(), (&raw mut status).word(), 0, 0]);
    println!("{label}: status {status:#x}");
}

fn ways() {
    let own = own_program();
    let own = own.as_c_str();
    let argv = pointers(&[c"name", c"one", c"", c"three words here"]);
    let environment = pointers(&[c"A=1", c"B=2"]);
    let (a, e) = (argv.as_ptr(), environment.as_ptr());
    child("execve", || sys!(SYS_execve, own, a, e));
    child("no environment", || sys!(SYS_execve, own, a, 0));
    child("null argv", || sys!(SYS_execve, own, 0, e));
    child("empty argv", || sys!(SYS_execve, own, pointers(&[]).as_ptr(), e));
    child("execveat", || sys!(SYS_execveat, AT_FDCWD, own, a, e, 0));
    child("ignored dirfd", || sys!(SYS_execveat, 99, own, a, e, 0));
    std::os::unix::fs::symlink("/proc/self/exe", "to-itself").expect("link");
    std::fs::copy("/proc/self/exe", "copy").expect("copy");
    std::os::unix::fs::symlink("copy", "link").expect("link");
    child("relative", || sys!(SYS_execve, c"copy", a, e));
    child("link", || sys!(SYS_execve, c"./link", a, e));
    child("itself", || sys!(SYS_execve, c"/proc/self/exe", a, e));
    child("link to itself", || sys!(SYS_execve, c"to-itself", a, e));
    child("nofollow of a link", || {
        sys!(SYS_execveat, AT_FDCWD, c"link", a, e, AT_SYMLINK_NOFOLLOW)
    });
    child("nofollow of a file", || {
        sys!(SYS_execveat, AT_FDCWD, c"copy", a, e, AT_SYMLINK_NOFOLLOW)
    });
    by_descriptor(a, e);
    child("check only", || sys!(SYS_execveat, AT_FDCWD, own, a, e, 0x10000));
}

fn by_descriptor(a: *const usize, e: *const usize) {
    let here = sys!(SYS_open, c".", O_PATH | O_CLOEXEC);
    child("dirfd", || sys!(SYS_execveat, here, c"copy", a, e, 0));
    let file = sys!(SYS_open, c"copy", O_RDONLY | O_CLOEXEC);
    child("descriptor", || sys!(SYS_execveat, file, c"", a, e, AT_EMPTY_PATH));
    let pathed = sys!(SYS_open, c"copy", O_PATH | O_CLOEXEC);
    child("path descriptor", || sys!(SYS_execveat, pathed, c"", a, e, AT_EMPTY_PATH));
    let name = CString::new(format!("/proc/self/fd/{file}")).expect("name");
    child("by /proc/self/fd", || sys!(SYS_execve, name.as_c_str(), a, e));
    let name = CString::new(format!("/dev/fd/{file}")).expect("name");
    child("by /dev/fd", || sys!(SYS_execve, name.as_c_str(), a, e));
    sys!(SYS_unlink, c"copy");
    child("deleted", || sys!(SYS_execveat, file, c"", a, e, AT_EMPTY_PATH));
}

fn write_program(name: &str, text: &[u8], mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(name, text).expect("program");
    std::fs::set_permissions(name, std::fs::Permissions::from_mode(mode)).expect("mode");
}

fn failures() {
    let argv = pointers(&[c"name", c"one"]);
    let a = argv.as_ptr();
    std::fs::create_dir("d").expect("d");
    write_program("plain", b"#!/bin/sh\n", 0o644);
    write_program("junk", b"\x7fELFjunk", 0o755);
    write_program("text", b"echo no shebang\n", 0o755);
    write_program("empty", b"", 0o755);
    write_program("lost", b"#!/no/such/interpreter -x\n", 0o755);
    write_program("bare", b"#!\n", 0o755);
    write_program("spaces", b"#!   \n", 0o755);
    write_program("to-directory", b"#!/tmp\n", 0o755);
    write_program("itself", b"#!./itself\n", 0o755);
    std::os::unix::fs::symlink("loop", "loop").expect("loop");
    for path in [
        c"absent",
        c"plain",
        c"junk",
        c"text",
        c"empty",
        c"lost",
        c"bare",
        c"spaces",
        c"to-directory",
        c"itself",
        c"loop",
        c"d",
        c"d/",
        c"plain/",
        c"plain/x",
        c"",
        c".",
        c"/dev/null",
        c"/proc/self/status",
    ] {
        println!("{path:?}");
        sys!(SYS_execve, path, a, 0);
        sys!(SYS_execveat, AT_FDCWD, path, a, 0, 0);
    }
    let own = own_program();
    let own = own.as_c_str();
    sys!(SYS_execve, own, 8, 0);
    sys!(SYS_execve, own, [8_usize, 0].as_ptr(), 0);
    sys!(SYS_execve, own, a, 8);
    sys!(SYS_execveat, AT_FDCWD, own, a, 0, 0x1);
    sys!(SYS_execveat, 99, c"x", a, 0, 0);
    sys!(SYS_execveat, 99, c"", a, 0, AT_EMPTY_PATH);
    sys!(SYS_execveat, AT_FDCWD, c"", a, 0, AT_EMPTY_PATH);
    sys!(SYS_execveat, 1, c"", a, 0, AT_EMPTY_PATH);
    let write = sys!(SYS_open, c"plain", O_RDWR);
    sys!(SYS_execveat, write, c"", a, 0, AT_EMPTY_PATH);
    child("and then success", || sys!(SYS_execve, own, a, 0));
}

fn scripts() {
    let own = own_program();
    let shebang = |rest: &str| [b"#!", own.as_bytes(), rest.as_bytes(), b"\n"].concat();
    write_program("plain", &shebang(""), 0o755);
    write_program("argument", &shebang(" two words  "), 0o755);
    write_program("nested", b"#!./argument  outer\n", 0o755);
    write_program("thrice", b"#!./nested\n", 0o755);
    write_program("fourth", b"#!./thrice x\n", 0o755);
    write_program("fifth", b"#!./fourth\n", 0o755);
    write_program("sixth", b"#!./fifth\n", 0o755);
    write_program("unended", &[b"#! ", own.as_bytes()].concat(), 0o755);
    write_program("returned", b"#!/bin/sh\r\necho\n", 0o755);
    write_program("tabs", &shebang("\t-t\t"), 0o755);
    write_program("env", b"#!/usr/bin/env sh\necho \"env ran: $0 $*\"\n", 0o755);
    write_program("env-split", b"#!/usr/bin/env -S sh -e -u\necho \"split: $0 $*\"\n", 0o755);
    write_program("unreadable", b"#!/bin/sh\necho unreadable\n", 0o111);
    write_program("long", &[b"#!/bin/".as_slice(), &[b'x'; 300], b"\n"].concat(), 0o755);
    write_program("long-argument", &shebang(&format!(" {}", "y".repeat(400))), 0o755);
    let argv = pointers(&[c"name", c"one", c"two"]);
    let environment = pointers(&[c"PATH=/usr/bin:/bin"]);
    let (a, e) = (argv.as_ptr(), environment.as_ptr());
    let names = [
        c"./plain",
        c"argument",
        c"nested",
        c"thrice",
        c"fourth",
        c"fifth",
        c"sixth",
        c"unended",
        c"returned",
        c"tabs",
        c"env",
        c"./env-split",
        c"unreadable",
        c"long",
        c"long-argument",
    ];
    for name in names {
        child(&format!("{name:?}"), || sys!(SYS_execve, name, a, e));
        child("with empty argv", || sys!(SYS_execve, name, pointers(&[]).as_ptr(), e));
    }
    let here = sys!(SYS_open, c".", O_PATH);
    child("by dirfd", || sys!(SYS_execveat, here, c"plain", a, e, 0));
    let kept = sys!(SYS_open, c"plain", O_RDONLY);
    child("by descriptor", || sys!(SYS_execveat, kept, c"", a, e, AT_EMPTY_PATH));
    let closed = sys!(SYS_open, c"plain", O_RDONLY | O_CLOEXEC);
    child("by descriptor that closes", || sys!(SYS_execveat, closed, c"", a, e, AT_EMPTY_PATH));
    let closing = sys!(SYS_open, c".", O_PATH | O_CLOEXEC);
    child("by dirfd that closes", || sys!(SYS_execveat, closing, c"plain", a, e, 0));
}

fn memory() {
    let argv = pointers(&[c"name", c"from", c"memory"]);
    let program = std::fs::read("/proc/self/exe").expect("own program");
    for flags in [0, MFD_CLOEXEC] {
        let fd = sys!(SYS_memfd_create, c"probe", flags);
        let mut rest = &program[..];
        while !rest.is_empty() {
            let written = call(SYS_write, &[fd.word(), rest.as_ptr().word(), rest.len()]);
            rest = &rest[usize::try_from(written).expect("written")..];
        }
        let name = CString::new(format!("/proc/self/fd/{fd}")).expect("name");
        child("still writable", || sys!(SYS_execveat, fd, c"", argv.as_ptr(), 0, AT_EMPTY_PATH));
        let readable = sys!(SYS_open, name.as_c_str(), O_RDONLY | O_CLOEXEC);
        let _ = call(SYS_close, &[fd.word()]);
        child("fexecve", || sys!(SYS_execveat, readable, c"", argv.as_ptr(), 0, AT_EMPTY_PATH));
        let name = CString::new(format!("/proc/self/fd/{readable}")).expect("name");
        child("by name", || sys!(SYS_execve, name.as_c_str(), argv.as_ptr(), 0));
    }
}

fn large() {
    let own = own_program();
    let words: Vec<CString> =
        (0..16).map(|n| CString::new(vec![b'a' + n; 65_000]).expect("word")).collect();
    let count = c"wc -c < /proc/self/cmdline";
    let mut argv = vec![c"/bin/sh", c"-c", count];
    argv.extend(words.iter().map(CString::as_c_str));
    let list = pointers(&argv);
    child("a megabyte", || {
        sys!(SYS_execve, c"/bin/sh", list.as_ptr(), pointers(&[c"PATH=/bin"]).as_ptr())
    });
    for length in [131_071, 131_072] {
        let word = CString::new(vec![b'w'; length]).expect("word");
        let list = pointers(&[c"/bin/true", word.as_c_str()]);
        child("one long word", || sys!(SYS_execve, c"/bin/true", list.as_ptr(), 0));
    }
    let word = CString::new(vec![b'w'; 100_000]).expect("word");
    let many = pointers(&vec![word.as_c_str(); 70]);
    child("seven megabytes", || sys!(SYS_execve, own.as_c_str(), many.as_ptr(), 0));
    let small = pointers(&vec![c"x"; 50_000]);
    child("fifty thousand words", || sys!(SYS_execve, c"/bin/true", small.as_ptr(), 0));
    let environment = pointers(&vec![word.as_c_str(); 70]);
    child("large environment", || {
        sys!(SYS_execve, own.as_c_str(), pointers(&[c"x"]).as_ptr(), environment.as_ptr())
    });
}

fn from_a_thread() {
    let own = own_program();
    let _ = std::io::stdout().flush();
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    let argv = pointers(&[c"name", c"from a thread"]);
    let thread = std::thread::spawn(move || {
        sys!(SYS_execve, c"/no/such/program", argv.as_ptr(), 0);
        let _ = std::io::stdout().flush();
        sys!(SYS_execve, own.as_c_str(), argv.as_ptr(), 0);
    });
    thread.join().expect("thread");
}

/// Other threads open files all the while.
fn while_others_run() {
    let own = own_program();
    for _ in 0..4 {
        std::thread::spawn(|| {
            loop {
                let _ = std::fs::read("/etc/hostname");
            }
        });
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    let argv = pointers(&[c"name", c"while others ran"]);
    sys!(SYS_execve, own.as_c_str(), argv.as_ptr(), 0);
}

fn spawns() {
    use std::process::Command;
    let own = std::env::current_exe().expect("own");
    // posix_spawn, which is clone with CLONE_VFORK and exec.
    for _ in 0..20 {
        print!(
            "{}",
            String::from_utf8_lossy(
                &Command::new(&own).arg("spawned").output().expect("output").stdout
            )
        );
    }
    println!("{:?}", Command::new("/no/such").status().map_err(|error| error.raw_os_error()));
    println!("{:?}", Command::new("/etc/passwd").status().map_err(|error| error.raw_os_error()));
    println!(
        "{:?}",
        Command::new("true").current_dir("/no").status().map_err(|e| e.raw_os_error())
    );
}

fn bytes() {
    let odd: Vec<u8> = (1..=255).collect();
    let word = CString::new(odd).expect("word");
    let argv = pointers(&[c"\xff\xfe", word.as_c_str(), c"\xc3\x28", c"", c"\xf0\x9f\x92\xa9"]);
    let environment = pointers(&[c"BYTES=\xff\x80"]);
    std::fs::copy("/proc/self/exe", std::ffi::OsStr::from_bytes(b"pro\xffgram")).expect("copy");
    child("odd bytes", || sys!(SYS_execve, c"./pro\xffgram", argv.as_ptr(), environment.as_ptr()));
}

fn again() {
    let own = own_program();
    write_program("plain", b"#!/bin/sh\n", 0o644);
    write_program("junk", b"\x7fELFjunk", 0o755);
    let cases = [(c"/no/such", ENOENT), (c"plain", EACCES), (c"junk", ENOEXEC), (c"/tmp", EACCES)];
    let argv = pointers(&[c"x", c"y"]);
    let mut others = Vec::new();
    for round in 0..100 {
        for (path, errno) in cases {
            let result = call(SYS_execve, &[path.word(), argv.as_ptr().word(), 0]);
            if result != -i64::from(errno) && others.len() < 5 {
                others.push((path, result));
            }
        }
        if round % 25 == 0 {
            child("success", || sys!(SYS_execve, own.as_c_str(), argv.as_ptr(), 0));
        }
    }
    println!("other results: {others:?}");
}
