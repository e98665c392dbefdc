//! FIFOs: opens that wait for the other end, and signals that interrupt them.
#![allow(unsafe_code, clippy::expect_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use integration::raw::{Word, alarm_in, call, describe, handle};
use integration::sys;
use libc::*;

static ALARMS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_alarm(_: c_int) {
    ALARMS.fetch_add(1, Ordering::SeqCst);
}

fn main() {
    sys!(SYS_mknod, c"fifo", S_IFIFO | 0o666, 0);
    match std::env::args().nth(1).as_deref() {
        Some("wait") => wait(),
        Some("interrupt") => interrupt(),
        Some("restart") => restart(),
        Some("others") => others_go_on(),
        Some("killed") => killed(),
        other => println!("no section {other:?}"),
    }
}

fn open_later(flags: c_int, after: Duration) -> std::thread::JoinHandle<i64> {
    std::thread::spawn(move || {
        // The signal is the main thread's.
        // SAFETY: an empty set, filled, then read.
        unsafe {
            let mut all: sigset_t = std::mem::zeroed();
            sigfillset(&raw mut all);
            pthread_sigmask(SIG_SETMASK, &raw const all, std::ptr::null_mut());
        }
        std::thread::sleep(after);
        call(SYS_open, &[c"fifo".word(), flags.word()])
    })
}

fn wait() {
    describe(sys!(SYS_open, c"fifo", O_WRONLY | O_NONBLOCK));
    let reader = sys!(SYS_open, c"fifo", O_RDONLY | O_NONBLOCK);
    let writer = sys!(SYS_open, c"fifo", O_WRONLY | O_NONBLOCK);
    sys!(SYS_write, writer, c"through", 7);
    let mut buffer = [0_u8; 16];
    sys!(SYS_read, reader, buffer.as_mut_ptr(), 16);
    println!("{}", buffer.escape_ascii());
    sys!(SYS_close, writer);
    sys!(SYS_read, reader, buffer.as_mut_ptr(), 16);
    sys!(SYS_close, reader);
    describe(sys!(SYS_open, c"fifo", O_RDWR));
    let began = Instant::now();
    let peer = open_later(O_WRONLY, Duration::from_millis(150));
    // Which of the two threads gets the lower number is up to the scheduler.
    let reader = call(SYS_open, &[c"fifo".word(), O_RDONLY.word()]);
    println!("waited: {}", began.elapsed() >= Duration::from_millis(140));
    println!("reader: {}, peer: {}", reader > 0, peer.join().expect("peer") > 0);
    let peer = open_later(O_RDONLY, Duration::from_millis(50));
    let flags = O_WRONLY | O_CLOEXEC | O_CREAT;
    let writer = call(SYS_open, &[c"fifo".word(), flags.word(), 0o600]);
    println!("writer: {}, peer: {}", writer > 0, peer.join().expect("peer") > 0);
    sys!(SYS_fcntl, writer, F_GETFD);
}

fn interrupt() {
    handle(SIGALRM, on_alarm, 0);
    for _ in 0..3 {
        let began = Instant::now();
        alarm_in(Duration::from_millis(100));
        sys!(SYS_open, c"fifo", O_RDONLY);
        let took = began.elapsed();
        let in_time = took >= Duration::from_millis(95) && took < Duration::from_millis(600);
        println!("in time: {in_time}, alarms {}", ALARMS.load(Ordering::SeqCst));
    }
    alarm_in(Duration::from_millis(50));
    sys!(SYS_open, c"fifo", O_WRONLY);
    describe(sys!(SYS_open, c"fifo", O_RDWR));
}

fn restart() {
    handle(SIGALRM, on_alarm, SA_RESTART);
    // SAFETY: the child only sleeps and makes system calls.
    let child = unsafe { fork() };
    if child == 0 {
        std::thread::sleep(Duration::from_millis(400));
        let opened = call(SYS_open, &[c"fifo".word(), O_WRONLY.word()]);
        let _ = call(SYS_exit_group, &[usize::from(opened < 0)]);
    }
    alarm_in(Duration::from_millis(80));
    let began = Instant::now();
    describe(sys!(SYS_open, c"fifo", O_RDONLY));
    println!("restarted: {}", began.elapsed() >= Duration::from_millis(300));
    println!("alarms {}", ALARMS.load(Ordering::SeqCst));
    let _ = call(SYS_kill, &[child.word(), SIGKILL.word()]);
    let _ = call(SYS_wait4, &[child.word(), 0, 0, 0]);
}

/// More callers wait than a supervisor has hands, and everybody else goes on.
fn others_go_on() {
    let waiting: Vec<_> = (0..40).map(|_| open_later(O_RDONLY, Duration::ZERO)).collect();
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    for _ in 0..50 {
        let _ = std::fs::write("f", "x");
    }
    println!("went on: {}", began.elapsed() < Duration::from_secs(2));
    let writer = call(SYS_open, &[c"fifo".word(), O_WRONLY.word()]);
    println!("writer {}", writer > 0);
    let opened = waiting.into_iter().map(|one| one.join().expect("one"));
    println!("opened {}", opened.filter(|fd| *fd > 0).count());
}

/// A child that waits for a peer is killed; the parent learns at once.
fn killed() {
    // SAFETY: the child only makes system calls.
    let child = unsafe { fork() };
    if child == 0 {
        let _ = call(SYS_open, &[c"fifo".word(), O_RDONLY.word()]);
        let _ = call(SYS_exit_group, &[9]);
    }
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    let _ = call(SYS_kill, &[child.word(), SIGKILL.word()]);
    let mut status = 0;
    let _ = call(SYS_wait4, &[child.word(), (&raw mut status).word(), 0, 0]);
    println!("status {status:#x}, at once: {}", began.elapsed() < Duration::from_millis(500));
    // Whoever waited for the child learns of its death within a moment.
    std::thread::sleep(Duration::from_millis(200));
    sys!(SYS_open, c"fifo", O_WRONLY | O_NONBLOCK);
}
