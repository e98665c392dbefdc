use super::*;
use crate::attach::session::Identity;
use crate::identity::Process;

fn child() -> (std::process::Child, Process) {
    let child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let process = Process::open(child.id().cast_signed()).unwrap();
    (child, process)
}

fn home(process: Process) -> Home {
    Home::host(Arc::new(process), Identity::default())
}

/// IF-001: `tok-` and 32 hexadecimal digits; checking in again gives the same one.
#[test]
fn a_home_has_one_token() {
    let tokens = Tokens::new(2);
    let (mut child, process) = child();
    let first = tokens.issue(home(process)).unwrap();
    let digits = first.token.strip_prefix("tok-").unwrap();
    assert!(digits.len() == 32 && digits.chars().all(|c| c.is_ascii_hexdigit()));
    let again = home(Process::open(child.id().cast_signed()).unwrap());
    let again = tokens.issue(again).unwrap();
    assert_eq!((again.token, again.is_new), (first.token.clone(), false));
    assert!(tokens.home(&first.token).is_some() && tokens.home("tok-0").is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(tokens.known(&first.home.key).is_none(), "a dead one is not known");
    assert!(tokens.home(&first.token).is_none());
}

/// IF-005: a full table is 503; the dead make room.
#[test]
fn the_table_has_its_size() {
    let tokens = Tokens::new(1);
    let (mut first, process) = child();
    tokens.issue(home(process)).unwrap();
    let (mut second, process) = child();
    assert_eq!(tokens.issue(home(process)).unwrap_err().status, 503);
    first.kill().unwrap();
    first.wait().unwrap();
    let second_home = home(Process::open(second.id().cast_signed()).unwrap());
    assert!(tokens.issue(second_home).is_ok());
    assert_eq!(tokens.len(), 1);
    second.kill().unwrap();
    second.wait().unwrap();
}

/// A token ends with the first process, without anybody asking.
#[tokio::test]
async fn a_token_ends_with_its_process() {
    let tokens = Tokens::new(8);
    let (mut child, process) = child();
    let issued = tokens.issue(home(process)).unwrap();
    let watch = tokio::spawn(forget_at_end(Arc::downgrade(&tokens), issued.home));
    child.kill().unwrap();
    child.wait().unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(10), watch).await.unwrap().unwrap();
    assert_eq!(tokens.len(), 0);
}
