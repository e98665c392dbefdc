use proptest::prelude::*;

use super::*;

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
fn patterns_of_a_set_have_one_budget_and_equal_ones_are_built_once() {
    let mut patterns = Patterns::default();
    let large = |n: usize| format!("(a{{90}}){{90}}{n}");
    let first = patterns.regex(&large(0)).unwrap();
    assert!(Arc::ptr_eq(&first, &patterns.regex(&large(0)).unwrap()));
    let refused = (1..200).find_map(|n| patterns.regex(&large(n)).err()).unwrap();
    assert_eq!(refused, "with it, the patterns of the set take more than 16777216 bytes");
    assert!(Arc::ptr_eq(&first, &patterns.regex(&large(0)).unwrap()), "what was built stays");
}

#[test]
fn everything_is_known_as_such() {
    assert!(Pattern::new(".*").unwrap().is_everything());
    assert!(!Pattern::new("a.*").unwrap().is_everything());
    assert!(Glob::new("**").unwrap().is_everything() && !Glob::new("*").unwrap().is_everything());
}

proptest! {
    #[test]
    fn no_pattern_panics(pattern in any::<String>(), text in any::<String>()) {
        if let Ok(glob) = Glob::new(&pattern) { glob.is_match(&text); }
        if let Ok(pattern) = Pattern::new(&pattern) { pattern.is_match(&text); }
    }

    #[test]
    fn no_glob_that_is_well_formed_fails_to_compile(pattern in "[a*?{},/\\\\.]{0,20}") {
        if let Ok(regex) = translate(&pattern) { prop_assert!(build(&regex, true).is_ok()); }
    }
}
