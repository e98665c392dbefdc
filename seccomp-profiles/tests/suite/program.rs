//! The compiled program agrees with the profile's stated meaning on every kind of test.

use seccomp_profiles::{Profile, compile};

use crate::calls::{Want, answer, filters, registers};

const EDGES: [u64; 14] = [
    0,
    1,
    2,
    0xff,
    0x7fff_ffff,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0x2_0000_0000,
    0x5_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX - 1,
    u64::MAX,
];

fn compiled(default: &str, entries: &str) -> seccomp_profiles::Filter {
    let text = format!(r#"{{"defaultAction":"{default}","syscalls":[{entries}]}}"#);
    compile(&Profile::parse(&text).unwrap()).unwrap()
}

#[test]
fn every_comparison_is_a_64_bit_comparison() {
    type Holds = fn(u64, u64) -> bool;
    let operators: [(&str, Holds); 6] = [
        ("EQ", |found, value| found == value),
        ("NE", |found, value| found != value),
        ("LT", |found, value| found < value),
        ("LE", |found, value| found <= value),
        ("GT", |found, value| found > value),
        ("GE", |found, value| found >= value),
    ];
    for (operator, holds) in operators {
        for value in EDGES {
            let entry = format!(
                r#"{{"names":["mmap"],"action":"SCMP_ACT_NOTIFY",
                    "args":[{{"index":3,"value":{value},"op":"SCMP_CMP_{operator}"}}]}}"#
            );
            let filter = compiled("SCMP_ACT_ALLOW", &entry);
            for found in EDGES {
                let want = if holds(found, value) { Want::Notify } else { Want::Allow };
                let answer = answer(&filter, "mmap", &registers(&[(3, found)]));
                assert_eq!(answer, want, "{found:#x} {operator} {value:#x}");
            }
        }
    }
}

#[test]
fn masks_may_cover_either_half_or_both() {
    for mask in EDGES {
        for datum in EDGES.map(|datum| datum & mask) {
            let entry = format!(
                r#"{{"names":["mmap"],"action":"SCMP_ACT_NOTIFY","args":[{{"index":5,
                    "value":{mask},"valueTwo":{datum},"op":"SCMP_CMP_MASKED_EQ"}}]}}"#
            );
            let filter = compiled("SCMP_ACT_ALLOW", &entry);
            for found in EDGES {
                let want = if found & mask == datum { Want::Notify } else { Want::Allow };
                let answer = answer(&filter, "mmap", &registers(&[(5, found)]));
                assert_eq!(answer, want, "{found:#x} & {mask:#x} == {datum:#x}");
            }
        }
    }
}

#[test]
fn all_conditions_of_an_entry_must_hold() {
    let entry = r#"{"names":["mmap"],"action":"SCMP_ACT_NOTIFY","args":[
        {"index":0,"value":5,"op":"SCMP_CMP_NE"},{"index":1,"value":5,"op":"SCMP_CMP_GE"},
        {"index":2,"value":5,"op":"SCMP_CMP_LT"},{"index":3,"value":5,"op":"SCMP_CMP_EQ"}]}"#;
    let filter = compiled("SCMP_ACT_ALLOW", entry);
    let holding = [(0, 1 << 40), (1, 1 << 40), (2, 4), (3, 5)];
    assert_eq!(answer(&filter, "mmap", &registers(&holding)), Want::Notify);
    for (index, breaking) in [(0, 5), (1, 4), (2, 1 << 40), (3, 5 | 1 << 40)] {
        let mut set = holding;
        set[index].1 = breaking;
        assert_eq!(answer(&filter, "mmap", &registers(&set)), Want::Allow, "argument {index}");
    }
}

#[test]
fn the_strictest_exception_wins_in_any_order() {
    let notify = r#"{"names":["mmap"],"action":"SCMP_ACT_NOTIFY",
        "args":[{"index":0,"value":0,"op":"SCMP_CMP_NE"}]}"#;
    let refuse = r#"{"names":["mmap"],"action":"SCMP_ACT_ERRNO","errnoRet":13,
        "args":[{"index":1,"value":1,"op":"SCMP_CMP_EQ"}]}"#;
    let allow = r#"{"names":["mmap"],"action":"SCMP_ACT_ALLOW",
        "args":[{"index":2,"value":1,"op":"SCMP_CMP_EQ"}]}"#;
    let fallback = r#"{"names":["mmap"],"action":"SCMP_ACT_ERRNO","errnoRet":2}"#;
    let orders = [[notify, refuse, allow, fallback], [fallback, allow, notify, refuse]];
    for order in orders {
        let filter = compiled("SCMP_ACT_ERRNO", &order.join(","));
        let ask = |set: &[(usize, u64)]| answer(&filter, "mmap", &registers(set));
        assert_eq!(ask(&[(0, 1), (1, 1), (2, 1)]), Want::Errno(13));
        assert_eq!(ask(&[(0, 1), (2, 1)]), Want::Notify);
        assert_eq!(ask(&[(2, 1)]), Want::Allow);
        assert_eq!(ask(&[]), Want::Errno(2));
    }
}

#[test]
fn calls_without_fallback_get_the_default() {
    let entry = r#"{"names":["mmap"],"action":"SCMP_ACT_ALLOW",
        "args":[{"index":0,"value":0,"op":"SCMP_CMP_EQ"}]}"#;
    let filter = compiled("SCMP_ACT_ERRNO", entry);
    assert_eq!(answer(&filter, "mmap", &[0; 6]), Want::Allow);
    assert_eq!(answer(&filter, "mmap", &[1; 6]), Want::Errno(1));
    assert_eq!(answer(&filter, "read", &[0; 6]), Want::Errno(1));
}

#[test]
fn programs_are_short_and_the_same_every_time() {
    for (name, filter) in filters() {
        assert!(filter.len() < 1500, "{name} has {} instructions", filter.len());
        assert_eq!(filter.len() * 8, filter.program().len());
        assert!(!filter.is_empty());
        let again = compile(&Profile::builtin(name).unwrap()).unwrap();
        assert_eq!(&again, filter);
        assert_eq!(filter.digest().len(), 64);
    }
    assert_ne!(filters()[0].1.digest(), filters()[1].1.digest());
}
