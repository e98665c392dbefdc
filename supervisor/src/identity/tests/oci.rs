use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn both_runtimes_are_read() {
    let runc = r#"{"id":"x","init_process_pid":4711,"init_process_start":99,
        "config":{"labels":["bundle=/b","outcall.agent=coder"]}}"#;
    let state = parse("box", runc).unwrap();
    assert_eq!((state.id.as_str(), state.init, state.started), ("box", 4711, Some(99)));
    assert_eq!(state.labels["outcall.agent"], "coder");
    let crun = r#"{"pid":4712,"process-start-time":100,"cgroup-path":"/x","bundle":"/b"}"#;
    let state = parse("pod", crun).unwrap();
    assert_eq!((state.init, state.started, state.labels.len()), (4712, Some(100), 0));
    for bad in ["", "{}", "[]", r#"{"pid":0}"#, r#"{"pid":1}"#, r#"{"pid":99999999999}"#] {
        assert_eq!(parse("x", bad), None, "{bad}");
    }
}

/// IF-001: the first process is told from another one with its number by its start.
#[test]
fn a_peer_is_found_below_its_containers_first_process() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = child.id().cast_signed();
    let start = started_at(pid).unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let state = directory.path().join("box/state.json");
    std::fs::create_dir(state.parent().unwrap()).unwrap();
    let write = |start: u64| {
        let text = format!("{{\"init_process_pid\":{pid},\"init_process_start\":{start}}}");
        std::fs::write(&state, text).unwrap();
    };
    let directories = [directory.path().to_owned()];
    let peer = || Peer::started(Process::open(pid).unwrap(), 0);
    write(start + 1);
    assert!(find(&peer(), &directories).is_none(), "another process has the number");
    write(start);
    let home = find(&peer(), &directories).unwrap();
    assert_eq!((home.key.as_str(), home.identity.agent.as_str()), ("box", "box"));
    let own = Process::open(std::process::id().cast_signed()).unwrap();
    assert!(!home.holds(&Peer::started(own, 0)), "we are not in it");
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o777)).unwrap();
    assert!(find(&peer(), &directories).is_none(), "anybody could have written that");
    let late = peer();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!home.holds(&late) && !home.is_alive());
}
