use serde_json::json;

use super::*;

#[test]
fn a_failed_reload_is_told_and_steers_no_terminal() {
    let data = json!({
        "version": "1", "pid": 7, "started": "t", "mode": "enforce", "profile": "default",
        "sessions": 2,
        "rules": {
            "generation": 3, "digest": "0123456789abcdef", "count": 5, "loaded_at": "t",
            "paths": ["/r\u{1b}[2J"], "watched": true,
            "last_error": { "message": "a.yaml:1:2: wrong\n 1 | x", "since": "s" },
        },
        "log": { "directory": "/l", "healthy": false },
    });
    let shown = sentences(&data);
    assert!(shown.contains("rules     5 in force, generation 3, digest 0123456789ab, loaded t"));
    assert!(
        shown.contains("NOT RELOADED since s") && shown.contains("          a.yaml:1:2: wrong\n")
    );
    assert!(shown.contains("from /r\\u{1b}[2J") && shown.contains("CANNOT BE WRITTEN"), "{shown}");
}
