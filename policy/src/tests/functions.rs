use proptest::prelude::*;

use super::*;

#[test]
fn under_compares_components() {
    for (path, dir, expected) in [
        ("/workspace/a", "/workspace", true),
        ("/workspace", "/workspace", true),
        ("/workspace", "/workspace/", true),
        ("/workspace/a/b", "/workspace/a/", true),
        ("/workspace//a", "/workspace", true),
        ("/workspace-evil/a", "/workspace", false),
        ("/work", "/workspace", false),
        ("/workspace/../etc/shadow", "/workspace", false),
        ("/workspace/./a", "/workspace", false),
        ("/workspace/a/..", "/workspace", false),
        ("/workspace/..a", "/workspace", true),
        ("/workspace/a", "/workspace/x/..", false),
        ("/a", "", false),
        ("", "", false),
        ("", "/", false),
        ("/a", "/", true),
        ("/", "/", true),
        ("a/b", "/a", false),
        ("/a/b", "a", false),
        ("a/b", "a", true),
    ] {
        assert_eq!(under(path, dir), expected, "under({path:?}, {dir:?})");
    }
}

#[test]
fn cidr_ranges() {
    for (ip, range, expected) in [
        ("10.1.2.3", "10.0.0.0/8", Some(true)),
        ("11.1.2.3", "10.0.0.0/8", Some(false)),
        ("::ffff:10.1.2.3", "10.0.0.0/8", Some(true)),
        ("10.1.2.3", "0.0.0.0/0", Some(true)),
        ("::1", "0.0.0.0/0", Some(false)),
        ("fe80::1%eth0", "fe80::/10", Some(true)),
        ("fd00:ec2::254", "fd00:ec2::254", Some(true)),
        ("1.2.3.4", "::/0", Some(false)),
        ("nonsense", "10.0.0.0/8", None),
    ] {
        assert_eq!(Network::new(range).unwrap().contains(ip), expected, "{ip} in {range}");
    }
    for range in ["10.0.0.0/33", "10.0.0.1/8", "x/8", "10.0.0.0/-1", "10.0.0.0/", "", "::1/129"] {
        assert!(Network::new(range).is_err(), "{range}");
    }
}

#[test]
fn host_patterns() {
    for (host, pattern, expected) in [
        ("api.example.com", "*.example.com", true),
        ("a.b.example.com", "*.example.com", true),
        ("API.Example.COM.", "*.example.com", true),
        ("example.com", "*.example.com", false),
        ("evilexample.com", "*.example.com", false),
        (".example.com", "*.example.com", false),
        ("example.com", "example.com", true),
        ("example.com.evil.org", "example.com", false),
        ("ééééé", "*.example.com", false),
    ] {
        assert_eq!(HostPattern::new(pattern).unwrap().is_match(host), expected, "{host} {pattern}");
    }
    for pattern in ["", "*", "*.", "a.*.com", "*.*.com", "a..b"] {
        assert!(HostPattern::new(pattern).is_err(), "{pattern}");
    }
}

proptest! {
    #[test]
    fn under_agrees_with_the_standard_library(
        path in "/(a|b|ab|/){0,6}", dir in "/(a|b|ab|/){0,4}"
    ) {
        prop_assert_eq!(under(&path, &dir), std::path::Path::new(&path).starts_with(&dir));
    }

    #[test]
    fn no_range_or_host_panics(pattern in any::<String>(), text in any::<String>()) {
        if let Ok(host) = HostPattern::new(&pattern) { host.is_match(&text); }
        if let Ok(network) = Network::new(&pattern) { network.contains(&text); }
    }
}
