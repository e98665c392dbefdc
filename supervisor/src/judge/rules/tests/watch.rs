use notify::event::{CreateKind, EventAttributes, Flag, ModifyKind};

use super::*;

fn event(kind: EventKind, path: &str) -> Event {
    Event { kind, paths: vec![path.into()], attrs: EventAttributes::default() }
}

#[test]
fn only_what_touches_rules_counts() {
    let paths = [PathBuf::from("/etc/outcall/rules"), PathBuf::from("/srv/own.yaml")];
    let changes = |path: &str| concerns(&paths, &event(EventKind::Modify(ModifyKind::Any), path));
    for path in ["/etc/outcall/rules", "/etc/outcall/rules/a.yaml", "/etc/outcall", "/srv/own.yaml"]
    {
        assert!(changes(path), "{path}");
    }
    for path in ["/etc/outcall/rules/a.yaml~", "/etc/outcall/rules/.a.yaml.swp", "/srv/x.yaml"] {
        assert!(!changes(path), "{path}");
    }
    let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
    assert!(!concerns(&paths, &event(open, "/srv/own.yaml")), "our own reading");
    let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
    assert!(concerns(&paths, &event(closed, "/srv/own.yaml")));
    let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
    assert!(concerns(&paths, &lost), "events were lost");
    assert!(!concerns(&paths, &event(EventKind::Create(CreateKind::Any), "/etc/other")));
}
