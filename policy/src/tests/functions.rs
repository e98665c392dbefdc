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
fn globs_know_components() {
    for (text, pattern, expected) in [
        ("/a/b.rs", "/a/*.rs", true),
        ("/a/b/c.rs", "/a/*.rs", false),
        ("/a/b/c.rs", "/a/**/*.rs", true),
        ("/a/c.rs", "/a/**/*.rs", true),
        ("/home/u/.ssh/id", "**/.ssh/**", true),
        (".ssh/id", "**/.ssh/**", true),
        ("/home/u/.ssh", "**/.ssh/**", false),
        ("/home/u/.ssh", "**/.ssh{,/**}", true),
        ("/home/u/.ssh/id", "**/.ssh{,/**}", true),
        ("/home/u/.sshx", "**/.ssh{,/**}", false),
        ("/home/u/x.ssh/a", "**/.ssh/**", false),
        ("/a/bc", "/a/?c", true),
        ("/a//", "/a/?", false),
        ("/a/é", "/a/?", true),
        ("/a/x\ny", "/a/*", true),
        ("/usr/bin/sudo", "/usr/{bin,sbin}/{su,sudo}", true),
        ("/usr/bin/sudoedit", "/usr/{bin,sbin}/{su,sudo}", false),
        ("/a/x,y", "/a/x,y", true),
        ("/a/[b]", "/a/[b]", true),
        ("/a/*", "/a/\\*", true),
        ("/a/b", "/a/\\*", false),
        ("/etc/x", "{/etc,/usr}/**", true),
        ("/a/b", "/a", false),
        ("x/a/b", "/a/b", false),
        ("/a/b/s", "{**/s,/x}", true),
        ("/as", "{**/s,/x}", false),
        ("/a/c", "/a/{b,**/c}", true),
        ("/a/x/c", "/a/{b,**/c}", true),
        ("/a/xc", "/a/{b,**/c}", false),
    ] {
        let glob = Glob::new(pattern).unwrap();
        assert_eq!(glob.is_match(text), expected, "glob({text:?}, {pattern:?})");
    }
}

#[test]
fn broken_patterns_are_refused() {
    assert_eq!(Glob::new("{a").unwrap_err(), "a `{` is not closed");
    assert_eq!(Glob::new("a}").unwrap_err(), "a `}` closes nothing");
    assert_eq!(Glob::new("a\\").unwrap_err(), "the pattern ends in a backslash");
    assert!(Glob::new(&"{".repeat(100)).is_err());
    assert_eq!(Pattern::new("a(").unwrap_err(), "unclosed group");
    assert!(Pattern::new("(a{1000}){1000}").is_err());
    assert!(Pattern::new(&"(".repeat(100_000)).is_err());
}

#[test]
fn a_hostile_glob_is_linear() {
    let glob = Glob::new(&"*a".repeat(40)).unwrap();
    assert!(!glob.is_match(&("a".repeat(5_000) + "b")));
}

#[test]
fn regular_expressions_search_and_speak_ascii() {
    assert!(Pattern::new(r"\d+").unwrap().is_match("a1"));
    assert!(!Pattern::new(r"\d").unwrap().is_match("\u{0661}"));
    assert!(Pattern::new("^a.c$").unwrap().is_match("aéc"));
    assert!(Pattern::new("(?i)ABC").unwrap().is_match("xabcx"));
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
    fn no_pattern_panics(pattern in any::<String>(), text in any::<String>()) {
        if let Ok(glob) = Glob::new(&pattern) { glob.is_match(&text); }
        if let Ok(host) = HostPattern::new(&pattern) { host.is_match(&text); }
        let _ = (Pattern::new(&pattern).is_ok(), Network::new(&pattern).is_ok());
    }

    #[test]
    fn no_glob_that_is_well_formed_fails_to_compile(pattern in "[a*?{},/\\\\.]{0,20}") {
        if let Ok(regex) = translate(&pattern) { prop_assert!(build(&regex, true).is_ok()); }
    }
}
