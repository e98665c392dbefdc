//! Programs start natively and supervised alike, and every start is verified.

use std::ffi::OsStr;
use std::path::Path;

use integration::{Finished, Supervised, both_ways, probe};

fn nothing(_: &Path) {}

/// Both ways the same; every exec that the supervisor let go on was verified.
#[track_caller]
fn same(section: &str) {
    let program = probe("probe_exec");
    let patience = ["timeout", "--foreground", "20"].map(OsStr::new);
    let command = [&patience[..], &[program.as_os_str(), section.as_ref()]].concat();
    let twins = both_ways(nothing, &command);
    twins.succeeded().agree();
    all_verified(&twins.supervised);
    assert!(twins.native.out().contains("ran with") || twins.native.out().contains("status"));
}

#[track_caller]
fn all_verified(finished: &Finished) {
    let execs: Vec<_> = finished
        .log
        .iter()
        .filter(|line| line["syscall"] == "execve" || line["syscall"] == "execveat")
        .collect();
    assert!(!execs.is_empty(), "no exec was recorded");
    for line in execs {
        // One that failed while it was looked up never went on.
        let expected = if line["errno"].is_null() { "verified" } else { "on_behalf" };
        assert_eq!(line["answer"], expected, "{line}");
    }
    let killed = finished.log.iter().find(|line| line["type"] == "killed");
    assert!(killed.is_none(), "{killed:?}");
}

#[test]
fn every_way_to_name_a_program_runs_it() {
    same("ways");
}

#[test]
fn failing_execs_fail_alike_and_success_follows() {
    same("failures");
}

#[test]
fn scripts_run_with_their_interpreters_and_arguments() {
    same("scripts");
}

#[test]
fn programs_in_memory_run() {
    same("memory");
}

#[test]
fn large_arguments_pass_and_too_large_ones_fail() {
    same("large");
}

#[test]
fn a_thread_that_is_not_the_first_can_exec() {
    same("thread");
}

#[test]
fn an_exec_ends_threads_that_are_in_calls_of_their_own() {
    for _ in 0..5 {
        same("busy");
    }
}

#[test]
fn spawned_programs_run() {
    same("spawn");
}

#[test]
fn argument_bytes_arrive_as_they_are() {
    same("bytes");
}

#[test]
fn a_hundred_failing_execs_leave_nothing_behind() {
    same("again");
}

#[test]
fn the_record_names_program_interpreter_and_arguments() {
    let run = Supervised::allowing_all();
    let script = run.workspace().join("script");
    std::fs::write(&script, "#!/bin/sh\nexit 3\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let finished = run.run(&["./script", "an argument", "caf\u{e9}"]);
    assert_eq!(finished.code, Some(3), "{}", finished.err());
    all_verified(&finished);
    let about = finished.about("/workspace/script");
    let record = about.iter().find(|line| line["syscall"] == "execve").unwrap();
    assert_eq!(record["argv"], serde_json::json!(["./script", "an argument", "caf\u{e9}"]));
    assert_eq!(record["object"]["requested"], "./script");
    assert!(record["object"]["ino"].as_u64() > Some(0), "{record}");
}
