use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

fn scratch() -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    chmod(scratch.path(), 0o755);
    scratch
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    chmod(path, 0o644);
}

fn gather_one(path: &Path) -> Result<Vec<SourceFile>, RulesError> {
    gather(&[path.to_owned()])
}

#[track_caller]
fn refused(path: &Path) -> String {
    gather_one(path).unwrap_err().to_string()
}

#[test]
fn a_directory_gives_its_rule_files_in_order_and_nothing_of_an_editors() {
    let scratch = scratch();
    for name in ["b.yml", "a.yaml", ".a.yaml.swp", ".#a.yaml", "a.yaml~", "#a.yaml#", ".b.yml"] {
        write(&scratch.path().join(name), name);
    }
    std::os::unix::fs::symlink("nobody@host:1", scratch.path().join(".#b.yaml")).unwrap();
    write(&scratch.path().join("notes.txt"), "notes");
    let files = gather_one(scratch.path()).unwrap();
    let texts: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!(texts, ["a.yaml", "b.yml"]);
    assert_eq!(files[0].name, scratch.path().join("a.yaml").display().to_string());
}

#[test]
fn a_link_is_refused_wherever_it_leads() {
    let scratch = scratch();
    let (real, link) = (scratch.path().join("real"), scratch.path().join("a.yaml"));
    write(&real, "x");
    for target in ["real", "nowhere", "a.yaml"] {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        assert!(refused(&link).contains("a.yaml is a symbolic link"), "{target}");
        assert!(refused(scratch.path()).contains("a.yaml is a symbolic link"), "{target}");
    }
}

#[test]
fn only_regular_files_are_read() {
    let scratch = scratch();
    let path = scratch.path().join("a.yaml");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(refused(&path).contains("not a regular file"));
    std::fs::remove_file(&path).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(refused(&path).contains("not a regular file"));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(refused(scratch.path()).contains("not a regular file"));
}

#[test]
fn what_everybody_can_write_is_refused_with_the_remedy() {
    let scratch = scratch();
    let path = scratch.path().join("a.yaml");
    write(&path, "x");
    chmod(scratch.path(), 0o777);
    let remedy = format!("next: chmod o-w {}", scratch.path().display());
    assert!(refused(scratch.path()).contains(&remedy), "{}", refused(scratch.path()));
    assert!(refused(&path).contains(&remedy));
    chmod(scratch.path(), 0o1777);
    assert_eq!(gather_one(&path).unwrap().len(), 1);
    chmod(scratch.path(), 0o775);
    chmod(&path, 0o666);
    assert!(refused(&path).contains(&format!("next: chmod o-w {}", path.display())));
}

#[test]
fn a_strangers_file_in_a_shared_directory_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let scratch = scratch();
    let path = scratch.path().join("a.yaml");
    write(&path, "x");
    std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
    assert_eq!(gather_one(&path).unwrap().len(), 1);
    chmod(scratch.path(), 0o1777);
    assert!(refused(&path).contains("belongs to user 12345"));
}

#[test]
fn size_number_and_encoding_are_bounded() {
    let scratch = scratch();
    let path = scratch.path().join("a.yaml");
    write(&path, &"x".repeat(MAX_FILE_BYTES));
    assert_eq!(gather_one(&path).unwrap().len(), 1);
    write(&path, &"x".repeat(MAX_FILE_BYTES + 1));
    assert!(refused(&path).contains("a.yaml is larger than 1048576 bytes"));
    std::fs::write(&path, b"ab\xff").unwrap();
    assert!(refused(&path).contains("a.yaml is not UTF-8: a byte at offset 2"));
    write(&path, "x");
    for number in 0..MAX_FILES {
        write(&scratch.path().join(format!("{number}.yaml")), "x");
    }
    assert!(refused(scratch.path()).contains("more than 1024 rule files"));
}

#[test]
fn a_name_that_is_no_text_is_escaped() {
    let scratch = scratch();
    let name = OsString::from_vec(b"\xff.yaml".to_vec());
    write(&scratch.path().join(name), "x");
    assert!(gather_one(scratch.path()).unwrap()[0].name.ends_with("/\\xff.yaml"));
}

#[test]
fn what_is_not_there_is_named() {
    let scratch = scratch();
    assert!(refused(&scratch.path().join("a.yaml")).contains("a.yaml: No such file"));
    assert!(refused(&scratch.path().join("no/a.yaml")).contains("no/a.yaml: No such file"));
    assert!(refused(scratch.path()).contains("no rule files (*.yaml, *.yml) in"));
}
