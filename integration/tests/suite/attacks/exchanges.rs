//! Names that are exchanged for others between judging and doing.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use integration::{Finished, Supervised};

use super::{SECONDS, attack, two_files, with_port, write_program};

fn race_by_swapping(run: &Supervised) -> Finished {
    let (allowed, secret) = two_files(run);
    let (entry, other) = (run.workspace().join("entry"), run.workspace().join("other"));
    std::fs::copy(allowed, &entry).unwrap();
    std::os::unix::fs::symlink(secret, &other).unwrap();
    let names = [entry, other].map(|path| path.display().to_string());
    attack(run, &["swap", &names[0], &names[1], "6000", SECONDS])
}

#[test]
fn swapping_a_file_for_a_link_never_reaches_the_secret() {
    let finished = race_by_swapping(&with_port(1));
    assert!(!finished.out().contains("SECRET"), "{}", finished.out());
    assert!(finished.out().contains("tries 6000"), "{}", finished.err());
}

#[test]
fn swapping_a_file_for_a_link_wins_with_the_mitigation_off() {
    let finished = race_by_swapping(&with_port(1).with_mitigation_off("open"));
    assert!(finished.out().contains("SECRET content"), "{}{}", finished.out(), finished.err());
}

fn race_for_a_socket_file(run: &Supervised) -> (Finished, usize) {
    let listen = |directory: &str| {
        let directory = run.workspace().join(directory);
        std::fs::create_dir(&directory).unwrap();
        UnixListener::bind(directory.join("sock")).unwrap()
    };
    let done = Arc::new(AtomicBool::new(false));
    let [accepting, counting] = ["public", "secret"].map(|directory| {
        let (listener, done) = (listen(directory), done.clone());
        std::thread::spawn(move || {
            let accepted = listener.incoming().take_while(|_| !done.load(Ordering::Relaxed));
            accepted.count()
        })
    });
    symlink("public/sock", run.workspace().join("entry")).unwrap();
    symlink("secret/sock", run.workspace().join("other")).unwrap();
    let finished = attack(run, &["unix", "entry", "other", "6000", SECONDS]);
    // Both are done once everything that waits is taken: then comes our own.
    done.store(true, Ordering::Relaxed);
    for directory in ["public", "secret"] {
        UnixStream::connect(run.workspace().join(directory).join("sock")).unwrap();
    }
    accepting.join().unwrap();
    (finished, counting.join().unwrap())
}

#[test]
fn exchanging_a_socket_file_never_reaches_the_forbidden_socket() {
    let (finished, reached) = race_for_a_socket_file(&with_port(1));
    assert_eq!(reached, 0);
    assert!(finished.out().contains("tries 6000"), "{}", finished.err());
}

#[test]
fn exchanging_a_socket_file_wins_with_the_mitigation_off() {
    let (finished, reached) = race_for_a_socket_file(&with_port(1).with_mitigation_off("connect"));
    assert!(reached > 0, "{}{}", finished.out(), finished.err());
}

fn race_for_a_script(run: &Supervised) -> (Finished, bool) {
    let directory = run.workspace().join("bin");
    std::fs::create_dir(&directory).unwrap();
    for (program, script) in [("a", "entry"), ("b", "other")] {
        let program = directory.join(program);
        write_program(&program, program.ends_with("b"));
        let script = run.workspace().join(script);
        std::fs::write(&script, format!("#!{}\n", program.display())).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let finished = attack(run, &["script", "./entry", "./other", "6000", SECONDS]);
    let marked = run.workspace().join("mark").exists();
    (finished, marked)
}

#[test]
fn exchanging_a_script_never_runs_the_forbidden_interpreter() {
    let (finished, marked) = race_for_a_script(&with_port(1));
    assert!(!marked);
    assert!(finished.out().contains("tries 6000"), "{}", finished.err());
}

#[test]
fn exchanging_a_script_wins_with_the_mitigation_off() {
    let (finished, marked) = race_for_a_script(&with_port(1).with_mitigation_off("exec"));
    assert!(marked, "{}{}", finished.out(), finished.err());
}
