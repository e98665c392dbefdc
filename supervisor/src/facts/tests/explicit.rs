use serde_json::json;

use super::*;

fn ask(action: &str, target: &str, metadata: Value) -> Vec<Facts> {
    let Value::Object(metadata) = metadata else { panic!("metadata is an object") };
    let check = Check::new(action, target.to_owned(), metadata).unwrap();
    let asker = Facts { source: Source::Api, ..Facts::default() };
    questions(&check, &asker).into_iter().map(|question| question.facts).collect()
}

fn first(action: &str, target: &str, metadata: Value) -> Facts {
    ask(action, target, metadata).swap_remove(0)
}

fn refused(target: &str, metadata: Value) -> String {
    let Value::Object(metadata) = metadata else { panic!("metadata is an object") };
    Check::new("tool_exec", target.to_owned(), metadata).unwrap_err()
}

/// IF-002: metadata are texts for rules, whatever JSON they came as.
#[test]
fn metadata_become_text() {
    let metadata = json!({"s": "x", "n": 1.5, "b": true, "o": {"a": [1, null]}, "z": null});
    let facts = first("tool_exec", "t", metadata);
    let value = |key: &str| facts.metadata[key].clone();
    assert_eq!(
        ["s", "n", "b", "o", "z"].map(value),
        ["x", "1.5", "true", r#"{"a":[1,null]}"#, "null"]
    );
}

/// IF-002: what an agent sends is bounded.
#[test]
fn a_check_has_limits() {
    assert!(refused("", json!({})).contains("target is empty"));
    assert!(refused("a\0b", json!({})).contains("NUL"));
    assert!(refused(&"x".repeat(MAX_TARGET + 1), json!({})).contains("target is larger"));
    assert!(refused("t", json!({"k": "x".repeat(MAX_VALUE + 1)})).contains("metadata.k is larger"));
    assert!(refused("t", json!({"k".repeat(MAX_KEY + 1): 1})).contains("a key of metadata"));
    let many: Map<String, Value> = (0..=MAX_ENTRIES).map(|n| (n.to_string(), json!(1))).collect();
    assert!(refused("t", Value::Object(many)).contains("more than 64 entries"));
    let error = Check::new("file_acces", "x".to_owned(), Map::new()).unwrap_err();
    assert!(error.contains("did you mean \"file_access\""), "{error}");
}

#[test]
fn what_only_the_host_knows_cannot_be_set() {
    let metadata = json!({
        "source": "kernel", "agent": "root", "agent.name": "root", "container.id": "c",
        "process.exe": "/bin/x", "session.id": "s", "pid": 1, "uid": 0
    });
    let facts = first("shell_exec", "ls", metadata);
    assert_eq!(facts.source, Source::Api);
    assert_eq!((facts.agent.name.as_str(), facts.container.id.as_str()), ("", ""));
    assert_eq!((facts.process.exe.as_str(), facts.session.id.as_str()), ("", ""));
}

#[test]
fn the_process_is_the_peer() {
    let pid = std::process::id().cast_signed();
    let identity = Identity { agent: "a".to_owned(), ..Identity::default() };
    let facts = asked_by(&identity, &Peer::seen(pid, 7));
    let own = std::env::current_exe().unwrap();
    assert_eq!(facts.process.exe, own.to_str().unwrap());
    assert_eq!(facts.process.pid, i64::from(pid));
    assert_eq!(facts.process.uid, 7);
    assert!(!facts.process.ancestors.is_empty());
    assert_eq!((facts.agent.name.as_str(), facts.source), ("a", Source::Api));
}

#[test]
fn a_path_is_made_plain_only_where_that_is_safe() {
    for (target, cwd, path) in [
        ("/a//b/./c/", "", "/a/b/c"),
        ("/", "", "/"),
        ("/a/../b", "", "/a/../b"),
        ("b/./c", "/w", "/w/b/c"),
        ("b", "w", "b"),
        ("../b", "/w", "../b"),
        ("~/x", "", "~/x"),
    ] {
        let facts = first("file_access", target, json!({ "cwd": cwd }));
        assert_eq!((facts.target.as_str(), facts.file.path.as_str()), (path, path), "{target}");
        assert_eq!(facts.file.requested, target);
    }
}

#[test]
fn an_operation_is_named_or_follows_from_the_mode() {
    for (metadata, operation) in [
        (json!({}), "read"),
        (json!({"mode": "read"}), "read"),
        (json!({"mode": "rb"}), "read"),
        (json!({"mode": "r+"}), "write"),
        (json!({"mode": "rw"}), "write"),
        (json!({"mode": "a"}), "write"),
        (json!({"mode": "create"}), "create"),
        (json!({"mode": 644}), "read"),
        (json!({"mode": "erase"}), "erase"),
        (json!({"operation": "delete", "mode": "read"}), "delete"),
    ] {
        let facts = first("file_access", "/x", metadata.clone());
        assert_eq!(facts.file.operation, operation, "{metadata}");
    }
    assert_eq!(first("file_access", "/x", json!({"mode": "a"})).file.flags, ["append"]);
}

#[test]
fn a_command_is_words_without_a_shell() {
    let facts = first("shell_exec", "git push  --force 'a b'", json!({"cwd": "/w"}));
    assert_eq!(facts.exec.argv, ["git", "push", "--force", "a b"]);
    assert_eq!((facts.run.tool.as_str(), facts.run.cwd.as_str()), ("git", "/w"));
    assert_eq!(
        (facts.run.args, facts.run.flags),
        (vec!["push".into(), "a b".into()], vec!["--force".into()])
    );
    assert_eq!(facts.target, "git push  --force 'a b'");
    let facts = first("shell_exec", "/usr/bin//curl -s x", json!({}));
    assert_eq!(
        (facts.target.as_str(), facts.exec.path.as_str()),
        ("/usr/bin/curl", "/usr/bin/curl")
    );
    let facts = first("shell_exec", "/usr/bin/git", json!({"argv": ["git", "a;b"]}));
    assert_eq!((facts.target.as_str(), facts.run.args), ("/usr/bin/git", vec!["a;b".to_owned()]));
    let facts = first("shell_exec", "x", json!({"command": "git", "args": ["log", "-1"]}));
    assert_eq!(facts.exec.argv, ["git", "log", "-1"]);
}

#[test]
fn what_only_a_shell_can_read_is_the_shell_and_each_command() {
    let all = ask("shell_exec", "echo a; curl \"$X\" | sh", json!({}));
    let tools: Vec<&str> = all.iter().map(|facts| facts.run.tool.as_str()).collect();
    assert_eq!(tools, ["sh", "echo", "curl", "X", "sh"]);
    assert_eq!(all[0].exec.argv[1..], ["-c", "echo a; curl \"$X\" | sh"]);
    for line in ["a 'b", "a \"`b`\"", "a\nb", "a > b", "a \\"] {
        assert_eq!(first("shell_exec", line, json!({})).run.tool, "sh", "{line}");
    }
}

#[test]
fn an_address_is_what_the_kernel_would_reach() {
    for (target, shown, ip, port, class) in [
        ("10.0.0.1:80", "10.0.0.1:80", "10.0.0.1", 80, "private"),
        ("[::ffff:8.8.8.8]:53", "8.8.8.8:53", "8.8.8.8", 53, "public"),
        ("[::1]:1", "[::1]:1", "::1", 1, "loopback"),
        ("0.0.0.0:1", "127.0.0.1:1", "127.0.0.1", 1, "loopback"),
        ("[::]:1", "[::1]:1", "::1", 1, "loopback"),
        ("169.254.169.254", "169.254.169.254", "169.254.169.254", 0, "metadata"),
        ("2852039166:80", "169.254.169.254:80", "169.254.169.254", 80, "metadata"),
        ("0x7f.1:80", "127.0.0.1:80", "127.0.0.1", 80, "loopback"),
        ("fe80::1%eth0", "fe80::1", "fe80::1", 0, "link_local"),
        ("[fe80::1%3]:22", "[fe80::1]:22", "fe80::1", 22, "link_local"),
    ] {
        let facts = first("network_call", target, json!({}));
        let network = &facts.network;
        assert_eq!(facts.target, shown, "{target}");
        assert_eq!((network.ip.as_str(), network.port), (ip, port), "{target}");
        assert_eq!((network.class.as_str(), network.protocol.as_str()), (class, "tcp"), "{target}");
    }
}

#[test]
fn names_and_sockets_are_told_apart() {
    let facts = first("network_call", "Example.COM.:443", json!({"protocol": "udp"}));
    let network = &facts.network;
    assert_eq!((network.hostname.as_str(), network.port), ("example.com", 443));
    assert_eq!((network.class.as_str(), network.protocol.as_str()), ("", "udp"));
    let facts = first("network_call", "unix:/run//x.sock", json!({}));
    assert_eq!((facts.target.as_str(), facts.network.class.as_str()), ("unix:/run/x.sock", "unix"));
    for odd in
        ["exa mple:80", "a:b:c", "h:99999", "1.2.3.4.5:80", "256.1.1.1:80", "ex%61mple", "é.com"]
    {
        let facts = first("network_call", odd, json!({}));
        assert_eq!((facts.network.hostname.as_str(), facts.network.ip.as_str()), ("", ""), "{odd}");
    }
}

#[test]
fn a_url_is_a_request_and_a_connection() {
    let facts =
        first("network_call", "https://u:p@API.example.com/a/b?q#f", json!({"method": "post"}));
    let http = &facts.http;
    assert_eq!((http.method.as_str(), http.host.as_str()), ("POST", "api.example.com"));
    assert_eq!((http.path.as_str(), facts.network.port), ("/a/b", 443));
    let all = ask("network_call", "http://good.example@0x7f000001:8080", json!({}));
    assert_eq!((all[0].http.host.as_str(), all[0].http.path.as_str()), ("127.0.0.1", "/"));
    assert_eq!(
        (all[1].target.as_str(), all[1].network.class.as_str()),
        ("127.0.0.1:8080", "loopback")
    );
    assert_eq!(all[1].http, policy::Http::default());
    let odd = first("network_call", "http://good.example\\@evil.example/", json!({}));
    assert_eq!(odd.http.host, "");
}

#[test]
fn a_tool_call_is_told_in_the_same_words() {
    let metadata = json!({"path": "/workspace/./config.yaml", "mode": "read"});
    let facts = first("tool_exec", "read_file", metadata);
    assert_eq!((facts.target.as_str(), facts.run.tool.as_str()), ("read_file", "read_file"));
    assert_eq!(facts.file.path, "/workspace/config.yaml");
    let facts = first("tool_exec", "browse", json!({"url": "https://x.example/y"}));
    assert_eq!((facts.target.as_str(), facts.http.host.as_str()), ("browse", "x.example"));
}

#[test]
fn protected_places_are_seen_through_dots() {
    let check =
        Check::new("file_access", "/var/log/x/../outcall/f".to_owned(), Map::new()).unwrap();
    let asked = questions(&check, &Facts::default());
    assert_eq!(guarded(&asked)[0].facts.target, "/var/log/outcall/f");
}
