//! `/proc` entries of the supervisor and of the shim, under rules that allow everything.

use integration::{Finished, Supervised, probe};

/// Runs the probe against the shim (its parent) and the supervisor (its grandparent).
fn reach(run: &Supervised, pids: &str) -> Finished {
    let probe = probe("attack_proc").display().to_string();
    let script = format!(
        "shim=$PPID; sup=$(awk '/^PPid/ {{print $2}}' /proc/$PPID/status); exec {probe} {pids}"
    );
    let finished = run.shell(&script);
    assert!(finished.out().ends_with("done\n"), "{}{}", finished.out(), finished.err());
    finished
}

#[test]
fn the_supervisors_proc_entries_are_out_of_reach_by_any_name() {
    let finished = reach(&Supervised::allowing_all(), "$sup");
    assert!(!finished.out().contains("REACHED"), "{}", finished.out());
}

#[test]
fn the_shims_proc_entries_are_out_of_reach_by_any_name() {
    let finished = reach(&Supervised::allowing_all(), "$shim");
    assert!(!finished.out().contains("REACHED"), "{}", finished.out());
}

#[test]
fn the_first_process_of_the_machine_is_out_of_reach_by_any_name() {
    let finished = reach(&Supervised::allowing_all(), "1");
    assert!(!finished.out().contains("REACHED"), "{}", finished.out());
}

#[test]
fn under_built_in_rules_the_supervisor_is_out_of_reach_too() {
    let run = Supervised::by_default_rules();
    let copy = run.workspace().join("attack_proc");
    std::fs::copy(probe("attack_proc"), &copy).unwrap();
    let finished =
        run.shell("sup=$(awk '/^PPid/ {print $2}' /proc/$PPID/status); exec ./attack_proc $sup");
    assert!(finished.out().ends_with("done\n"), "{}{}", finished.out(), finished.err());
    assert!(!finished.out().contains("REACHED"), "{}", finished.out());
}

#[test]
fn the_probe_reaches_what_is_its_own() {
    let run = Supervised::allowing_all();
    let finished = reach(&run, "$$");
    for entry in ["/maps", "/mem", "/environ", "/fd"] {
        assert!(finished.out().contains("plain /proc/"), "{}", finished.out());
        let seen = finished.out().lines().any(|line| line.ends_with(entry));
        assert!(seen, "{entry}: {}", finished.out());
    }
}
