//! Sixteen threads rewrite what a system call points to while another thread makes the call.
//!
//! `attack_race open ALLOWED SECRET TRIES SECONDS` and so on: see `main`. What was reached is printed
//! or left behind; the exit code says nothing.
#![allow(unsafe_code, missing_docs, clippy::expect_used, clippy::panic)]

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, Ordering};
use std::time::{Duration, Instant};

const REWRITERS: usize = 16;
static STOP: AtomicBool = AtomicBool::new(false);

struct Budget {
    tries: u64,
    done: u64,
    until: Instant,
}

impl Budget {
    fn from(arguments: &[String]) -> Self {
        let number = |at: usize| arguments[at].parse::<u64>().expect("a number");
        let until = Instant::now() + Duration::from_secs(number(1));
        Self { tries: number(0), done: 0, until }
    }

    fn next(&mut self) -> bool {
        self.done += 1;
        self.done <= self.tries && Instant::now() < self.until
    }
}

/// Runs `flip` on sixteen threads that only get what CPU time the caller leaves.
fn rewrite(flip: impl Fn(bool) + Send + Clone + 'static) {
    for index in 0..REWRITERS {
        let flip = flip.clone();
        std::thread::spawn(move || {
            // SAFETY: plain system call about the calling thread.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
            let mut side = index % 2 == 0;
            while !STOP.load(Ordering::Relaxed) {
                for _ in 0..200 {
                    flip(side);
                    side = !side;
                }
                std::thread::sleep(Duration::from_micros(20));
            }
        });
    }
}

/// The one byte in which two paths of equal length differ, as a place to flip.
fn flipping(allowed: &str, forbidden: &str) -> (&'static [AtomicU8], usize, u8, u8) {
    assert_eq!(allowed.len(), forbidden.len());
    let at = (0..allowed.len()).find(|i| allowed.as_bytes()[*i] != forbidden.as_bytes()[*i]);
    let at = at.expect("paths differ");
    let bytes: Vec<AtomicU8> = allowed.bytes().chain([0]).map(AtomicU8::new).collect();
    (Vec::leak(bytes), at, allowed.as_bytes()[at], forbidden.as_bytes()[at])
}

fn show(fd: i32) {
    let mut buffer = [0_u8; 64];
    // SAFETY: the buffer outlives the call and its length is right.
    let length = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    if length > 0 && buffer.starts_with(b"SECRET") {
        println!("{}", String::from_utf8_lossy(&buffer[..length.unsigned_abs()]));
        STOP.store(true, Ordering::Relaxed);
    }
    // SAFETY: the caller opened it and nobody else owns it.
    unsafe { libc::close(fd) };
}

fn race_open(arguments: &[String]) -> u64 {
    let (path, at, a, b) = flipping(&arguments[0], &arguments[1]);
    rewrite(move |side| path[at].store(if side { a } else { b }, Ordering::Relaxed));
    let mut budget = Budget::from(&arguments[2..]);
    while budget.next() && !STOP.load(Ordering::Relaxed) {
        // SAFETY: the path ends in NUL; that its bytes change is what is tried here.
        let fd = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if fd >= 0 {
            show(fd);
        }
    }
    budget.done - 1
}

/// Exchanges two names for each other until the end.
fn exchange(arguments: &[String]) -> CString {
    let names = [0, 1].map(|at: usize| CString::new(&arguments[at][..]).expect("no NUL"));
    let entry = names[0].clone();
    std::thread::spawn(move || {
        while !STOP.load(Ordering::Relaxed) {
            // SAFETY: both paths end in NUL.
            unsafe {
                let at = libc::AT_FDCWD;
                libc::renameat2(at, names[0].as_ptr(), at, names[1].as_ptr(), 2);
            }
        }
    });
    entry
}

/// A name that is now a file, now a link to the secret.
fn race_swap(arguments: &[String]) -> u64 {
    let path = exchange(arguments);
    let mut budget = Budget::from(&arguments[2..]);
    while budget.next() && !STOP.load(Ordering::Relaxed) {
        // SAFETY: the path ends in NUL.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if fd >= 0 {
            show(fd);
        }
    }
    budget.done - 1
}

/// A name that is now a socket, now a link to the forbidden one, whose listener counts.
fn race_unix(arguments: &[String]) -> u64 {
    let path = exchange(arguments);
    // SAFETY: all zeroes is a valid address, filled below.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    let bytes = path.as_bytes_with_nul();
    assert!(bytes.len() <= address.sun_path.len());
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = from.cast_signed();
    }
    let mut budget = Budget::from(&arguments[2..]);
    while budget.next() {
        // SAFETY: the socket is ours; the address outlives the call.
        unsafe {
            let fd = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0);
            let size = size_of::<libc::sockaddr_un>() as u32;
            libc::connect(fd, (&raw const address).cast(), size);
            libc::close(fd);
        }
    }
    budget.done - 1
}

/// A script that is now for one interpreter, now for another.
fn race_script(arguments: &[String]) -> u64 {
    let path = exchange(arguments);
    let argv = [path.as_ptr(), c"safe".as_ptr(), std::ptr::null()];
    run_again_and_again(&Exec { path: path.as_ptr(), argv }, Budget::from(&arguments[2..]))
}

/// A directory descriptor that is now the one, now the other directory.
fn race_dirfd(arguments: &[String]) -> u64 {
    let open = |path: &str| {
        let path = CString::new(path).expect("no NUL");
        // SAFETY: the path ends in NUL.
        unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_DIRECTORY) }
    };
    let (allowed, secret) = (open(&arguments[0]), open(&arguments[1]));
    // SAFETY: duplicates a descriptor of our own onto a free number.
    unsafe { libc::dup2(allowed, 100) };
    rewrite(move |side| {
        // SAFETY: 100 is only used as the number that is raced for.
        unsafe { libc::dup2(if side { allowed } else { secret }, 100) };
    });
    let mut budget = Budget::from(&arguments[2..]);
    while budget.next() && !STOP.load(Ordering::Relaxed) {
        // SAFETY: the name ends in NUL.
        let fd = unsafe { libc::openat(100, c"file".as_ptr(), libc::O_RDONLY) };
        if fd >= 0 {
            show(fd);
        }
    }
    budget.done - 1
}

fn loopback(port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    }
}

/// `connect ALLOWED_PORT FORBIDDEN_PORT TRIES SECONDS`: the listener of the second counts.
fn race_connect(arguments: &[String]) -> u64 {
    let ports: Vec<u16> = arguments[..2].iter().map(|p| p.parse().expect("a port")).collect();
    let address = Box::leak(Box::new(loopback(ports[0])));
    let (a, b) = (ports[0].to_be(), ports[1].to_be());
    // SAFETY: the leaked address lives for ever, and its port is aligned to two bytes.
    let port: &'static AtomicU16 = unsafe { AtomicU16::from_ptr(&raw mut address.sin_port) };
    rewrite(move |side| port.store(if side { a } else { b }, Ordering::Relaxed));
    let mut budget = Budget::from(&arguments[2..]);
    while budget.next() {
        // SAFETY: the socket is ours; address and option are of the stated size and outlive the calls.
        unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            let (option, size) = (&raw const linger, size_of::<libc::linger>() as u32);
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, option.cast(), size);
            libc::connect(fd, (&raw const *address).cast(), 16);
            libc::close(fd);
        }
    }
    budget.done - 1
}

/// `dup TCP_AND_UDP_PORT TRIES SECONDS`: only TCP is allowed; a datagram that arrives is a hole.
fn race_dup(arguments: &[String]) -> u64 {
    let address = loopback(arguments[0].parse().expect("a port"));
    // SAFETY: new sockets of our own.
    let udp = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0) };
    // SAFETY: as above; never connected, so that its connect is refused by the peer's reset at most.
    let tcp = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0) };
    // SAFETY: a free number.
    unsafe { libc::dup2(tcp, 100) };
    rewrite(move |side| {
        // SAFETY: 100 is only used as the number that is raced for.
        unsafe { libc::dup2(if side { udp } else { tcp }, 100) };
    });
    let mut budget = Budget::from(&arguments[1..]);
    while budget.next() {
        // SAFETY: the address outlives the call; the payload is static.
        unsafe {
            libc::connect(100, (&raw const address).cast(), 16);
            // Goes anywhere only if the UDP socket was connected.
            libc::sendto(udp, c"x".as_ptr().cast(), 1, libc::MSG_DONTWAIT, std::ptr::null(), 0);
        }
    }
    budget.done - 1
}

struct Exec {
    path: *const libc::c_char,
    argv: [*const libc::c_char; 3],
}

extern "C" fn child(plan: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the parent waits (CLONE_VFORK) and its plan lives on; strings end in NUL.
    unsafe {
        let plan = &*plan.cast::<Exec>();
        let environment = [std::ptr::null::<libc::c_char>()];
        libc::execve(plan.path, plan.argv.as_ptr(), environment.as_ptr());
        libc::_exit(1)
    }
}

/// `exec path|argv ALLOWED FORBIDDEN TRIES SECONDS`: what must not run makes a directory `mark`.
fn race_exec(arguments: &[String]) -> u64 {
    let (path, at, a, b) = flipping(&arguments[1], &arguments[2]);
    // Four letters change in one store.
    let word: &'static [AtomicU32; 2] =
        Box::leak(Box::new([AtomicU32::new(u32::from_ne_bytes(*b"safe")), AtomicU32::new(0)]));
    let (safe, evil) = (u32::from_ne_bytes(*b"safe"), u32::from_ne_bytes(*b"evil"));
    let by_path = arguments[0] == "path";
    rewrite(move |side| {
        if by_path {
            path[at].store(if side { a } else { b }, Ordering::Relaxed);
        } else {
            word[0].store(if side { safe } else { evil }, Ordering::Relaxed);
        }
    });
    let plan = Exec {
        path: path.as_ptr().cast(),
        argv: [c"program".as_ptr(), word.as_ptr().cast(), std::ptr::null()],
    };
    run_again_and_again(&plan, Budget::from(&arguments[3..]))
}

/// Executes until the budget is used up or `mark` is there.
fn run_again_and_again(plan: &Exec, mut budget: Budget) -> u64 {
    let stack = vec![0_u8; 65_536].leak();
    while budget.next() {
        // SAFETY: the child runs on a stack of its own that outlives it, while we stand still.
        unsafe {
            let top = stack.as_mut_ptr().add(stack.len() - 64);
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let pid = libc::clone(child, top.cast(), flags, (&raw const *plan).cast_mut().cast());
            libc::waitpid(pid, std::ptr::null_mut(), 0);
            if budget.done.is_multiple_of(64) && libc::access(c"mark".as_ptr(), libc::F_OK) == 0 {
                break;
            }
        }
    }
    budget.done - 1
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let began = Instant::now();
    let tries = match arguments[0].as_str() {
        "open" => race_open(&arguments[1..]),
        "swap" => race_swap(&arguments[1..]),
        "script" => race_script(&arguments[1..]),
        "unix" => race_unix(&arguments[1..]),
        "dirfd" => race_dirfd(&arguments[1..]),
        "connect" => race_connect(&arguments[1..]),
        "dup" => race_dup(&arguments[1..]),
        "exec" => race_exec(&arguments[1..]),
        other => panic!("unknown race {other}"),
    };
    STOP.store(true, Ordering::Relaxed);
    let rate = tries as f64 / began.elapsed().as_secs_f64();
    println!("tries {tries} rate {rate:.0}/s");
}
