use tempfile::TempDir;

use super::*;
use crate::judge::rules::Rules;
use crate::record::Recorder;

const OPERATOR: &str = "version: \"1\"\nrules:\n  - id: no\n    condition: \"target == '/secret'\"\n    action: block\n    priority: 500\n";
const WISH: &str = "version: \"1\"\nrules:\n  - id: all\n    condition: \"true\"\n    action: allow\n    priority: 1\n";

struct Office {
    scratch: TempDir,
    requests: Requests,
    rules: Rules,
    recorder: Recorder,
}

impl Office {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("operator.yaml"), OPERATOR).unwrap();
        let requests = Requests::open(&scratch.path().join("state")).unwrap();
        let rules = load(&scratch, &requests);
        let recorder = Recorder::open(&scratch.path().join("log"), None).unwrap();
        Self { scratch, requests, rules, recorder }
    }

    /// As after a crash.
    fn restarted(self) -> Self {
        let Self { scratch, requests, recorder, .. } = self;
        drop((requests, recorder));
        let requests = Requests::open(&scratch.path().join("state")).unwrap();
        requests.repair(&[scratch.path().join("operator.yaml")]).unwrap();
        let rules = load(&scratch, &requests);
        let recorder = Recorder::open(&scratch.path().join("log"), None).unwrap();
        Self { scratch, requests, rules, recorder }
    }

    fn submit(&self, container: &str, text: &str) -> Result<Entry, SubmitError> {
        let identity = Identity { agent: format!("agent-{container}"), ..Identity::default() };
        self.requests.submit(container, &identity, text)
    }

    fn approve(&self, id: &str, widen: bool) -> Result<Approval, DecideError> {
        self.requests.approve(id, widen, 7, &self.rules, &self.recorder)
    }

    fn status(&self, id: &str) -> Status {
        self.requests.find(id).unwrap().unwrap().status
    }

    fn ids(&self) -> Vec<String> {
        self.rules.current().engine.rules().iter().map(|rule| rule.id.clone()).collect()
    }

    fn allows(&self, agent: &str, target: &str) -> bool {
        let mut facts = policy::Facts { target: target.to_owned(), ..policy::Facts::default() };
        agent.clone_into(&mut facts.agent.name);
        self.rules.current().engine.decide(&facts).verdict == policy::Verdict::Allow
    }
}

fn load(scratch: &TempDir, requests: &Requests) -> Rules {
    Rules::load_with(&[scratch.path().join("operator.yaml")], Some(requests.approved())).unwrap()
}

/// IF-003: the same mistakes as in a rule file, with their lines.
#[test]
fn a_file_is_validated_before_it_is_queued() {
    let office = Office::new();
    let refused = |text: &str| office.submit("a", text).unwrap_err().to_string();
    let error = refused(
        "version: \"1\"\nrules:\n  - id: x\n    condition: targt == 'a'\n    action: allow\n",
    );
    assert!(error.starts_with("invalid rule file: line 4: "), "{error}");
    assert!(error.contains("target"), "the nearest right name: {error}");
    assert!(refused("rules: [").starts_with("invalid rule file: line 1: "));
    assert_eq!(
        refused("version: \"1\"\nrules: []\n"),
        "invalid rule file: line 1: the file has no rules"
    );
    assert!(office.requests.list(None).unwrap().is_empty());
}

/// IF-004: nobody sees another container's requests, and they survive a restart.
#[test]
fn requests_are_durable_and_ones_own() {
    let office = Office::new();
    let entry = office.submit("a", WISH).unwrap();
    assert!(entry.id.starts_with("rr-"));
    let office = office.restarted();
    assert_eq!(office.requests.own("a", &entry.id).unwrap(), Some(entry.clone()));
    assert_eq!(office.requests.own("b", &entry.id).unwrap(), None);
    let rejected = office.requests.reject(&entry.id, "no", 7, &office.recorder).unwrap();
    assert_eq!((rejected.status, rejected.reason.as_deref()), (Status::Rejected, Some("no")));
    assert!(matches!(office.approve(&entry.id, false), Err(DecideError::Decided { .. })));
    assert!(matches!(office.approve("rr-0", false), Err(DecideError::Unknown(_))));
}

/// IF-005: a full table is a 503, for one container before all of them.
#[test]
fn requests_are_bounded() {
    let office = Office::new();
    for _ in 0..MAX_WAITING {
        office.submit("a", WISH).unwrap();
    }
    assert!(matches!(office.submit("a", WISH), Err(SubmitError::Full(_))));
    office.submit("b", WISH).unwrap();
    let first = office.requests.list(None).unwrap().pop().unwrap();
    office.requests.reject(&first.id, "no", 7, &office.recorder).unwrap();
    office.submit("a", WISH).unwrap();
}

#[test]
fn an_approved_request_holds_for_its_agent_and_behind_the_operator() {
    let office = Office::new();
    let id = office.submit("a", WISH).unwrap().id;
    let approval = office.approve(&id, false).unwrap();
    assert_eq!(approval.raised, ["all"]);
    let reason = approval.entry.reason.unwrap();
    assert!(reason.starts_with("operator approved at 2"), "{reason}");
    assert!(reason.ends_with("hold where agent.name is 'agent-a'"), "{reason}");
    assert!(office.allows("agent-a", "/x") && !office.allows("agent-b", "/x"));
    assert!(!office.allows("agent-a", "/secret"), "the operator's block comes first");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&approval.file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let office = office.restarted();
    assert!(office.allows("agent-a", "/x"), "approved rules outlive a restart");
    let wide = office.submit("c", WISH).unwrap().id;
    office.approve(&wide, true).unwrap();
    assert!(office.allows("anybody", "/secret"), "the operator widened it");
}

#[test]
fn an_agent_without_a_name_is_known_by_its_container_or_not_at_all() {
    let office = Office::new();
    let identity = Identity { container: "c1".to_owned(), ..Identity::default() };
    let id = office.requests.submit("c1", &identity, WISH).unwrap().id;
    let reason = office.approve(&id, false).unwrap().entry.reason.unwrap();
    assert!(reason.ends_with("container.id is 'c1'"), "{reason}");
    let id = office.requests.submit("host", &Identity::default(), WISH).unwrap().id;
    assert!(matches!(office.approve(&id, false), Err(DecideError::Scopeless(_))));
    assert_eq!(office.status(&id), Status::Pending);
}

#[test]
fn an_approval_that_fails_is_undone() {
    let office = Office::new();
    let id = office.submit("a", WISH).unwrap().id;
    let before = office.ids();
    std::fs::write(office.scratch.path().join("operator.yaml"), "broken").unwrap();
    assert!(matches!(office.approve(&id, false), Err(DecideError::Reload(_))));
    let entry = office.requests.find(&id).unwrap().unwrap();
    assert_eq!(entry.status, Status::Pending);
    assert!(entry.error.unwrap().contains("operator.yaml"));
    assert_eq!(std::fs::read_dir(office.requests.approved()).unwrap().count(), 0);
    assert_eq!(office.ids(), before);
    std::fs::write(office.scratch.path().join("operator.yaml"), OPERATOR).unwrap();
    office.approve(&id, false).unwrap();
}

/// Each point at which a crash can leave an approval.
#[test]
fn a_crash_in_an_approval_is_repaired() {
    let office = Office::new();
    let [early, half, done, broken] = [0; 4].map(|_| office.submit("a", WISH).unwrap().id);
    let begin = |id: &str| {
        let text = confined(&office.requests.find(id).unwrap().unwrap(), false).unwrap().text;
        let digest = {
            use sha2::{Digest, Sha256};
            Sha256::digest(text.as_bytes())
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        office.requests.store().begin(id, &digest, false, 7).unwrap();
        text
    };
    begin(&early);
    let text = begin(&half);
    std::fs::write(office.requests.approved().join(format!(".{half}.half")), &text[..9]).unwrap();
    let text = begin(&done);
    office.requests.approved.write(&done, &text).unwrap();
    begin(&broken);
    std::fs::write(office.requests.approved.path(&broken), "torn").unwrap();
    let office = office.restarted();
    assert_eq!(office.status(&early), Status::Pending);
    assert_eq!(office.status(&half), Status::Pending);
    assert_eq!(office.status(&broken), Status::Pending);
    let status = office.status(&done);
    let in_force = office.ids().iter().filter(|id| id.starts_with(&done)).count();
    assert_eq!((status, in_force), (Status::Approved, 1));
    assert_eq!(std::fs::read_dir(office.requests.approved()).unwrap().count(), 1);
}

#[test]
fn one_daemon_owns_the_state() {
    let office = Office::new();
    let second = Requests::open(&office.scratch.path().join("state"));
    assert!(matches!(second, Err(RequestsError::InUse { .. })));
}
