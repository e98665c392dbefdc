//! Who gets an answer.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Opens every way to the socket, so that the daemon itself decides.
fn reachable(served: &Served) -> [String; 5] {
    let run = served.path().join("run");
    for path in [served.path(), &run, &served.host_socket()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let socket = served.host_socket().display().to_string();
    ["curl".into(), "-sS".into(), "--unix-socket".into(), socket, "http://outcall/v1/asks".into()]
}

#[test]
fn operators_are_named_by_uid_and_by_gid() {
    if !integration::require_root("host socket") {
        return;
    }
    let served = served_with(&["--operator-uids", "12345,12346", "--operator-gids", "4321"]);
    let asking = reachable(&served);
    let cases = [
        (somebody(12345, 9, &["--clear-groups"]), true),
        (somebody(12346, 9, &["--clear-groups"]), true),
        (somebody(12347, 9, &["--clear-groups"]), false),
        (somebody(12347, 4321, &["--clear-groups"]), true),
        // A supplementary group counts as well.
        (somebody(12347, 9, &["--groups", "7,4321"]), true),
        (somebody(12347, 9, &["--groups", "12345"]), false),
    ];
    for (mut command, welcome) in cases {
        let answer = out(&command.args(&asking).output().unwrap());
        let json: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(json["success"], welcome, "{command:?}: {answer}");
        let refused = answer.contains("may not ask this outcalld");
        assert_eq!(refused, !welcome, "{answer}");
    }
}

/// EC-008: what lives in a pid namespace of its own lives in a container, root or not.
#[test]
fn a_container_gets_no_answer() {
    if !integration::require_root("host socket") {
        return;
    }
    let served = served();
    let asking = reachable(&served);
    let inside = Command::new("unshare").args(["--pid", "--fork"]).args(&asking).output().unwrap();
    let answer = out(&inside);
    assert!(answer.contains("what runs in a container has no place"), "{answer}{}", err(&inside));
    let beside = Command::new("unshare").args(["--mount"]).args(&asking).output().unwrap();
    assert!(out(&beside).contains("\"success\":true"), "{}", out(&beside));
}

/// EC-008: the control group that a runtime makes tells a container, whatever else it shares.
#[test]
fn a_control_group_of_a_container_gets_no_answer() {
    if !integration::require_root("host socket") {
        return;
    }
    let served = served();
    let asking = reachable(&served);
    let id = format!("{:064x}", std::process::id());
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/pids"].map(std::path::Path::new);
    let root = roots.iter().find(|root| root.join("cgroup.procs").exists());
    let Some(group) = root.map(|root| root.join(&id)).filter(|g| std::fs::create_dir(g).is_ok())
    else {
        eprintln!("NOT RUN: control groups cannot be made here");
        return;
    };
    let enter = "echo $$ > \"$0\"/cgroup.procs && exec \"$@\"";
    let mut inside = Command::new("sh");
    let inside = inside.args(["-c", enter]).arg(&group).args(&asking).output().unwrap();
    let removed = std::fs::remove_dir(&group);
    let answer = out(&inside);
    assert!(answer.contains("what runs in a container has no place"), "{answer}{}", err(&inside));
    removed.unwrap();
}

/// EC-008: neither does what is supervised.
#[test]
fn a_session_gets_no_answer() {
    let served = served();
    let asking = reachable(&served);
    let output = served.session(&format!("{} || echo refused", asking.join(" ")));
    assert_eq!(out(&output), "refused\n", "{}", err(&output));
}
