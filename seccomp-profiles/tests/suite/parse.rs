//! Reading profiles, and what is said about those that cannot be read.

use seccomp_profiles::{Profile, compile};

fn refused(text: &str) -> String {
    Profile::parse(text).unwrap_err().to_string()
}

fn uncompiled(entries: &str) -> String {
    let text = format!(r#"{{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{entries}]}}"#);
    compile(&Profile::parse(&text).unwrap()).unwrap_err().to_string()
}

#[test]
fn built_in_profiles_parse_and_describe_themselves() {
    assert_eq!(Profile::builtin_names(), ["observe", "default"]);
    for name in Profile::builtin_names() {
        let profile = Profile::parse(Profile::builtin_text(name).unwrap()).unwrap();
        assert_eq!(Profile::builtin(name), Some(profile.clone()));
        assert!(profile.description().contains("side doors"), "{name}");
        let again = serde_json::to_string(&profile).unwrap();
        assert_eq!(Profile::parse(&again).unwrap(), profile, "{name} survives a round trip");
    }
    assert!(Profile::builtin("no-such").is_none());
    assert!(Profile::builtin_text("no-such").is_none());
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_name() {
    assert_eq!(
        refused(r#"{"defaultActoin":"SCMP_ACT_ALLOW"}"#),
        "the profile: unknown key `defaultActoin`; did you mean `defaultAction`?"
    );
    assert_eq!(
        refused(
            r#"{"defaultAction":"SCMP_ACT_ALLOW",
                "syscalls":[{"names":["bpf"],"action":"SCMP_ACT_ERRNO","errnoret":1}]}"#
        ),
        "syscalls[0] (bpf): unknown key `errnoret`; did you mean `errnoRet`?"
    );
    let args = r#"{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["bpf"],
        "action":"SCMP_ACT_ERRNO","args":[{"index":0,"value":1,"valuetwo":1,"op":"SCMP_CMP_EQ"}]}]}"#;
    assert!(refused(args).ends_with("did you mean `valueTwo`?"));
}

#[test]
fn docker_conditions_are_refused_rather_than_ignored() {
    let text = r#"{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[
        {"names":["bpf"],"action":"SCMP_ACT_ALLOW","includes":{"caps":["CAP_BPF"]}}]}"#;
    assert!(refused(text).contains("resolved by the container engine"));
}

#[test]
fn unknown_words_are_refused_with_the_nearest_one() {
    let action = refused(r#"{"defaultAction":"SCMP_ACT_ERNO"}"#);
    assert_eq!(action, "the profile: `SCMP_ACT_ERNO` is no action; did you mean `SCMP_ACT_ERRNO`?");
    let flag = refused(r#"{"defaultAction":"SCMP_ACT_ALLOW","flags":["SECCOMP_FILTER_FLAG_LGO"]}"#);
    assert!(flag.ends_with("did you mean `SECCOMP_FILTER_FLAG_LOG`?"), "{flag}");
    let machine = refused(r#"{"defaultAction":"SCMP_ACT_ALLOW","architectures":["x86_64"]}"#);
    assert!(machine.ends_with("did you mean `SCMP_ARCH_X86_64`?"), "{machine}");
}

#[test]
fn values_that_make_no_sense_are_refused() {
    assert_eq!(refused("{"), "the profile is not valid seccomp JSON");
    assert_eq!(refused("[]"), "the profile is not valid seccomp JSON");
    assert!(
        refused(r#"{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":5000}"#).contains("5000")
    );
    assert!(
        refused(r#"{"defaultAction":"SCMP_ACT_ALLOW","defaultErrnoRet":1}"#)
            .contains("SCMP_ACT_ERRNO only")
    );
    let empty = r#"{"defaultAction":"SCMP_ACT_ALLOW",
        "syscalls":[{"names":[],"action":"SCMP_ACT_ERRNO"}]}"#;
    assert!(refused(empty).contains("`names` is empty"));
}

#[test]
fn unknown_calls_are_refused_with_the_nearest_name() {
    assert_eq!(
        uncompiled(r#"{"names":["opennat"],"action":"SCMP_ACT_ERRNO"}"#),
        "no system call is named `opennat`; did you mean `openat`?"
    );
    assert_eq!(
        uncompiled(r#"{"names":["fchmodat3"],"action":"SCMP_ACT_ERRNO"}"#),
        "no system call is named `fchmodat3`; did you mean `fchmodat2`?"
    );
}

#[test]
fn contradictions_are_refused() {
    let both = r#"{"names":["bpf"],"action":"SCMP_ACT_ERRNO"},
                  {"names":["bpf"],"action":"SCMP_ACT_NOTIFY"}"#;
    assert!(uncompiled(both).starts_with("`bpf` has two fallbacks, ERRNO(1) and NOTIFY"));
    let twice = r#"{"names":["bpf"],"action":"SCMP_ACT_ERRNO","args":[
        {"index":0,"value":1,"op":"SCMP_CMP_GE"},{"index":0,"value":3,"op":"SCMP_CMP_LE"}]}"#;
    assert!(uncompiled(twice).contains("tests argument 0 twice"));
    let seventh = r#"{"names":["bpf"],"action":"SCMP_ACT_ERRNO",
        "args":[{"index":6,"value":1,"op":"SCMP_CMP_GE"}]}"#;
    assert!(uncompiled(seventh).contains("numbered 0 to 5"));
    let never = r#"{"names":["bpf"],"action":"SCMP_ACT_ERRNO",
        "args":[{"index":0,"value":1,"valueTwo":2,"op":"SCMP_CMP_MASKED_EQ"}]}"#;
    assert!(uncompiled(never).contains("can never match"));
}

#[test]
fn a_profile_for_other_machines_is_refused() {
    let text = r#"{"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_S390X"]}"#;
    let error = compile(&Profile::parse(text).unwrap()).unwrap_err().to_string();
    assert!(error.contains("this machine is SCMP_ARCH_X86_64"), "{error}");
}
