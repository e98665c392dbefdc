//! Forbidden programs by other ways than their name.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use integration::Supervised;

use super::{with_port, write_program};

/// A program that names another one as its ELF interpreter: the kernel opens and starts that one.
fn write_front(path: &Path, interpreter: &Path) {
    let name = interpreter.display().to_string() + "\0";
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    elf.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for word in [0x70_0000_u64 + 176, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 2, 0, 64, 0, 0, 0, 0, 0]);
    let length = name.len() as u64;
    elf.extend([3, 0, 0, 0, 4, 0, 0, 0]);
    for word in [176, 0x70_00b0, 0x70_00b0, length, length, 1] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0, 0x70_0000, 0x70_0000, 176 + length, 176 + length, 0x1000] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(name.as_bytes());
    std::fs::write(path, elf).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn prepared() -> Supervised {
    let run = with_port(1);
    let directory = run.workspace().join("bin");
    std::fs::create_dir(&directory).unwrap();
    write_program(&directory.join("b"), true);
    write_front(&directory.join("front"), &directory.join("b"));
    run
}

#[track_caller]
fn assert_not_run(script: &str) {
    let run = prepared();
    let finished = run.shell(script);
    assert!(!run.workspace().join("mark").exists(), "{script}: {}", finished.err());
}

#[test]
fn the_interpreter_that_an_elf_file_names_is_judged() {
    assert_not_run("bin/front safe");
}

#[test]
fn a_forbidden_program_does_not_run_by_any_other_name() {
    for script in [
        "bin/b safe",
        "cd bin; ./b safe; cd ..",
        "ln -s bin/b other; ./other safe",
        "/proc/self/cwd/bin/b safe",
        "exec 9< bin/b; /proc/self/fd/9 safe",
        "printf '#!%s/bin/b\\n' $PWD > script; chmod +x script; ./script",
        "printf '#!/bin/sh\\nexec bin/b safe\\n' > script; chmod +x script; ./script",
        "python3 -c \"import os; os.execve(os.open('bin/b', os.O_PATH), ['b', 'safe'], {})\"",
    ] {
        assert_not_run(script);
    }
}

#[test]
fn the_forbidden_program_leaves_its_mark_when_it_runs() {
    for program in ["bin/b", "bin/front"] {
        let run = prepared();
        let status = std::process::Command::new(run.workspace().join(program))
            .arg("safe")
            .current_dir(run.workspace())
            .status();
        assert!(status.unwrap().success(), "{program}");
        assert!(run.workspace().join("mark").exists(), "{program}");
    }
}

/// Runs /bin/true from memory; prints the errno if it could not.
const MEMFD: &str = "import os
fd = os.memfd_create('code')
os.write(fd, open('/bin/true', 'rb').read())
try: os.execve(fd, ['true'], {})
except OSError as error: print('errno', error.errno); raise SystemExit(3)";

#[test]
fn code_in_a_memory_file_is_judged() {
    let finished = Supervised::by_default_rules().run(&["/usr/bin/python3", "-c", MEMFD]);
    assert_eq!((finished.code, finished.out().trim()), (Some(3), "errno 1"), "{}", finished.err());
    assert_eq!(finished.about("/memfd:code").len(), 1);
}

#[test]
fn code_in_a_memory_file_runs_where_rules_allow_it() {
    Supervised::allowing_all().run(&["/usr/bin/python3", "-c", MEMFD]).succeeded();
}
