//! Side doors: calls that would go round the supervisor, refused in the kernel whatever the rules say.

use std::collections::HashMap;

use integration::{Supervised, probe};

/// What may be answered instead: the call does not exist here.
const ABSENT: &[&str] =
    &["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "unknown_number"];

#[test]
fn every_side_door_is_closed() {
    let run = Supervised::allowing_all();
    let finished = run.run(&[probe("attack_doors")]);
    finished.succeeded();
    let text = finished.out();
    let answers: HashMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once(' ')).collect();
    assert!(answers.len() > 55, "{text}");
    let other_errno = |name: &str| match name {
        "vsock" | "packet_socket" => Some(["97", "1"]),
        "sctp" => Some(["93", "93"]),
        _ => None,
    };
    let mut open = Vec::new();
    for (name, answer) in answers {
        let right = match other_errno(name) {
            Some(expected) => expected.contains(&answer),
            None if ABSENT.contains(&name) => answer == libc::ENOSYS.to_string(),
            None => answer == libc::EPERM.to_string(),
        };
        if !right {
            open.push(format!("{name}: {answer}"));
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
}

#[test]
fn foreign_tables_of_system_calls_kill() {
    for table in ["x32", "x32_open", "int80"] {
        let run = Supervised::allowing_all();
        let finished = run.run(&[probe("attack_doors").as_os_str(), table.as_ref()]);
        assert_eq!(finished.code, Some(128 + libc::SIGSYS), "{table}: {}", finished.out());
        assert!(!finished.out().contains("survived"));
    }
}

#[test]
fn the_probe_finds_doors_open_without_supervision() {
    // Only such as do no harm.
    let harmless = ["io_uring_setup", "ptrace_traceme", "kcmp", "seccomp_ioctl", "setns"];
    let output = std::process::Command::new(probe("attack_doors")).args(harmless).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().count(), harmless.len(), "{text}");
    for errno in [libc::EPERM, libc::ENOSYS] {
        assert!(!text.contains(&format!(" {errno}\n")), "closed even here: {text}");
    }
}
