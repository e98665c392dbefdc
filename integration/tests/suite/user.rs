//! As an ordinary user, and as the daemon that serves others.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use integration::{Supervised, machine};

mod daemon;

const USER: u32 = 12_345;

fn as_user(run: Supervised) -> Option<Supervised> {
    machine::require_root("ordinary user").then(|| run.as_user(USER))
}

#[test]
fn an_ordinary_user_opens_executes_and_changes_as_without() {
    let Some(run) = as_user(Supervised::allowing_all()) else { return };
    let finished = run.shell(
        "umask 027; id -u; echo text > file; cat file; mkdir d; mv file d/other; ln -s d/other l; \
         cat l; chmod 600 d/other; rm l; /bin/true && echo ran; stat -c '%a %u' d d/other; exit 42",
    );
    assert_eq!(finished.code, Some(42), "{}", finished.err());
    assert_eq!(finished.out(), "12345\ntext\ntext\nran\n750 12345\n600 12345\n");
    assert!(finished.log.iter().all(|line| line["answer"] != "racy"));
    assert_eq!(run.shell("kill -9 $$").code, Some(128 + 9));
}

#[test]
fn an_ordinary_users_connection_arrives() {
    let Some(run) = as_user(Supervised::allowing_all()) else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        use std::io::Write;
        listener.accept().unwrap().0.write_all(b"hello").unwrap();
    });
    let script =
        format!("import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(9))");
    assert_eq!(run.run(&["/usr/bin/python3", "-c", &script]).out(), "b'hello'\n");
    served.join().unwrap();
}

#[test]
fn an_ordinary_user_is_refused_by_rules_and_by_modes() {
    let Some(run) = as_user(Supervised::by_default_rules()) else { return };
    let home = run.outside().join("home");
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id_rsa"), "SECRET").unwrap();
    let finished = run.shell(&format!(
        "cat {0}/.ssh/id_rsa; echo x > /usr/x; cat /etc/shadow; ls /root; exit 3",
        home.display()
    ));
    assert_eq!(finished.code, Some(3));
    assert!(!finished.out().contains("SECRET"), "{}", finished.out());
    assert!(finished.err().contains("refuse-ssh-keys"), "{}", finished.err());
    assert!(!PathBuf::from("/usr/x").exists());
    // Rules that allow it change nothing about what the user may do.
    let Some(run) = as_user(Supervised::allowing_all()) else { return };
    let finished = run.shell("cat /etc/shadow; echo x > /usr/x; touch /root/x; exit 0");
    assert!(finished.err().contains("Permission denied"), "{}", finished.err());
    assert!(!finished.out().contains("root:"), "{}", finished.out());
    assert!(!PathBuf::from("/usr/x").exists() && !PathBuf::from("/root/x").exists());
}

#[test]
fn what_an_ordinary_users_supervisor_cannot_look_into_fails_closed() {
    let Some(run) = as_user(Supervised::allowing_all()) else { return };
    let script = "import ctypes, os\n\
                  ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n\
                  try: open('/etc/hostname'); print('opened')\n\
                  except OSError as error: print('open', error.errno)\n\
                  try: os.mkdir('made'); print('made')\n\
                  except OSError as error: print('mkdir', error.errno)\n\
                  try: os.execv('/bin/echo', ['echo', 'ran'])\n\
                  except OSError as error: print('exec', error.errno)\n";
    let finished = run.run(&["/usr/bin/python3", "-c", script]);
    assert!(!finished.out().contains("ran") && !finished.out().contains("opened"), "{}", {
        finished.out()
    });
    assert!(!run.workspace().join("made").exists());
    assert_eq!(finished.out().lines().count(), 3, "{}{}", finished.out(), finished.err());
}

#[test]
fn a_session_of_many_processes_does_not_run_out_of_descriptors() {
    let Some(run) = as_user(Supervised::allowing_all()) else { return };
    let script =
        "i=0; while [ $i -lt 1500 ]; do i=$((i + 1)); /bin/true || exit 1; done; echo fine";
    let mut limited = std::process::Command::new("/bin/sh");
    limited.args(["-c", "ulimit -n 1024; exec \"$@\"", "sh"]);
    let command = run.command(&["/bin/sh", "-c", script]);
    limited.arg(command.get_program()).args(command.get_args()).current_dir(run.workspace());
    let output = limited.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&output.stdout), "fine\n", "{}", text(&output.stderr));
}

#[test]
fn a_root_session_that_becomes_somebody_else_has_only_their_rights() {
    if !machine::require_root("change of user") {
        return;
    }
    let run = Supervised::allowing_all();
    let private = run.outside().join("private");
    std::fs::write(&private, "SECRET").unwrap();
    std::fs::set_permissions(&private, PermissionsExt::from_mode(0o600)).unwrap();
    let finished = run.shell(&format!(
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'id -u; cat {0}; \
         echo x >> {0}; rm -f /etc/hostname; cat /etc/shadow; touch mine; mkdir {1}/log/x; exit 0'",
        private.display(),
        run.outside().display(),
    ));
    assert!(finished.out().starts_with("65534\n"), "{}{}", finished.out(), finished.err());
    assert!(!finished.out().contains("SECRET") && !finished.out().contains("root:"));
    assert_eq!(std::fs::read_to_string(&private).unwrap(), "SECRET");
    assert!(PathBuf::from("/etc/hostname").exists());
    let mine = std::fs::metadata(run.workspace().join("mine")).unwrap();
    assert_eq!((mine.uid(), mine.gid()), (65_534, 65_534));
}
