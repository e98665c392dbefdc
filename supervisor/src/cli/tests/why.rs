use super::*;

fn record(seq: u64, session: &str, tgid: i32, exec_id: u64, parent: Option<u64>) -> Denial {
    let body = DecisionRecord {
        session: session.to_owned(),
        tgid,
        exec_id,
        parent_exec_id: parent,
        decision: "block".to_owned(),
        exe: "/bin/cat".to_owned(),
        action_type: "file_access".to_owned(),
        target: "/it's".to_owned(),
        ..DecisionRecord::default()
    };
    Line {
        v: 1,
        seq,
        time: "2026-01-02T03:04:05.678901Z".to_owned(),
        kind: "decision".to_owned(),
        body,
    }
}

#[test]
fn a_tree_is_followed_through_programs_that_have_ended() {
    let denials = vec![
        record(1, "old", 10, 1, None),
        record(5, "s", 12, 3, Some(2)),
        record(6, "s", 13, 4, Some(3)),
        record(7, "s", 20, 9, Some(8)),
    ];
    let decisions = [record(3, "s", 10, 1, None), record(4, "s", 11, 2, Some(1))];
    let found = of_tree(denials.clone(), &decisions, 10);
    assert_eq!(found.iter().map(|denial| denial.seq).collect::<Vec<_>>(), [5, 6]);
    assert!(of_tree(denials, &decisions, 99).is_empty());
}

#[test]
fn a_container_is_named_by_its_beginning_and_a_session_by_its_id() {
    let mut denial = record(1, "s-1", 1, 1, None);
    denial.body.container = Some("abcdef".to_owned());
    assert!(is_of(&denial, "abcd") && is_of(&denial, "s-1"));
    assert!(!is_of(&denial, "abc") && !is_of(&denial, "s"));
}

#[test]
fn the_next_command_can_be_pasted() {
    let source = Source::Daemon { socket: PathBuf::new(), rules: vec!["/etc/my rules".to_owned()] };
    let mut denial = record(9, "s", 1, 1, None);
    assert_eq!(
        source.next_command(&denial),
        "outcallctl rules explain --action file_access --target '/it'\\''s' --rules '/etc/my rules'"
    );
    denial.body.rule = Some("no-keys".to_owned());
    assert_eq!(
        source.next_command(&denial),
        "outcallctl rules explain no-keys --rules '/etc/my rules'"
    );
    denial.body.rule = Some("builtin:protected".to_owned());
    assert_eq!(source.next_command(&denial), "outcallctl tail --json --seq 9");
    let shown = sentences(&denial, "x");
    assert!(shown.contains("9 2026-01-02T03:04:05 cat[1] was refused to read /it's"), "{shown}");
}
