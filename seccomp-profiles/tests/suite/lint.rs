//! What the linter says.

use seccomp_profiles::{Finding, Profile, Severity, lint};

fn findings(text: &str) -> Vec<Finding> {
    lint(&Profile::parse(text).unwrap())
}

/// The default profile with something changed in its text.
fn changed(from: &str, to: &str) -> Vec<Finding> {
    let text = Profile::builtin_text("default").unwrap();
    assert!(text.contains(from), "the profile no longer has {from}");
    findings(&text.replacen(from, to, 1))
}

/// The default profile with one more entry.
fn with(entry: &str) -> Vec<Finding> {
    changed(r#""syscalls": ["#, &format!(r#""syscalls": [{entry},"#))
}

fn has(findings: &[Finding], severity: Severity, words: &str) {
    let found = findings.iter().any(|f| f.severity == severity && f.message.contains(words));
    assert!(found, "no {severity:?} says {words:?}: {findings:#?}");
}

#[test]
fn built_in_profiles_have_one_known_warning() {
    for name in Profile::builtin_names() {
        let findings = lint(&Profile::builtin(name).unwrap());
        assert_eq!(findings.len(), 1, "{name}: {findings:#?}");
        has(&findings, Severity::Warning, "`sendmsg` is notified: crun");
    }
}

#[test]
fn calls_needed_for_the_handover_must_not_be_notified() {
    for name in ["write", "fcntl", "close"] {
        let entry = format!(r#"{{"names":["{name}"],"action":"SCMP_ACT_NOTIFY"}}"#);
        let findings = with(&entry);
        has(&findings, Severity::Error, &format!("`{name}` is notified: "));
        has(&findings, Severity::Error, &format!("`{name}` is both notified and allowed"));
        has(&findings, Severity::Warning, &format!("begins with `{name}` has no comment"));
    }
}

#[test]
fn half_a_family_is_an_error() {
    let pairs = [("execve", "execveat"), ("openat", "openat2"), ("connect", "sendto")];
    for (asked, forgotten) in pairs {
        let findings = findings(&format!(
            r#"{{"defaultAction":"SCMP_ACT_ALLOW",
                "syscalls":[{{"names":["{asked}"],"action":"SCMP_ACT_NOTIFY"}}]}}"#
        ));
        let words = format!("`{asked}` is notified and `{forgotten}`, which can do the same");
        has(&findings, Severity::Error, &words);
    }
}

#[test]
fn a_refused_family_member_is_no_way_around() {
    let findings = findings(
        r#"{"defaultAction":"SCMP_ACT_ERRNO",
            "syscalls":[{"names":["execve"],"action":"SCMP_ACT_NOTIFY","comment":"x"}]}"#,
    );
    assert_eq!(findings, []);
}

#[test]
fn open_side_doors_are_errors() {
    let open = findings(r#"{"defaultAction":"SCMP_ACT_ALLOW"}"#);
    for door in ["`ptrace`", "`io_uring_setup`", "`clone3`", "`ioctl(arg1=0x5412)`", "`bpf`"] {
        has(&open, Severity::Error, &format!("side door {door} is open"));
    }
    assert!(open.len() > 80, "{}", open.len());
    let asked = changed(
        r#""names": ["open_by_handle_at"],
      "action": "SCMP_ACT_ERRNO",
      "errnoRet": 1"#,
        r#""names": ["open_by_handle_at"], "action": "SCMP_ACT_NOTIFY""#,
    );
    has(&asked, Severity::Warning, "`open_by_handle_at` is left to the supervisor");
}

#[test]
fn a_test_that_upper_bits_dodge_is_an_error() {
    let findings = changed(
        r#"{ "index": 1, "value": 4294967295, "valueTwo": 21522, "op": "SCMP_CMP_MASKED_EQ" }"#,
        r#"{ "index": 1, "value": 21522, "op": "SCMP_CMP_EQ" }"#,
    );
    has(&findings, Severity::Error, "`ioctl(arg1=0x5412)` is open to arguments with upper bits");
    assert!(findings[0].fix.contains("4294967295"));
}

#[test]
fn repeated_and_unknown_names_are_found() {
    has(
        &with(r#"{"names":["read"],"action":"SCMP_ACT_ALLOW","comment":"again"}"#),
        Severity::Warning,
        "`read` is listed twice with ALLOW",
    );
    has(
        &with(r#"{"names":["read"],"action":"SCMP_ACT_LOG","comment":"again"}"#),
        Severity::Error,
        "`read` is both",
    );
    has(
        &with(r#"{"names":["raed"],"action":"SCMP_ACT_ALLOW","comment":"typo"}"#),
        Severity::Error,
        "no system call is named `raed`; did you mean `read`?",
    );
}

#[test]
fn errors_come_first() {
    let findings = with(r#"{"names":["write"],"action":"SCMP_ACT_NOTIFY"}"#);
    assert!(findings.is_sorted_by_key(|finding| finding.severity));
}
