//! Filters as text.

use seccomp_profiles::{Profile, pfc};

use crate::calls::{filter, filters};

#[test]
fn a_disassembly_has_a_line_for_each_instruction() {
    for (_, filter) in filters() {
        let text = filter.disassemble();
        assert_eq!(text.lines().count(), filter.len());
        assert!(!text.contains('?'), "an instruction was not understood:\n{text}");
        assert!(text.starts_with("0000  ld   architecture\n"));
    }
}

#[test]
fn a_disassembly_names_calls_only_where_the_number_is_compared() {
    let text = filter("default").disassemble();
    for name in ["ioctl", "execve", "fchmodat2", "uretprobe"] {
        assert!(text.lines().any(|line| line.ends_with(&format!("; {name}"))), "{name}");
    }
    // 0x5412 is an ioctl request, and no number of a call.
    let request = text.lines().find(|line| line.contains("0x5412")).unwrap();
    assert!(!request.contains(';'), "{request}");
    // PR_SET_SECCOMP is 22, which is also the number of pipe.
    let option = text.lines().find(|line| line.contains("== 0x16 ")).unwrap();
    assert!(!option.contains(';'), "{option}");
}

#[test]
fn pseudo_code_has_the_exceptions_and_the_rest() {
    for name in Profile::builtin_names() {
        let text = pfc(&Profile::builtin(name).unwrap()).unwrap();
        assert!(
            text.contains(
                "if ($syscall == ioctl [16] && ($a1 & 0xff00) == 0x2100) action ERRNO(1);"
            )
        );
        assert!(text.contains("pseudo filter code start"), "{name}");
        assert!(text.contains("\"execve\""), "{name}");
    }
}
