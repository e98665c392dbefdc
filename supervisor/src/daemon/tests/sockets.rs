use super::*;

fn config(agent: PathBuf, host: PathBuf) -> Config {
    let (agent_socket, host_socket) = (Some(agent), Some(host));
    crate::config::Layer { agent_socket, host_socket, ..Default::default() }.into_config().unwrap()
}

fn said(result: anyhow::Result<Bound>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn both_sockets_can_lie_together_and_are_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join("run").join(name);
    let bound = Sockets::bind(&config(at("agent.sock"), at("host.sock"))).unwrap();
    let mode = std::fs::metadata(at("host.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    bound.sockets.remove();
    assert!(!at("host.sock").exists() && !at("agent.sock").exists());
}

#[test]
fn one_path_for_both_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("x.sock");
    let link = scratch.path().join("link");
    std::os::unix::fs::symlink(".", &link).unwrap();
    for host in [path.clone(), link.join("x.sock")] {
        assert!(said(Sockets::bind(&config(path.clone(), host))).contains("are both"));
    }
}

#[test]
fn another_ones_directory_is_refused_for_either_socket() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let _first = Sockets::bind(&config(at("a/agent.sock"), at("b/host.sock"))).unwrap();
    let agent = Sockets::bind(&config(at("a/agent.sock"), at("c/host.sock")));
    assert!(said(agent).contains("choose another --agent-socket"));
    let host = Sockets::bind(&config(at("d/agent.sock"), at("b/host.sock")));
    assert!(said(host).contains("choose another --host-socket"));
    assert!(at("b/host.sock").exists(), "the first one serves on");
}
