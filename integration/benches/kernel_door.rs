//! What supervision costs: the same calls natively, in a bare notification loop, and supervised, in
//! one run. Figures are ratios; nothing here passes or fails. Run it with: make bench
#![allow(unsafe_code, missing_docs, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;

use integration::Supervised;

const ROUNDS: usize = 5;
const RECV: libc::c_ulong = 0xc050_2100;
const ADDFD: libc::c_ulong = 0x4018_2103;

type Times = BTreeMap<String, Vec<f64>>;

fn note(times: &mut Times, output: &str) {
    for line in output.lines() {
        if let Some((name, value)) = line.split_once(' ') {
            times.entry(name.to_owned()).or_default().push(value.parse().unwrap_or(f64::NAN));
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let probe = std::path::PathBuf::from(env!("CARGO_BIN_EXE_bench_calls"));
    let (mut native, mut supervised, mut bare) = (Times::new(), Times::new(), Times::new());
    // SAFETY: no other thread exists yet. Cargo's own search path would cost every exec a dozen
    // look-ups that no user has.
    unsafe { std::env::remove_var("LD_LIBRARY_PATH") };
    for _ in 0..ROUNDS {
        let output = Command::new(&probe).output().expect("the probe runs").stdout;
        note(&mut native, &String::from_utf8_lossy(&output));
        let run = Supervised::by_default_rules();
        let copy = run.workspace().join("bench_calls");
        std::fs::copy(&probe, &copy).expect("the probe is copied");
        note(&mut supervised, &run.run(&[&copy]).out());
        note(&mut bare, &bare_loop(&probe));
    }
    println!(
        "{:<10} {:>10} {:>10} {:>12} {:>10} {:>10}",
        "call", "native µs", "bare µs", "supervised", "× native", "× bare"
    );
    for (name, values) in &native {
        let (n, s) = (median(values), median(supervised.get(name).map_or(&[], |v| v)));
        let b = bare.get(name).map(|values| median(values));
        let show = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.2}"));
        println!(
            "{name:<10} {n:>10.2} {:>10} {s:>12.2} {:>10.2} {:>10}",
            show(b),
            s / n,
            show(b.map(|b| s / b))
        );
    }
}

/// The least that on-behalf opens can cost: RECV, read the path, open, ADDFD|SEND, nothing else.
fn bare_loop(probe: &std::path::Path) -> String {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let mut pipe = [0; 2];
    // SAFETY: pipe writes two descriptors into the array.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let path = CString::new(probe.as_os_str().as_encoded_bytes()).expect("no NUL");
    let argv = [path.as_ptr(), c"open".as_ptr(), std::ptr::null()];
    // SAFETY: the child uses only raw system calls until it execs.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: our own descriptors, a filter that lives until the call returns, and an exec.
        unsafe {
            libc::dup2(pipe[1], 1);
            install_and_send(theirs.as_raw_fd());
            libc::execv(path.as_ptr(), argv.as_ptr());
            libc::_exit(127);
        }
    }
    drop(theirs);
    // SAFETY: the write end is the child's alone from here on.
    unsafe { libc::close(pipe[1]) };
    let listener = receive(&ours);
    let server = std::thread::spawn(move || serve(&listener));
    let mut output = String::new();
    // SAFETY: the read end is ours and owned by nobody else.
    let mut reader = unsafe { std::fs::File::from_raw_fd(pipe[0]) };
    reader.read_to_string(&mut output).expect("the probe's output");
    // SAFETY: waits for our own child.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    server.join().expect("the loop ends");
    output
}

/// Notifies openat and allows the rest; sends the listener over `socket`.
unsafe fn install_and_send(socket: i32) {
    let f = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        f(0x20, 0, 0, 0),
        f(0x15, 0, 1, libc::SYS_openat as u32),
        f(0x06, 0, 0, 0x7fc0_0000),
        f(0x06, 0, 0, 0x7fff_0000),
    ];
    let program = libc::sock_fprog { len: 4, filter: program.as_mut_ptr() };
    // SAFETY: as the caller promises; the message below points at live locals.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let listener = libc::syscall(libc::SYS_seccomp, 1, 8 | 32, &raw const program) as i32;
        let mut control = [0_u64; 3];
        let mut byte = 0_u8;
        let mut data = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut data;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = 24;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = 20;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(listener);
        libc::sendmsg(socket, &raw const message, 0);
    }
}

fn receive(socket: &UnixStream) -> OwnedFd {
    let mut control = [0_u64; 4];
    let mut byte = 0_u8;
    let mut data = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: all zeroes is an empty header; every pointer set names a live local.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut data;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = 32;
        assert_eq!(libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0), 1);
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<i32>().read_unaligned())
    }
}

fn serve(listener: &OwnedFd) {
    loop {
        let mut request = [0_u64; 10];
        // SAFETY: the kernel's structure is 80 bytes, and it is zeroed.
        if unsafe { libc::ioctl(listener.as_raw_fd(), RECV, request.as_mut_ptr()) } != 0 {
            return;
        }
        let (id, tid, pointer) = (request[0], request[1] as u32 as i32, request[5]);
        let mut path = [0_u8; 256];
        let local = libc::iovec { iov_base: path.as_mut_ptr().cast(), iov_len: 255 };
        let remote = libc::iovec { iov_base: pointer as *mut libc::c_void, iov_len: 255 };
        // SAFETY: local memory is ours; the remote address is only read by the kernel.
        unsafe {
            libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0);
            let fd = libc::openat(libc::AT_FDCWD, path.as_ptr().cast(), request[6] as i32);
            let errno = *libc::__errno_location();
            if fd < 0 {
                let answer = [id, 0, u64::from((-errno) as u32)];
                libc::ioctl(listener.as_raw_fd(), 0xc018_2101, answer.as_ptr());
            } else {
                let add = [id, 2 | (fd as u64) << 32, (libc::O_CLOEXEC as u64) << 32];
                libc::ioctl(listener.as_raw_fd(), ADDFD, add.as_ptr());
                libc::close(fd);
            }
        }
    }
}
