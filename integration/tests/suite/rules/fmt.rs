//! `rules fmt`. What canonical form is belongs to the engine's own tests; here is what happens to
//! files.

use super::*;

const UGLY: &str = "version:   \"1\"\nrules:\n    -   id:   a\n        condition:   'true'\n        action:   allow\n";

fn from_stdin(desk: &Desk, text: &[u8], more: &[&str]) -> Said {
    let mut command = desk.command(&[&["fmt", "-"], more].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // A refused input may be closed before it is read.
    let _ = input.write_all(text);
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let err = text(output.stderr);
    assert!(!err.contains("panicked"), "{err}");
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err }
}

#[test]
fn a_formatted_file_keeps_its_mode_and_stays_formatted() {
    let desk = Desk::with(UGLY);
    let path = desk.path("rules.yaml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o604)).unwrap();
    let canonical = from_stdin(&desk, UGLY.as_bytes(), &[]);
    assert_eq!(canonical.code, 0, "{}", canonical.err);
    let changes = canonical.out != UGLY;
    let before = path.metadata().unwrap().ino();
    desk.says(&["fmt", "--check", "rules.yaml"], i32::from(changes), &[]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), UGLY, "--check changed the file");
    let said = desk.says(&["fmt", "."], 0, &["1 file: "]);
    assert_eq!(said.out.contains("changed ./rules.yaml"), changes, "{}", said.out);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), canonical.out);
    let after = path.metadata().unwrap();
    assert_eq!(after.mode() & 0o7777, 0o604);
    assert_eq!(after.ino() != before, changes, "a file is replaced, never written in place");
    desk.says(&["fmt", "--check", "rules.yaml"], 0, &["0 to change"]);
    assert_eq!(from_stdin(&desk, canonical.out.as_bytes(), &["--check"]).code, 0);
    assert_eq!(desk.directory.path().read_dir().unwrap().count(), 1, "something is left behind");
}

#[test]
fn links_are_refused_and_nothing_is_changed() {
    let desk = Desk::with(UGLY);
    symlink("rules.yaml", desk.path("link.yaml")).unwrap();
    for paths in [&["fmt", "link.yaml"][..], &["fmt", "rules.yaml", "link.yaml"], &["fmt", "."]] {
        desk.says(paths, 1, &["link.yaml", "symbolic link"]);
    }
    assert!(desk.path("link.yaml").symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(desk.path("rules.yaml")).unwrap(), UGLY);
}

#[test]
fn stdin_stands_alone() {
    let desk = Desk::new();
    desk.says(&["fmt", "-", "rules.yaml"], 2, &["`-` stands alone"]);
    desk.says(&["fmt"], 2, &["PATH"]);
}

#[test]
fn input_that_cannot_be_formatted_is_refused() {
    let desk = Desk::new();
    desk.says(&["fmt", "absent.yaml"], 1, &["absent.yaml", "No such file"]);
    desk.says(&["fmt", "/dev/null"], 1, &["/dev/null", "no regular file"]);
    for (content, words) in [(&b"\xff\xfe"[..], "UTF-8"), (&vec![b'#'; 2 << 20], "1 MiB")] {
        desk.write("odd.yaml", content);
        desk.says(&["fmt", "odd.yaml"], 3, &["odd.yaml", words]);
        let said = from_stdin(&desk, content, &[]);
        assert_eq!((said.code, said.out.as_str()), (3, ""), "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
        assert_eq!(std::fs::read(desk.path("odd.yaml")).unwrap(), content);
    }
}
