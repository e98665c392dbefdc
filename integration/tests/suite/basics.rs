//! The main job, in small.

use integration::Supervised;

#[test]
fn a_program_runs_and_its_code_comes_back() {
    let run = Supervised::allowing_all();
    assert_eq!(run.shell("exit 7").code, Some(7));
    assert_eq!(run.shell("kill -9 $$").code, Some(128 + 9));
}

#[test]
fn every_answer_is_a_record_and_no_allow_is_racy() {
    let run = Supervised::allowing_all();
    let finished = run.shell("cat /etc/hostname; echo x > y; rm y");
    finished.succeeded();
    let decisions = finished.log.iter().filter(|line| line["type"] == "decision");
    assert!(decisions.clone().count() > 5);
    assert!(decisions.clone().all(|line| line["answer"] != "racy"));
    let numbers: Vec<u64> = finished.log.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_quiet_rule_refuses_on_record_and_not_on_the_screen() {
    let rules = "version: \"1\"\nrules:\n  \
        - { id: quiet, condition: \"target.endsWith('/quiet')\", action: block, log: false }\n  \
        - { id: loud, condition: \"target.endsWith('/loud')\", action: block }\n  \
        - { id: rest, condition: \"true\", action: allow, priority: 200 }\n";
    let run = Supervised::by_rules(rules);
    for name in ["quiet", "loud"] {
        std::fs::write(run.workspace().join(name), name).unwrap();
    }
    let finished = run.shell("cat quiet; cat loud; exit 0");
    let refused = |name: &str| {
        let records = finished.about(name);
        records.iter().any(|r| r["decision"] == "block" && r["errno"] == "EPERM")
    };
    assert!(refused("/quiet") && refused("/loud"), "{:?}", finished.log);
    assert!(finished.about("/quiet").iter().all(|record| record["quiet"] == true));
    let screen = finished.err();
    assert!(screen.contains("rule loud") && !screen.contains("rule quiet"), "{screen}");
}
