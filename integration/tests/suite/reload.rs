//! Rules that change under a running daemon, and the host socket that tells about it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use integration::served::{Served, refused_start};
use serde_json::Value;

/// A file with these rules, each allowing everything.
fn rules(ids: &[&str]) -> String {
    let rule = |id: &&str| {
        format!("  - id: {id}\n    condition: \"true\"\n    action: allow\n    description: d\n")
    };
    format!("version: \"1\"\nrules:\n{}", ids.iter().map(rule).collect::<String>())
}

const BROKEN: &str = "version: \"1\"\nrules:\n  - id: x\n    condition: \"target ==\"\n    \
                      action: allow\n    description: d\n";

fn served() -> Served {
    Served::with_rules(|directory| {
        std::fs::write(directory.join("a.yaml"), rules(&["first"])).unwrap()
    })
}

fn replace(served: &Served, name: &str, text: &str) {
    let new = served.path().join("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, served.rules(name)).unwrap();
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn until_in_force(served: &Served, ids: &[&str]) {
    served.until(&format!("{ids:?} in force"), || served.ids() == ids);
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What is wrong with the files, once something is.
#[track_caller]
fn failure(served: &Served) -> String {
    let mut message = String::new();
    served.until("a failed reload", || {
        let rules = served.rules_status();
        message = rules["last_error"]["message"].as_str().unwrap_or_default().to_owned();
        !message.is_empty()
    });
    message
}

#[test]
fn status_tells_what_is_in_force() {
    let served = served();
    let reply = served.curl(&[], "/v1/status");
    assert_eq!((reply.status, &reply.body["success"]), (200, &Value::Bool(true)));
    let data = &reply.body["data"];
    assert_eq!((&data["mode"], &data["profile"]), (&"enforce".into(), &"default".into()));
    assert_eq!(data["sessions"], 0);
    assert_eq!(data["log"]["healthy"], true);
    let rules = &data["rules"];
    assert_eq!((&rules["generation"], &rules["count"]), (&1.into(), &1.into()));
    assert_eq!(rules["digest"].as_str().unwrap().len(), 64);
    assert_eq!(rules["last_error"], Value::Null);
    assert_eq!(
        rules["paths"][0].as_str(),
        served.rules("").to_str().map(|p| p.trim_end_matches('/'))
    );
    served.until("it is watched", || served.rules_status()["watched"] == true);
    let mode = std::fs::metadata(served.host_socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn every_answer_is_in_the_envelope() {
    let served = served();
    let rule = served.curl(&[], "/v1/rules/first");
    assert_eq!((rule.status, &rule.body["data"]["line"]), (200, &3.into()));
    assert_eq!(rule.body["data"]["condition"], "true");
    let cases: [(&[&str], &str, u16, &str); 6] = [
        (&[], "/v1/rules/frist", 404, "did you mean 'first'?"),
        (&[], "/v1/rules/%ff", 400, ""),
        (&[], "/v1/nonsense", 404, "no such resource"),
        (&[], "/v1/checkin", 404, "no such resource"),
        (&["-X", "DELETE"], "/v1/rules", 405, "that method"),
        (&[], "/v1/rules/reload", 405, "that method"),
    ];
    for (arguments, resource, status, said) in cases {
        let reply = served.curl(arguments, resource);
        assert_eq!(reply.status, status, "{resource}: {}", reply.body);
        assert_eq!(reply.body["success"], false, "{resource}");
        assert!(reply.body["error"].as_str().unwrap().contains(said), "{resource}: {}", reply.body);
    }
}

#[test]
fn every_way_of_editing_is_noticed() {
    let served = served();
    replace(&served, "a.yaml", &rules(&["renamed"]));
    until_in_force(&served, &["renamed"]);
    std::fs::write(served.rules("a.yaml"), rules(&["in-place"])).unwrap();
    until_in_force(&served, &["in-place"]);
    // As vi does it: a swap file, the old text aside, the new text under the name.
    std::fs::write(served.rules(".a.yaml.swp"), "swap").unwrap();
    std::fs::rename(served.rules("a.yaml"), served.rules("a.yaml~")).unwrap();
    std::fs::write(served.rules("a.yaml"), rules(&["edited"])).unwrap();
    std::fs::remove_file(served.rules(".a.yaml.swp")).unwrap();
    until_in_force(&served, &["edited"]);
    std::fs::write(served.rules("b.yml"), rules(&["added"])).unwrap();
    until_in_force(&served, &["edited", "added"]);
    std::fs::remove_file(served.rules("a.yaml")).unwrap();
    until_in_force(&served, &["added"]);
    // The directory itself, at once and in two steps.
    let other = served.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("a.yaml"), rules(&["moved-in"])).unwrap();
    std::fs::rename(served.rules(""), served.path().join("old")).unwrap();
    std::fs::rename(&other, served.rules("")).unwrap();
    until_in_force(&served, &["moved-in"]);
    std::fs::remove_dir_all(served.rules("")).unwrap();
    assert!(failure(&served).contains("No such file"));
    assert_eq!(served.ids(), ["moved-in"]);
    std::fs::create_dir(served.rules("")).unwrap();
    std::fs::write(served.rules("a.yaml"), rules(&["anew"])).unwrap();
    until_in_force(&served, &["anew"]);
    replace(&served, "a.yaml", &rules(&["still-watched"]));
    until_in_force(&served, &["still-watched"]);
}

#[test]
fn a_change_is_on_record_and_what_changes_nothing_is_not() {
    let served = served();
    let before = served.rules_status();
    replace(&served, "a.yaml", &rules(&["first", "second"]));
    until_in_force(&served, &["first", "second"]);
    let after = served.rules_status();
    let changes = served.records("policy_change");
    assert_eq!(changes.len(), 1, "{changes:?}");
    let change = &changes[0];
    assert_eq!((&change["by"], &change["generation"]), (&"watch".into(), &2.into()));
    assert_eq!((&change["old_digest"], &change["digest"]), (&before["digest"], &after["digest"]));
    assert_eq!(change["added"]["ids"], serde_json::json!(["second"]));
    assert_eq!((&change["removed"]["count"], &change["changed"]["count"]), (&0.into(), &0.into()));
    replace(&served, "a.yaml", &rules(&["first", "second"]));
    std::fs::write(served.rules("a.yaml~"), "nonsense").unwrap();
    served.signal("-HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(served.rules_status()["generation"], 2);
    assert_eq!(served.records("policy_change").len(), 1);
    assert!(served.records("policy_rejected").is_empty());
}

#[test]
fn a_broken_file_changes_nothing_and_is_named_until_it_is_right() {
    let served = served();
    replace(&served, "b.yaml", BROKEN);
    let message = failure(&served);
    assert!(message.contains("b.yaml:4:"), "{message}");
    assert_eq!(served.ids(), ["first"]);
    assert!(served.rules_status()["last_error"]["since"].is_string());
    let rejected = served.records("policy_rejected");
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(rejected[0]["by"], "watch");
    assert!(rejected[0]["error"].as_str().unwrap().contains("b.yaml:4:"));
    replace(&served, "b.yaml", &rules(&["second"]));
    until_in_force(&served, &["first", "second"]);
    assert_eq!(served.rules_status()["last_error"], Value::Null);
}

#[test]
fn two_hundred_rapid_replacements_end_with_the_last() {
    let served = served();
    let pause = Duration::from_millis(10);
    for number in 0..200 {
        let id = format!("rule-{number}");
        replace(&served, "a.yaml", &rules(&[&id]));
        if number % 20 == 0 {
            let seen = served.ids();
            assert!(
                seen.len() == 1 && (seen[0] == "first" || seen[0].starts_with("rule-")),
                "{seen:?}"
            );
        }
        std::thread::sleep(pause);
    }
    until_in_force(&served, &["rule-199"]);
    assert_eq!(served.rules_status()["last_error"], Value::Null);
    assert!(served.records("policy_rejected").is_empty());
    for change in served.records("policy_change") {
        assert_eq!(change["rules"]["count"], 1, "{change}");
    }
}

#[test]
fn what_others_could_change_is_refused_at_the_start_and_at_a_reload() {
    type Spoil = fn(&Path);
    let cases: [(Spoil, &str); 3] = [
        (
            |directory| {
                std::fs::rename(directory.join("a.yaml"), directory.join("real")).unwrap();
                std::os::unix::fs::symlink("real", directory.join("a.yaml")).unwrap();
            },
            "a.yaml is a symbolic link",
        ),
        (|directory| chmod(directory, 0o777), "next: chmod o-w"),
        (
            |directory| chmod(&directory.join("a.yaml"), 0o666),
            "everybody can write to the rule file",
        ),
    ];
    for (spoil, sentence) in cases {
        let prepare = |directory: &Path| {
            std::fs::write(directory.join("a.yaml"), rules(&["first"])).unwrap();
            spoil(directory);
        };
        let (code, said) = refused_start(prepare);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(sentence), "{said}");
        let served = served();
        spoil(&served.rules(""));
        let message = failure(&served);
        assert!(message.contains(sentence), "{message}");
        assert_eq!(served.ids(), ["first"]);
        let output = served.operator(&["rules", "reload"]);
        assert_eq!(output.status.code(), Some(3));
        assert!(err(&output).contains(sentence), "{}", err(&output));
    }
}

#[test]
fn an_operators_reload_answers_with_the_set_or_with_the_mistakes() {
    let served = served();
    replace(&served, "a.yaml", &rules(&["first", "second"]));
    let reply = served.curl(&["-X", "POST"], "/v1/rules/reload");
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.body["data"]["generation"], 2);
    assert_eq!(reply.body["data"]["digest"], served.rules_status()["digest"]);
    replace(&served, "a.yaml", BROKEN);
    let reply = served.curl(&["-X", "POST"], "/v1/rules/reload");
    assert_eq!((reply.status, &reply.body["success"]), (422, &Value::Bool(false)));
    assert!(reply.body["error"].as_str().unwrap().contains("a.yaml:4:"), "{}", reply.body);
    assert_eq!(reply.body["diagnostics"][0]["line"], 4);
    assert_eq!(served.ids(), ["first", "second"]);
    let asked = served.records("policy_rejected");
    assert!(asked.iter().any(|record| record["by"].as_str().unwrap().starts_with("api uid ")));
}

#[test]
fn outcallctl_tells_the_status_and_reloads() {
    let mut served = served();
    let output = served.operator(&["status"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("rules     1 in force, generation 1"), "{}", out(&output));
    let json: Value = serde_json::from_str(&out(&served.operator(&["status", "--json"]))).unwrap();
    assert_eq!(json["rules"]["count"], 1);
    replace(&served, "a.yaml", &rules(&["first", "second"]));
    let output = served.operator(&["rules", "reload"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).starts_with("2 rules in force, generation 2"), "{}", out(&output));
    replace(&served, "a.yaml", BROKEN);
    let output = served.operator(&["rules", "reload"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(err(&output).contains("a.yaml:4:"), "{}", err(&output));
    let output = served.operator(&["rules", "reload", "--json"]);
    let json: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!((output.status.code(), &json["diagnostics"][0]["line"]), (Some(3), &4.into()));
    let status = served.operator(&["status"]);
    assert!(out(&status).contains("NOT RELOADED since"), "{}", out(&status));
    served.signal("-TERM");
    assert_eq!(served.end(), Some(0));
    assert!(!served.host_socket().exists());
    for words in [["status"].as_slice(), &["rules", "reload"]] {
        let output = served.operator(words);
        assert_eq!(output.status.code(), Some(1));
        assert!(err(&output).contains("no outcalld serves"), "{}", err(&output));
    }
}

#[test]
fn a_second_daemon_on_the_same_sockets_is_refused() {
    let served = served();
    let second = served.second();
    assert_eq!(second.status.code(), Some(1));
    assert!(err(&second).contains("another outcalld owns"), "{}", err(&second));
    assert_eq!(served.ids(), ["first"]);
}

#[test]
fn others_get_no_answer_from_the_host_socket() {
    if !integration::require_root("host socket") {
        return;
    }
    let served = served();
    let socket = served.host_socket().display().to_string();
    // Even where the mode would let them.
    for path in [served.path(), &served.path().join("run"), &served.host_socket()] {
        chmod(path, 0o777);
    }
    let asking = ["curl", "-sS", "--unix-socket", &socket, "http://outcall/v1/status"];
    let mut stranger = std::process::Command::new("setpriv");
    stranger.args(["--reuid", "12345", "--regid", "12345", "--clear-groups"]).args(asking);
    let answer = out(&stranger.output().unwrap());
    assert!(answer.contains("user 12345 may not ask"), "{answer}");
    let output = served.session(&format!("{} || echo refused", asking.join(" ")));
    assert_eq!(out(&output), "refused\n", "{}", err(&output));
    let log = served.records("decision");
    let connect = log.iter().find(|line| line["target"] == format!("unix:{socket}")).unwrap();
    assert_eq!(
        (&connect["rule"], &connect["errno"]),
        (&"builtin:protected".into(), &"EPERM".into())
    );
}

#[test]
fn a_running_program_feels_the_change_and_each_record_names_its_set() {
    let served = served();
    std::fs::write(served.path().join("file"), "content").unwrap();
    let refusing = format!(
        "{}  - id: no\n    condition: \"target.endsWith('/file')\"\n    action: block\n    \
         priority: 1\n    description: no\n",
        rules(&["first"])
    );
    let output = std::thread::scope(|scope| {
        let session = scope.spawn(|| {
            served.session("touch begun; n=0; while cat file && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.1; done; exit 0")
        });
        served.until("it runs", || served.path().join("begun").exists());
        assert_eq!(served.curl(&[], "/v1/status").body["data"]["sessions"], 1);
        replace(&served, "a.yaml", &refusing);
        session.join().unwrap()
    });
    assert!(out(&output).starts_with("content"), "{}", err(&output));
    assert!(!served.records("policy_change").is_empty());
    let decisions = served.records("decision");
    let about = decisions.iter().filter(|line| line["target"].as_str().unwrap().ends_with("/file"));
    for line in about {
        let generation = if line["rule"] == "no" { 2 } else { 1 };
        assert_eq!(line["policy"]["generation"], generation, "{line}");
    }
    assert!(decisions.iter().any(|line| line["rule"] == "no"));
}

#[test]
fn an_embedded_run_watches_its_rules_too() {
    let run = integration::Supervised::allowing_all();
    std::fs::write(run.workspace().join("file"), "content").unwrap();
    let script = "touch begun; n=0; while cat file && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.1; done; exit 0";
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| run.shell(script));
        while !run.workspace().join("begun").exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let text = "version: \"1\"\nrules:\n  - id: allow-most\n    condition: \"!target.endsWith('/file')\"\n    action: allow\n    description: d\n";
        let new = run.outside().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, run.rules_file()).unwrap();
        running.join().unwrap()
    });
    assert!(finished.out().starts_with("content"), "{}", finished.err());
    assert!(finished.err().contains("no rule allows"), "{}", finished.err());
    let changes: Vec<_> = finished.log.iter().filter(|l| l["type"] == "policy_change").collect();
    assert_eq!(changes.len(), 1);
    assert_eq!(finished.log.last().unwrap()["type"], "stop");
}
