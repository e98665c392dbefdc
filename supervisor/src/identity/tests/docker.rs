//! Against a stand-in for dockerd: an HTTP server on a scratch socket that knows `/version`,
//! `/containers/ID/json` and `/events`. It shows what we ask and how answers are read, not what a
//! real dockerd says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use super::*;
use crate::identity::Peer;
use crate::identity::registry::{Registry, Sources};

/// What the stand-in was asked, and the container that it knows.
struct Fake {
    directory: tempfile::TempDir,
    inspected: AtomicUsize,
    answer: Mutex<String>,
    events: tokio::sync::broadcast::Sender<String>,
}

impl Fake {
    fn start(answer: serde_json::Value) -> Arc<Self> {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("docker.sock")).unwrap();
        let (inspected, answer) = (AtomicUsize::new(0), Mutex::new(answer.to_string()));
        let events = tokio::sync::broadcast::Sender::new(8);
        let fake = Arc::new(Self { directory, inspected, answer, events });
        let served = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().serve(stream));
            }
        });
        fake
    }

    fn docker(&self, attached: &[&str]) -> Docker {
        let attached = attached.iter().map(|name| (*name).to_owned()).collect();
        Docker::new(&self.directory.path().join("docker.sock"), attached)
    }

    async fn serve(self: Arc<Self>, mut stream: UnixStream) {
        let mut head = vec![0; 8192];
        let length = stream.read(&mut head).await.unwrap();
        let head = String::from_utf8_lossy(&head[..length]).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default();
        if path.contains("/events") {
            let mut events = self.events.subscribe();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            while let Ok(event) = events.recv().await {
                let chunk = format!("{:x}\r\n{event}\n\r\n", event.len() + 1);
                stream.write_all(chunk.as_bytes()).await.unwrap();
            }
            return;
        }
        let (status, body) = if path.contains("/version") {
            (200, json!({ "ApiVersion": "1.44" }).to_string())
        } else if path.ends_with(&format!("/containers/{ID}/json")) {
            self.inspected.fetch_add(1, Ordering::Relaxed);
            (200, self.answer.lock().unwrap().clone())
        } else {
            (404, json!({ "message": "no such container" }).to_string())
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all((head + &body).as_bytes()).await;
    }
}

const ID: &str = "abababababababababababababababababababababababababababababababab";

fn answer(pid: i32, labels: &serde_json::Value) -> serde_json::Value {
    json!({
        "Id": ID,
        "Name": "/coder-1",
        "State": { "Running": true, "Pid": pid },
        "Config": { "Image": "coder:2", "Labels": labels },
    })
}

fn child() -> std::process::Child {
    std::process::Command::new("sleep").arg("60").spawn().unwrap()
}

fn end(mut child: std::process::Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// IF-001: a container counts with its label, or when it was attached; others do not exist.
#[tokio::test]
async fn only_containers_in_our_care_count() {
    let init = child();
    let pid = init.id().cast_signed();
    let fake = Fake::start(answer(pid, &json!({ "x": "y" })));
    assert!(fake.docker(&[]).find(ID).await.unwrap().is_none());
    assert!(fake.docker(&["other"]).find(ID).await.unwrap().is_none());
    for attached in ["coder-1", ID] {
        assert!(fake.docker(&[attached]).find(ID).await.unwrap().is_some(), "{attached}");
    }
    let labels = json!({ "outcall.managed": "true", "outcall.agent": "reviewer", "team": "a" });
    *fake.answer.lock().unwrap() = answer(pid, &labels).to_string();
    let home = fake.docker(&[]).find(ID).await.unwrap().unwrap();
    assert_eq!(home.key, ID);
    assert_eq!(home.identity.agent, "reviewer");
    assert_eq!(home.identity.container_name, "coder-1");
    assert_eq!(home.identity.image, "coder:2");
    assert_eq!(home.identity.labels["team"], "a");
    assert_eq!(home.identity.workspace, "/workspace");
    let labels = json!({ "outcall.managed": "yes" });
    *fake.answer.lock().unwrap() = answer(pid, &labels).to_string();
    assert!(fake.docker(&[]).find(ID).await.unwrap().is_none(), "the label says true, or nothing");
    let labels = json!({ "outcall.managed": "true" });
    *fake.answer.lock().unwrap() = answer(0, &labels).to_string();
    assert!(fake.docker(&[]).find(ID).await.unwrap().is_none(), "it does not run");
    assert!(fake.docker(&[]).find("00").await.unwrap().is_none());
    end(init);
}

/// An agent without a label is called what its container is called.
#[tokio::test]
async fn an_agent_has_its_containers_name() {
    let init = child();
    let labels = json!({ "outcall.managed": "true" });
    let fake = Fake::start(answer(init.id().cast_signed(), &labels));
    let home = fake.docker(&[]).find(ID).await.unwrap().unwrap();
    assert_eq!(home.identity.agent, "coder-1");
    end(init);
}

#[tokio::test]
async fn a_docker_that_is_not_there_knows_nobody_and_a_broken_one_is_503() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("docker.sock");
    let docker = Docker::new(&socket, Vec::new());
    assert!(docker.find(ID).await.unwrap().is_none());
    let listener = UnixListener::bind(&socket).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"nonsense").await;
        }
    });
    let refusal = docker.find(ID).await.unwrap_err();
    assert_eq!(refusal.status, 503);
    assert!(!refusal.message.contains("ocker"), "agents learn nothing: {}", refusal.message);
}

/// Tokens are dropped when Docker says that the container ended.
#[tokio::test]
async fn a_token_ends_with_the_event() {
    let init = child();
    let labels = json!({ "outcall.managed": "true" });
    let fake = Fake::start(answer(init.id().cast_signed(), &labels));
    let docker = Arc::new(fake.docker(&[]));
    let sources = Sources { docker: Some(docker.clone()), ..Sources::default() };
    let registry = Registry::new(sources);
    let tokens = registry.tokens.clone();
    let follow = tokio::spawn(events::follow(docker.clone(), Arc::downgrade(&tokens)));
    for action in ["die", "oom", "kill", "destroy"] {
        let home = docker.find(ID).await.unwrap().unwrap();
        let token = tokens.issue(home).unwrap().token;
        let peer = Peer::started(Process::open(init.id().cast_signed()).unwrap(), 0);
        assert!(tokens.home(&token).is_some_and(|home| home.holds(&peer)));
        let event = json!({ "Type": "container", "Action": action, "Actor": { "ID": ID } });
        let mut waited = 0;
        while tokens.home(&token).is_some() {
            // Until somebody listens, it is said to nobody.
            let _ = fake.events.send(event.to_string());
            tokio::time::sleep(Duration::from_millis(20)).await;
            waited += 1;
            assert!(waited < 500, "{action}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    follow.abort();
    end(init);
}

/// A control group of this name below another, with nothing but the processes that are put there.
struct Group(std::path::PathBuf);

impl Group {
    /// `None` where groups cannot be made.
    fn make(parent: &str, name: &str) -> Option<Self> {
        let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(std::path::Path::new);
        let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists())?;
        let path = root.join(parent).join(name);
        std::fs::create_dir_all(&path).ok()?;
        Some(Self(path))
    }

    fn put(&self, child: &std::process::Child) {
        std::fs::write(self.0.join("cgroup.procs"), child.id().to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
        let _ = self.0.parent().map(std::fs::remove_dir);
    }
}

/// IF-001: every process in the container's groups is the container's, by one look-up; a group of the
/// same name elsewhere is nobody's.
#[tokio::test]
async fn a_container_is_its_groups_and_not_their_name() {
    let test = std::process::id();
    let (inside, elsewhere) = (format!("outcall-test-{test}"), format!("outcall-test-{test}-x"));
    let (Some(inside), Some(elsewhere)) = (Group::make(&inside, ID), Group::make(&elsewhere, ID))
    else {
        return eprintln!("NOT RUN: control groups cannot be made here");
    };
    let (init, other, stranger) = (child(), child(), child());
    inside.put(&init);
    inside.put(&other);
    elsewhere.put(&stranger);
    let labels = json!({ "outcall.managed": "true" });
    let fake = Fake::start(answer(init.id().cast_signed(), &labels));
    let docker = Some(Arc::new(fake.docker(&[])));
    let registry = Registry::new(Sources { docker, ..Sources::default() });
    let peer = |child: &std::process::Child| {
        Peer::started(Process::open(child.id().cast_signed()).unwrap(), 0)
    };
    let (token, home) = registry.home_of(&peer(&other)).await.unwrap();
    assert_eq!(home.key, ID);
    assert_eq!(registry.home_of(&peer(&init)).await.unwrap().0, token);
    assert_eq!(fake.inspected.load(Ordering::Relaxed), 1, "the answer is kept");
    let refusal = registry.home_of(&peer(&stranger)).await.unwrap_err();
    let pid = stranger.id();
    let expected =
        format!("check-in rejected: peer PID {pid} does not belong to a known container");
    assert_eq!((refusal.status, refusal.message), (403, expected));
    assert!(!home.holds(&peer(&stranger)) && home.holds(&peer(&other)));
    let left = peer(&other);
    end(init);
    assert!(!home.holds(&left), "without its first process it is no container any more");
    let refusal = registry.home_of(&left).await.unwrap_err();
    assert_eq!(refusal.status, 403);
    end(other);
    end(stranger);
}

/// IF-005: more look-ups at once than there may be are 503.
#[tokio::test]
async fn look_ups_have_their_places() {
    let registry = Registry::new(Sources { lookups: 0, ..Sources::default() });
    let own = Process::open(std::process::id().cast_signed()).unwrap();
    let refusal = registry.home_of(&Peer::started(own, 0)).await.unwrap_err();
    assert_eq!(refusal.status, 503);
}
