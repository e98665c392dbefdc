use super::*;

fn line(seq: u64, container: &str, rule: Option<&str>, decision: &str) -> Line<DecisionRecord> {
    let body = DecisionRecord {
        container: Some(container.to_owned()),
        rule: rule.map(str::to_owned),
        decision: decision.to_owned(),
        target: "é".repeat(MAX_TEXT),
        mode: "enforce".to_owned(),
        ..DecisionRecord::default()
    };
    Line { v: 1, seq, time: String::new(), kind: "decision".to_owned(), body }
}

/// A container sees its own denials only, the newest first, and not without end.
#[test]
fn denials_are_bounded_and_apart() {
    let denials = Denials::default();
    for seq in 0..200 {
        denials.note(&line(seq, if seq % 2 == 0 { "a" } else { "b" }, None, "block"));
    }
    let own = denials.of(&["a"]);
    assert_eq!((own.len(), own[0].seq, own[63].seq), (MAX_DENIALS, 198, 72));
    assert!(own[0].target.len() <= MAX_TEXT);
    assert!(denials.of(&["c"]).is_empty());
}

#[test]
fn the_longest_silent_container_is_forgotten() {
    let denials = Denials::default();
    for seq in 0..=MAX_OWNERS as u64 {
        denials.note(&line(seq, &seq.to_string(), None, "block"));
    }
    assert!(denials.of(&["0"]).is_empty());
    assert_eq!(denials.of(&["1"]).len(), 1);
}

#[test]
fn asking_helps_where_nobody_has_said_no() {
    let denials = Denials::default();
    denials.note(&line(1, "a", None, "block"));
    denials.note(&line(2, "a", Some("r"), "block"));
    denials.note(&line(3, "a", Some("r"), "ask"));
    let mut observed = line(4, "a", Some("r"), "block");
    observed.body.mode = "observe".to_owned();
    denials.note(&observed);
    let can_help: Vec<bool> = denials.of(&["a"]).iter().map(Denial::asking_can_help).collect();
    assert_eq!(can_help, [true, false, true]);
}
