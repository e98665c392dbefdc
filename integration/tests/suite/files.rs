//! Opens, paths and changes of files: each table gives natively and supervised the same lines.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use integration::{Supervised, both_ways, probe, shell_both_ways};

fn nothing(_: &Path) {}

#[track_caller]
fn same(program: &str, section: &str) {
    let program = probe(program);
    let patience = ["timeout", "--foreground", "20"].map(OsStr::new);
    let command = [&patience[..], &[program.as_os_str(), section.as_ref()]].concat();
    let twins = both_ways(nothing, &command);
    twins.succeeded().agree();
    assert!(twins.native.stdout.len() > 20, "the table is empty: {}", twins.native.out());
}

#[test]
fn open_flags_mean_what_the_kernel_says() {
    same("probe_open", "flags");
}

#[test]
fn nameless_files_are_made_and_linked() {
    same("probe_open", "temporary");
}

#[test]
fn openat2_honours_every_resolve_flag_and_size() {
    same("probe_open", "openat2");
}

#[test]
fn path_descriptors_are_reopened_walked_from_and_entered() {
    same("probe_open", "path");
}

#[test]
fn the_umask_of_the_caller_counts() {
    same("probe_open", "umask");
}

#[test]
fn paths_of_every_shape_lead_to_the_same_end() {
    same("probe_paths", "shapes");
}

#[test]
fn bad_pointers_and_unmapped_pages_are_faults() {
    same("probe_paths", "bad");
}

#[test]
fn long_paths_and_names_end_at_the_same_byte() {
    same("probe_paths", "long");
}

#[test]
fn the_callers_limit_of_open_files_counts() {
    same("probe_paths", "many");
}

#[test]
fn proc_and_dev_speak_about_the_caller() {
    same("probe_paths", "special");
}

#[test]
fn working_directories_and_directory_descriptors_are_the_callers() {
    same("probe_paths", "cwd");
}

#[test]
fn below_a_directory_whose_path_is_too_long_nothing_is_made() {
    // Legitimately different: rules judge paths, and this one cannot be told. Natively it works.
    let program = probe("probe_paths");
    let run = Supervised::allowing_all();
    let finished = run.run(&[program.as_os_str(), "deep".as_ref()]);
    let text = finished.succeeded().out();
    assert!(text.contains("c\"deep\", O_CREAT | O_RDWR, 0o600 => 3"), "{text}");
    assert!(
        text.contains("c\"too-deep\", O_CREAT | O_RDWR, 0o600 => File name too long"),
        "{text}"
    );
    assert!(text.contains("too-deep: No such file"), "{text}");
}

#[test]
fn renames_with_every_flag_succeed_and_fail_alike() {
    same("probe_names", "rename");
}

#[test]
fn links_and_symlinks_succeed_and_fail_alike() {
    same("probe_names", "link");
}

#[test]
fn unlink_and_rmdir_succeed_and_fail_alike() {
    same("probe_names", "remove");
}

#[test]
fn mkdir_and_mknod_succeed_and_fail_alike() {
    same("probe_names", "make");
}

#[test]
fn truncate_succeeds_and_fails_alike() {
    same("probe_names", "truncate");
}

#[test]
fn modes_change_alike_also_of_links_and_descriptors() {
    same("probe_names", "mode");
}

#[test]
fn owners_change_alike_also_of_links_and_descriptors() {
    same("probe_names", "owner");
}

#[test]
fn times_change_alike_in_every_layout() {
    same("probe_names", "times");
}

#[test]
fn extended_attributes_change_alike() {
    same("probe_names", "attributes");
}

#[test]
fn a_fifo_waits_for_its_other_end() {
    same("probe_fifo", "wait");
}

#[test]
fn a_signal_interrupts_a_waiting_open() {
    same("probe_fifo", "interrupt");
}

#[test]
fn a_restarting_signal_lets_a_waiting_open_wait_on() {
    same("probe_fifo", "restart");
}

#[test]
fn waiting_opens_hold_up_nobody_else() {
    same("probe_fifo", "others");
}

#[test]
fn a_waiting_caller_can_be_killed() {
    same("probe_fifo", "killed");
}

#[test]
fn an_unprivileged_caller_gets_no_right_of_the_supervisor() {
    same("probe_user", "nobody");
}

#[test]
fn the_file_system_ids_of_the_caller_count() {
    same("probe_user", "fsuid");
}

#[test]
fn the_effective_ids_of_the_caller_count() {
    same("probe_user", "effective");
}

#[test]
fn capabilities_that_the_caller_gave_up_stay_given_up() {
    same("probe_user", "capabilities");
}

#[test]
fn credentials_are_those_of_the_calling_thread() {
    same("probe_user", "thread");
}

#[test]
fn the_terminal_device_is_the_callers_own() {
    // The program that is supervised makes a terminal of its own, which outcallctl does not have.
    let inner = "echo to the terminal > /dev/tty; test -t 0 < /dev/tty; echo tested $?; \
        stty -a < /dev/tty | head -n 1; sh -c 'exec 3<>/dev/tty; echo both >&3; ls -l /dev/tty >&3'";
    let script = format!("setsid -w script -qec {} /dev/null", quoted(inner));
    shell_both_ways(nothing, &script).succeeded().agree();
}

#[test]
fn without_a_terminal_its_device_cannot_be_opened() {
    let script = "setsid -w sh -c 'echo x > /dev/tty; echo code $?; cat < /dev/tty; echo code $?'";
    let twins = shell_both_ways(nothing, script);
    twins.succeeded().agree();
    assert!(twins.native.err().contains("No such device or address"), "{}", twins.native.err());
}

#[test]
fn a_supervised_program_reaches_the_terminal_that_outcallctl_runs_on() {
    let run = Supervised::allowing_all();
    let program = "echo to the terminal > /dev/tty; read -r line < /dev/tty; echo \"read $line\"";
    let command = run.command(&["/bin/sh", "-c", program]);
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quoted(word.to_str().unwrap()))
        .collect();
    let mut script = Command::new("script");
    script.args(["-qec", &words.join(" "), "/dev/null"]).current_dir(run.workspace());
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = script.spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"typed\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("to the terminal\r\n"), "{text}");
    assert!(text.contains("read typed\r\n"), "{text}");
    assert_eq!(output.status.code(), Some(0), "{text}");
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[test]
fn a_path_only_openat2_is_answered_as_an_older_kernel_would() {
    // Legitimately different: its flags lie in memory, which could change after the decision, and a
    // descriptor of that kind cannot be handed over. Libraries fall back to openat.
    let run = Supervised::allowing_all();
    let finished = run.run(&[probe("probe_open").as_os_str(), "path-openat2".as_ref()]);
    let text = finished.succeeded().out();
    assert!(text.contains("=> Function not implemented (os error 38)"), "{text}");
}

#[test]
fn what_is_closed_is_closed_at_once() {
    for section in ["fifo", "program", "lock"] {
        same("probe_close", section);
    }
}
