//! A secret under other names, with the built-in rules.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use integration::{Supervised, probe};
use tempfile::TempDir;

const SECRET: &str = "PRIVATE-KEY-4711";

/// A home directory outside of the workspace, and of all scratch space, with a key in it.
struct Home {
    directory: TempDir,
}

impl Home {
    fn new() -> (Supervised, Self) {
        let directory = tempfile::tempdir_in("/srv").unwrap();
        let home = directory.path().display().to_string();
        std::fs::create_dir(directory.path().join(".ssh")).unwrap();
        let home_of = Self { directory };
        std::fs::write(home_of.key(), SECRET).unwrap();
        (Supervised::by_default_rules().variable("HOME", &home), home_of)
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join(".ssh/id_rsa")
    }
}

/// The key is where it was and as it was, and nowhere else.
#[track_caller]
fn assert_untouched(run: &Supervised, key: &Path, out: &str) {
    assert!(!out.contains(SECRET), "{out}");
    assert_eq!(std::fs::read_to_string(key).unwrap(), SECRET);
    assert_eq!(std::fs::metadata(key).unwrap().nlink(), 1);
    let mut pending = vec![run.workspace()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                let bytes = std::fs::read(entry.path()).unwrap();
                let found = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
                assert!(!found, "in {}", entry.path().display());
            }
        }
    }
}

#[test]
fn a_key_is_not_read_under_any_other_name() {
    let (run, home) = Home::new();
    let key = home.key();
    let copy = run.workspace().join("attack_names");
    std::fs::copy(probe("attack_names"), &copy).unwrap();
    let above = home.directory.path();
    let finished = run.run(&[copy.as_os_str(), key.as_os_str(), above.as_os_str()]);
    assert!(finished.out().ends_with("done\n"), "{}{}", finished.out(), finished.err());
    std::fs::remove_file(copy).unwrap();
    assert!(!finished.out().contains("device node"), "{}", finished.out());
    assert_untouched(&run, &key, &finished.out());
}

#[test]
fn the_probe_reads_the_key_under_other_names_when_everything_is_allowed() {
    let run = Supervised::allowing_all();
    let home = run.workspace().join("home");
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    let key = home.join(".ssh/id_rsa");
    std::fs::write(&key, SECRET).unwrap();
    let finished = run.run(&[probe("attack_names").as_os_str(), key.as_os_str(), home.as_os_str()]);
    for way in ["/proc/self/root", "hard", "moved", "/./"] {
        let read =
            finished.out().lines().any(|line| line.starts_with(way) && line.contains(SECRET));
        assert!(read, "{way}: {}", finished.out());
    }
}

#[test]
fn ordinary_programs_do_not_read_a_key_either() {
    let (run, home) = Home::new();
    let key = home.key();
    let path = key.display().to_string();
    let lines = [
        format!("cat < {path}"),
        format!("cat {path}"),
        format!("cp {path} copy; cat copy"),
        format!("ln {path} hard; cat hard"),
        format!("mv {path} moved; cat moved"),
        format!("mv $(dirname {path}) d; cat d/id_rsa"),
        format!("sh {path}"),
        format!(". {path}"),
        format!("dd if={path} status=none"),
        format!("tar cf - -C / {} | cat", &path[1..]),
        format!("python3 -c \"print(open('{path}').read())\""),
        format!("exec 7< {path}; cat <&7"),
        format!("cd $(dirname {path}) && cat id_rsa"),
        "grep -r PRIVATE $HOME".to_owned(),
        format!("chmod 777 {path}"),
        path.to_owned(),
    ];
    for line in &lines {
        let finished = run.shell(line);
        assert_untouched(&run, &key, &(finished.out() + &finished.err()));
        assert_eq!(std::fs::metadata(&key).unwrap().mode() & 0o777, 0o644, "{line}");
    }
}

#[test]
fn metadata_is_not_changed_through_a_descriptor_that_was_opened_to_read() {
    let run = Supervised::by_default_rules();
    let system = PathBuf::from("/usr/share/outcall-test-metadata");
    std::fs::write(&system, "x").unwrap();
    std::fs::set_permissions(&system, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let script = "import os\nfd = os.open('/usr/share/outcall-test-metadata', os.O_RDONLY)\n\
                  for change in (lambda: os.fchmod(fd, 0o4777), lambda: os.fchown(fd, 1, 1),\n\
                      lambda: os.setxattr(fd, 'user.x', b'y'), lambda: os.utime(fd, (1, 1))):\n\
                  \x20   try: change()\n\
                  \x20   except OSError as error: print(error)\n";
    let finished = run.run(&["python3", "-c", script]);
    let found = std::fs::metadata(&system).unwrap();
    std::fs::remove_file(&system).unwrap();
    let state = (found.mode() & 0o7777, found.uid(), found.mtime() > 1);
    assert_eq!(state, (0o644, 0, true), "{}{}", finished.out(), finished.err());
}

#[test]
fn a_socket_is_not_bound_where_nothing_may_be_made() {
    let (run, home) = Home::new();
    let key = home.key();
    let path = key.with_file_name("sock");
    let script = format!(
        "import socket; socket.socket(socket.AF_UNIX).bind('{}'); print('bound')",
        path.display()
    );
    let finished = run.run(&["python3", "-c", &script]);
    assert!(!path.exists(), "{}{}", finished.out(), finished.err());
}

/// openat2 with O_PATH, and a packet with IP options of its own, as for source routes.
const IN_MEMORY: &str = "import ctypes, socket, struct
call = ctypes.CDLL(None, use_errno=True).syscall
how = struct.pack('QQQ', 0o10000000, 0, 0)
print('openat2', call(437, -100, b'/', how, 24), ctypes.get_errno())
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(('127.0.0.1', 0))
control = [(socket.IPPROTO_IP, 7, bytes([1, 1, 1, 1]))]
try: print('sendmsg', sender.sendmsg([b'xy'], control, 0, receiver.getsockname()))
except OSError as error: print('sendmsg', error.errno)";

#[test]
fn what_hides_its_meaning_in_memory_is_refused() {
    let program = ["/usr/bin/python3", "-c", IN_MEMORY];
    let finished = Supervised::allowing_all().run(&program);
    assert_eq!(finished.out(), "openat2 -1 38\nsendmsg 1\n", "{}", finished.err());
    let native = std::process::Command::new(program[0]).args(&program[1..]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&native.stdout), "openat2 3 0\nsendmsg 2\n");
}
