use super::*;
use axum::response::IntoResponse;

fn door(directory: &Path, limits: Limits) -> Door {
    let rules = Arc::new(Rules::load(&[]).unwrap());
    let recorder = Arc::new(Recorder::open(&directory.join("log"), None).unwrap());
    let profile = crate::daemon::load_profile("default").unwrap();
    let door = Door::new(rules, recorder, profile, Mode::Enforce, &[], None);
    door.with(limits, Sources { host_sessions: true, ..Sources::default() })
}

fn own() -> Peer {
    let process = crate::identity::Process::open(std::process::id().cast_signed());
    Peer::started(process.unwrap(), nix::unistd::geteuid().as_raw())
}

/// IF-002, IF-003: 429 tells when to come back, in whole seconds, at least one.
#[tokio::test]
async fn checks_and_submissions_have_their_rates() {
    let scratch = tempfile::tempdir().unwrap();
    let limits = Limits { checks: 2, check_seconds: 10, submissions: 1, ..Limits::default() };
    let door = door(scratch.path(), limits);
    let token = door.check_in(own()).await.unwrap().token;
    let asker = door.authorise(own(), Some(&token)).unwrap();
    assert_eq!(asker.identity.agent, "host");
    assert_eq!((door.admit_check(&asker), door.admit_check(&asker)), (Ok(()), Ok(())));
    let refusal = door.admit_check(&asker).unwrap_err();
    assert_eq!((refusal.status, refusal.retry_after), (429, Some(10)));
    let response = refusal.into_response();
    assert_eq!(response.headers()["retry-after"], "10");
    assert_eq!(door.admit_submission(&asker), Ok(()));
    assert_eq!(door.admit_submission(&asker).unwrap_err().retry_after, Some(60));
    let other = Asker { container: "other".to_owned(), ..asker };
    assert_eq!(door.admit_check(&other), Ok(()), "each container by itself");
}

/// An evaluation over its time is none, and keeps its place until it is done; no place is 503.
#[tokio::test]
async fn evaluations_have_their_time_and_places() {
    let scratch = tempfile::tempdir().unwrap();
    let limits = Limits { evaluation_seconds: 1, slow_evaluations: 1, ..Limits::default() };
    let door = door(scratch.path(), limits);
    assert_eq!(door.evaluate(|| 7).await, Ok(Some(7)));
    let (end, ended) = std::sync::mpsc::channel::<()>();
    assert_eq!(door.evaluate(move || ended.recv().is_ok()).await, Ok(None));
    assert_eq!(door.evaluate(|| 7).await.unwrap_err().status, 503);
    drop(end);
    while door.evaluate(|| 7).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// IF-001: no token, and one that nobody has, are 401.
#[tokio::test]
async fn a_token_must_be_known() {
    let scratch = tempfile::tempdir().unwrap();
    let door = door(scratch.path(), Limits::default());
    for token in [None, Some("tok-00000000000000000000000000000000"), Some("")] {
        let refusal = door.authorise(own(), token).unwrap_err();
        assert_eq!(refusal, Refusal::new(401, "invalid or missing session token"));
    }
    let number_only = Peer::seen(std::process::id().cast_signed(), 0);
    let token = door.check_in(own()).await.unwrap().token;
    assert_eq!(door.authorise(number_only.clone(), Some(&token)).unwrap_err().status, 403);
    assert_eq!(door.check_in(number_only).await.unwrap_err().status, 403);
    door.drain();
    assert_eq!(door.check_in(own()).await.unwrap_err().status, 503);
}
