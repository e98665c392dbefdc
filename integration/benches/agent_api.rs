//! What a permission check costs beside an axum handler that returns a constant, in one run, and what
//! a registered session takes. Figures are ratios; nothing here passes or fails. Run it with: make bench
#![allow(unsafe_code, missing_docs, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use integration::{Served, Wire};

const BATCHES: usize = 40;
const BATCH: usize = 250;
const SESSIONS: usize = 2_000;

/// Limits that a bench does not meet.
const SETTINGS: &str = "host_sessions = true\n[limits]\nchecks = 100000000\nrequests = 100000000\n";
const QUESTION: &str =
    r#"{"action_type":"file_access","target":"/workspace/src/main.rs","metadata":{"mode":"read"}}"#;

fn main() {
    let served = Served::with_settings(SETTINGS, |rules| {
        let text = integration::supervised::ALLOW_ALL;
        std::fs::write(rules.join("rules.yaml"), text).expect("rules");
    });
    compare(&served);
    measure_sessions(&served);
}

fn compare(served: &Served) {
    let socket = served.path().join("bare.sock");
    let mut bare = Command::new(env!("CARGO_BIN_EXE_bench_bare_api"))
        .arg(&socket)
        .spawn()
        .expect("the bare handler starts");
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let (mut theirs, mut ours) = (Wire::connect(&socket), Wire::connect(&served.agent_socket()));
    let token = ours.check_in();
    let (mut constant, mut checked) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        constant.extend((0..BATCH).map(|_| time(&mut theirs, "")));
        checked.extend((0..BATCH).map(|_| time(&mut ours, &token)));
    }
    let _ = bare.kill();
    let _ = bare.wait();
    println!("{:<6} {:>12} {:>12} {:>8}", "", "constant µs", "check µs", "ratio");
    for (name, part) in [("p50", 0.50), ("p99", 0.99)] {
        let (constant, checked) = (at(&mut constant, part), at(&mut checked, part));
        println!("{name:<6} {constant:>12.1} {checked:>12.1} {:>8.2}", checked / constant);
    }
}

fn time(wire: &mut Wire, token: &str) -> f64 {
    let began = Instant::now();
    let answer = wire.ask("POST", "/v1/permissions/check", token, QUESTION);
    let took = began.elapsed().as_secs_f64() * 1e6;
    assert_eq!(answer.status, 200, "{answer:?}");
    took
}

fn at(times: &mut [f64], part: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let place = (times.len() as f64 * part) as usize;
    times.get(place).copied().unwrap_or(f64::NAN)
}

/// Each session is a process that has checked in and stays.
fn measure_sessions(served: &Served) {
    let before = resident(served.pid());
    let mut held: Vec<Child> = Vec::new();
    // Each forks a hundred, so that none is short of descriptors.
    for _ in 0..SESSIONS / 100 {
        held.push(register_hundred(&served.agent_socket()));
    }
    std::thread::sleep(Duration::from_secs(2));
    let after = resident(served.pid());
    for child in &mut held {
        let _ = child.kill();
        let _ = child.wait();
    }
    let each = (after - before) / SESSIONS as f64;
    println!("{SESSIONS} sessions registered: {each:.1} KiB each ({before:.0} -> {after:.0} KiB)");
}

const REGISTER: &str = r"
import os, signal, socket, sys
request = b'POST /v1/checkin HTTP/1.1\r\nHost: o\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
children = []
for _ in range(100):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(request)
        ok = b'tok-' in s.recv(4096)
        os.write(write, b'y' if ok else b'n')
        while os.getppid() != 1: signal.sigtimedwait([signal.SIGUSR1], 1)
        os._exit(0)
    assert os.read(read, 1) == b'y'
    os.close(read); os.close(write)
    children.append(pid)
print('ready', flush=True)
signal.pause()
";

fn register_hundred(socket: &Path) -> Child {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new("python3")
        .args(["-c", REGISTER])
        .arg(socket)
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    child
}

fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
