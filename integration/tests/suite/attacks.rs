//! Races for what a judged call points to. Each has a twin with the mitigation off that must win, so
//! that the test can fail.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use integration::{Finished, Supervised, probe};

mod doors;
mod evidence;
mod exchanges;
mod proc;
mod programs;
mod secrets;

const TRIES: u64 = 20_000;
/// Enough for the floor on a slow machine; a twin wins long before.
const SECONDS: &str = "150";

const RULES: &str = r#"
version: "1"
rules:
  - id: no-secret
    condition: "action_type == 'file_access' && target.contains('/secret/')"
    action: block
    priority: 10
    description: the secret
  - id: no-socket
    condition: "action_type == 'network_call' && target.contains('/secret/')"
    action: block
    priority: 10
    description: the forbidden socket
  - id: no-program
    condition: "action_type == 'shell_exec' && target.endsWith('/bin/b')"
    action: block
    priority: 10
    description: the forbidden program
  - id: no-argument
    condition: "action_type == 'shell_exec' && 'evil' in exec.argv"
    action: block
    priority: 10
    description: the forbidden argument
  - id: no-port
    condition: "action_type == 'network_call' && network.port == PORT"
    action: block
    priority: 10
    description: the forbidden port
  - id: rest
    condition: "true"
    action: allow
    description: the rest
"#;

fn with_port(port: u16) -> Supervised {
    Supervised::by_rules(&RULES.replace("PORT", &port.to_string()))
}

fn attack(run: &Supervised, words: &[&str]) -> Finished {
    let program = probe("attack_race").display().to_string();
    let mut line = vec![program.as_str()];
    line.extend(words);
    let finished = run.run(&line);
    println!("{}: {}", words[0], finished.out().trim());
    finished
}

/// The attacker's own count, believed only as far as the log confirms it.
fn tries(finished: &Finished, syscall: &str) -> u64 {
    let text = finished.out();
    let count = text.split("tries ").nth(1).and_then(|rest| rest.split(' ').next());
    let told: u64 = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    let recorded = finished.log.iter().filter(|line| line["syscall"] == syscall).count() as u64;
    assert!(recorded >= told, "{recorded} records of {told} tries");
    told
}

/// `workspace/allowed/file` and `workspace/secret/file`, differing in one word of equal length.
fn two_files(run: &Supervised) -> (String, String) {
    let file = |directory: &str, text: &str| {
        let directory = run.workspace().join(directory);
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("file"), text).unwrap();
        directory.join("file").display().to_string()
    };
    let (allowed, secret) = (file("xecret", "fine\n"), file("secret", "SECRET content\n"));
    (allowed, secret)
}

fn race_for_an_open(run: &Supervised) -> Finished {
    let (allowed, secret) = two_files(run);
    attack(run, &["open", &allowed, &secret, &TRIES.to_string(), SECONDS])
}

#[test]
fn rewriting_the_path_of_an_open_never_reaches_the_secret() {
    let finished = race_for_an_open(&with_port(1));
    assert!(!finished.out().contains("SECRET"), "{}", finished.out());
    assert!(tries(&finished, "openat") >= TRIES);
}

#[test]
fn rewriting_the_path_of_an_open_wins_with_the_mitigation_off() {
    let finished = race_for_an_open(&with_port(1).with_mitigation_off("open"));
    assert!(finished.out().contains("SECRET content"), "{}{}", finished.out(), finished.err());
}

fn race_for_a_directory(run: &Supervised) -> Finished {
    two_files(run);
    let directories = ["xecret", "secret"].map(|name| run.workspace().join(name));
    let names = directories.map(|path| path.display().to_string());
    attack(run, &["dirfd", &names[0], &names[1], "6000", SECONDS])
}

#[test]
fn dup2_over_the_directory_of_an_open_never_reaches_the_secret() {
    let finished = race_for_a_directory(&with_port(1));
    assert!(!finished.out().contains("SECRET"), "{}", finished.out());
    assert!(tries(&finished, "openat") >= 6000);
}

#[test]
fn dup2_over_the_directory_of_an_open_wins_with_the_mitigation_off() {
    let finished = race_for_a_directory(&with_port(1).with_mitigation_off("open"));
    assert!(finished.out().contains("SECRET content"), "{}{}", finished.out(), finished.err());
}

/// A listener that counts whom it accepts; `None` tells it to end.
struct Counter {
    port: u16,
    accepted: Arc<AtomicU64>,
}

impl Counter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepted = Arc::new(AtomicU64::new(0));
        let count = accepted.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = stream.read(&mut [0; 8]);
            }
        });
        Self { port, accepted }
    }
}

fn race_for_a_connection(mitigation_off: bool) -> (Finished, u64, u64) {
    let (allowed, forbidden) = (Counter::start(), Counter::start());
    let mut run = with_port(forbidden.port);
    if mitigation_off {
        run = run.with_mitigation_off("connect");
    }
    let ports = [allowed.port, forbidden.port].map(|port| port.to_string());
    let finished = attack(&run, &["connect", &ports[0], &ports[1], &TRIES.to_string(), SECONDS]);
    let count = |counter: &Counter| counter.accepted.load(Ordering::Relaxed);
    (finished, count(&allowed), count(&forbidden))
}

#[test]
fn rewriting_the_address_of_a_connect_never_reaches_the_forbidden_port() {
    let (finished, allowed, forbidden) = race_for_a_connection(false);
    assert_eq!(forbidden, 0);
    assert!(allowed > 1000, "only {allowed} connections were made at all");
    assert!(tries(&finished, "connect") >= TRIES);
}

#[test]
fn rewriting_the_address_of_a_connect_wins_with_the_mitigation_off() {
    let (finished, _, forbidden) = race_for_a_connection(true);
    assert!(forbidden > 0, "{}{}", finished.out(), finished.err());
}

fn race_for_a_socket(mitigation_off: bool) -> (Finished, usize) {
    let tcp = Counter::start();
    let udp = UdpSocket::bind(("127.0.0.1", tcp.port)).unwrap();
    udp.set_nonblocking(true).unwrap();
    let rules = RULES.replace("network.port == PORT", "network.protocol == 'udp'");
    let mut run = Supervised::by_rules(&rules);
    if mitigation_off {
        run = run.with_mitigation_off("connect");
    }
    let finished = attack(&run, &["dup", &tcp.port.to_string(), "6000", SECONDS]);
    let arrived = std::iter::repeat_with(|| udp.recv(&mut [0; 8])).take_while(Result::is_ok);
    (finished, arrived.take(100).count())
}

#[test]
fn dup2_over_the_socket_of_a_connect_never_connects_the_other_socket() {
    let (finished, arrived) = race_for_a_socket(false);
    assert_eq!(arrived, 0);
    assert!(tries(&finished, "connect") >= 6000);
}

#[test]
fn dup2_over_the_socket_of_a_connect_wins_with_the_mitigation_off() {
    let (finished, arrived) = race_for_a_socket(true);
    assert!(arrived > 0, "{}{}", finished.out(), finished.err());
}

/// The smallest program: makes a directory `mark` if it must not run, or was called with `evil`.
fn write_program(path: &Path, forbidden: bool) {
    let jump = if forbidden { 0xeb } else { 0x74 };
    #[rustfmt::skip]
    let code = [
        0x48, 0x8b, 0x7c, 0x24, 0x10, // mov rdi, [rsp+16]: argv[1]
        0x80, 0x3f, 0x65,             // cmp byte [rdi], 'e'
        jump, 0x09,                   // je or jmp to the mark
        0xb8, 0x3c, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05, // exit(0)
        0x48, 0x8d, 0x3d, 0x15, 0, 0, 0, // lea rdi, [rip+21]: "mark"
        0xbe, 0xff, 0x01, 0, 0,       // mov esi, 0777
        0xb8, 0x53, 0, 0, 0, 0x0f, 0x05, // mkdir
        0xb8, 0x3c, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05, // exit(0)
        b'm', b'a', b'r', b'k', 0,
    ];
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    elf.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for word in [0x40_0078_u64, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    let size = 120 + code.len() as u64;
    for word in [0, 0x40_0000, 0x40_0000, size, size, 0x1000] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(code);
    std::fs::write(path, elf).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Races for the path or the argv of an exec; returns whether the mark was left.
fn race_for_an_exec(run: &Supervised, what: &str) -> (Finished, bool) {
    let directory = run.workspace().join("bin");
    std::fs::create_dir(&directory).unwrap();
    let programs = ["a", "b"].map(|name| directory.join(name));
    write_program(&programs[0], false);
    write_program(&programs[1], true);
    let names = programs.map(|path| path.display().to_string());
    let finished = attack(run, &["exec", what, &names[0], &names[1], &TRIES.to_string(), SECONDS]);
    let marked = run.workspace().join("mark").exists();
    (finished, marked)
}

#[test]
fn rewriting_the_path_of_an_exec_never_runs_the_forbidden_program() {
    let (finished, marked) = race_for_an_exec(&with_port(1), "path");
    assert!(!marked);
    assert!(tries(&finished, "execve") >= TRIES);
}

#[test]
fn rewriting_the_path_of_an_exec_wins_with_the_mitigation_off() {
    let (finished, marked) = race_for_an_exec(&with_port(1).with_mitigation_off("exec"), "path");
    assert!(marked, "{}{}", finished.out(), finished.err());
}

#[test]
fn rewriting_the_arguments_of_an_exec_never_passes_the_forbidden_one() {
    let (finished, marked) = race_for_an_exec(&with_port(1), "argv");
    assert!(!marked);
    assert!(tries(&finished, "execve") >= TRIES);
}

#[test]
fn rewriting_the_arguments_of_an_exec_wins_with_the_mitigation_off() {
    let (finished, marked) = race_for_an_exec(&with_port(1).with_mitigation_off("exec"), "argv");
    assert!(marked, "{}{}", finished.out(), finished.err());
}
