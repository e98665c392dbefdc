use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;

struct Place {
    scratch: TempDir,
    rules: Rules,
    recorder: Recorder,
}

fn text(ids: &[&str]) -> String {
    let rule = |id: &&str| {
        format!("  - id: {id}\n    condition: \"true\"\n    action: allow\n    description: d\n")
    };
    let rules: String = ids.iter().map(rule).collect();
    format!("version: \"1\"\nrules:\n{rules}")
}

impl Place {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("a.yaml"), text(&["one"])).unwrap();
        let rules = Rules::load(&[scratch.path().join("a.yaml")]).unwrap();
        let recorder = Recorder::open(&scratch.path().join("log"), None).unwrap();
        Self { scratch, rules, recorder }
    }

    fn file(&self) -> PathBuf {
        self.scratch.path().join("a.yaml")
    }

    fn reload(&self, trigger: Trigger) -> Result<u64, ReloadError> {
        self.rules.reload(trigger, &self.recorder).map(|set| set.generation)
    }

    fn records(&self) -> Vec<Value> {
        let files = crate::record::reader::segments(&self.scratch.path().join("log")).unwrap();
        let read = |file: &PathBuf| std::fs::read_to_string(file).unwrap();
        let all: String = files.iter().map(read).collect();
        all.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn a_change_is_recorded_and_the_same_text_is_none() {
    let place = Place::new();
    assert_eq!(place.reload(Trigger::Watch).unwrap(), 1);
    assert!(place.records().is_empty());
    std::fs::write(place.file(), text(&["one", "two"])).unwrap();
    assert_eq!(place.reload(Trigger::Operator { uid: 7 }).unwrap(), 2);
    let records = place.records();
    assert_eq!(records.len(), 1);
    let change = &records[0];
    assert_eq!((&change["type"], &change["by"]), (&json!("policy_change"), &json!("api uid 7")));
    assert_eq!(change["generation"], 2);
    assert_eq!(change["digest"], place.rules.current().engine.digest());
    assert_eq!(change["rules"]["count"], 2);
    assert_eq!(change["added"]["ids"], json!(["two"]));
}

#[test]
fn a_mistake_is_kept_told_once_and_forgotten_when_it_is_gone() {
    let place = Place::new();
    std::fs::write(place.file(), "version: \"1\"\nrules: [ broken").unwrap();
    assert!(place.reload(Trigger::Watch).is_err());
    assert!(place.reload(Trigger::Watch).is_err());
    let failure = place.rules.last().failure.unwrap();
    assert!(failure.message.contains("a.yaml:2:"), "{}", failure.message);
    assert_eq!(place.records().len(), 1);
    assert_eq!(place.records()[0]["type"], "policy_rejected");
    assert!(place.reload(Trigger::Hangup).is_err());
    assert_eq!(place.records().len(), 2, "whoever asks is on record");
    assert_eq!(place.rules.last().failure.unwrap().since, failure.since);
    assert_eq!(place.rules.current().generation, 1);
    std::fs::write(place.file(), text(&["one"])).unwrap();
    assert_eq!(place.reload(Trigger::Watch).unwrap(), 1, "the same set as before");
    assert!(place.rules.last().failure.is_none());
}

#[test]
fn a_change_that_cannot_be_recorded_does_not_happen() {
    let mut place = Place::new();
    let digest = place.rules.current().engine.digest().to_owned();
    std::fs::write(place.file(), text(&["other"])).unwrap();
    let full = place.scratch.path().join("full");
    std::fs::create_dir(&full).unwrap();
    let day = Timestamp::now().strftime("decisions-%Y-%m-%d.jsonl").to_string();
    std::os::unix::fs::symlink("/dev/full", full.join(day)).unwrap();
    place.recorder = Recorder::open(&full, None).unwrap();
    let error = place.reload(Trigger::Watch).unwrap_err();
    assert!(matches!(error, ReloadError::Log(_)), "{error}");
    assert_eq!(place.rules.current().engine.digest(), digest);
    assert!(place.rules.last().failure.is_some());
}

#[test]
fn places_follow_a_link_that_leads_elsewhere() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    for name in ["first", "second"] {
        std::fs::create_dir(at(name)).unwrap();
        std::fs::write(at(name).join("a.yaml"), text(&["one"])).unwrap();
    }
    std::os::unix::fs::symlink("first", at("rules")).unwrap();
    let rules = Rules::load(&[at("rules")]).unwrap();
    let recorder = Recorder::open(&at("log"), None).unwrap();
    let protects = |path: &Path| rules.current().places.contains(&path.canonicalize().unwrap());
    assert!(protects(&at("first")) && !protects(&at("second")));
    std::fs::remove_file(at("rules")).unwrap();
    std::os::unix::fs::symlink("second", at("rules")).unwrap();
    assert_eq!(rules.reload(Trigger::Watch, &recorder).unwrap().generation, 1);
    assert!(protects(&at("second")));
}

#[test]
fn a_long_message_is_cut_at_a_character() {
    let cut = bounded("é".repeat(MAX_MESSAGE_BYTES));
    assert!(cut.ends_with("… and more") && cut.len() < MAX_MESSAGE_BYTES + 20);
}
