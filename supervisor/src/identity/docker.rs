//! Third provider: Docker. The control group names a container, Docker says what it is, and its first
//! process says which groups are really its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::models::ContainerInspectResponse;
use tokio::sync::OnceCell;

use super::home::Home;
use super::process::Process;
use crate::api::Refusal;
use crate::attach::session::Identity;

pub(crate) mod events;

/// How long Docker may take for one answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The label that puts a container in our care.
const MANAGED: &str = "outcall.managed";
/// The label that names the agent inside.
const AGENT: &str = "outcall.agent";

/// The Docker of this host, and which of its containers count.
#[derive(Debug)]
pub(crate) struct Docker {
    socket: PathBuf,
    /// Containers, by id or name, that count without the label.
    attached: Vec<String>,
    client: OnceCell<bollard::Docker>,
}

impl Docker {
    pub(crate) fn new(socket: &Path, attached: Vec<String>) -> Self {
        Self { socket: socket.to_owned(), attached, client: OnceCell::new() }
    }

    /// The container with this id, if it is one of ours.
    pub(super) async fn find(&self, id: &str) -> Result<Option<Home>, Refusal> {
        if !self.socket.exists() {
            return Ok(None);
        }
        let looking = async { self.client().await?.inspect_container(id, None).await };
        let found = tokio::time::timeout(PATIENCE, looking).await;
        let found = found.map_err(|_| unanswered("it does not answer"))?;
        match found {
            Ok(found) => Ok(self.home(id, found)),
            Err(bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }) => {
                Ok(None)
            }
            Err(error) => Err(unanswered(&error.to_string())),
        }
    }

    async fn client(&self) -> Result<&bollard::Docker, bollard::errors::Error> {
        let connect = || async {
            let path = self.socket.to_string_lossy();
            let version = bollard::API_DEFAULT_VERSION;
            let docker = bollard::Docker::connect_with_unix(&path, PATIENCE.as_secs(), version)?;
            docker.negotiate_version().await
        };
        self.client.get_or_try_init(connect).await
    }

    fn home(&self, id: &str, found: ContainerInspectResponse) -> Option<Home> {
        let first = found.state.as_ref().and_then(|state| state.pid);
        let first = first.and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 1)?;
        let identity = identity(id, found);
        let attached =
            |name: &String| *name == identity.container || *name == identity.container_name;
        let managed = identity.labels.get(MANAGED).is_some_and(|value| value == "true");
        if !managed && !self.attached.iter().any(attached) {
            return None;
        }
        Home::container(identity, Process::open(first).ok()?)
    }
}

/// What Docker says, as rules are told it.
fn identity(id: &str, found: ContainerInspectResponse) -> Identity {
    let config = found.config.unwrap_or_default();
    let labels: std::collections::BTreeMap<String, String> =
        config.labels.unwrap_or_default().into_iter().collect();
    let name = found.name.unwrap_or_default().trim_start_matches('/').to_owned();
    let agent = labels.get(AGENT).filter(|agent| !agent.is_empty()).unwrap_or(&name).clone();
    Identity {
        agent,
        container: id.to_owned(),
        container_name: name,
        image: config.image.unwrap_or_default(),
        labels,
        workspace: "/workspace".to_owned(),
        ..Identity::default()
    }
}

/// Who asks cannot be told for now. The cause is for the host's log alone.
fn unanswered(cause: &str) -> Refusal {
    tracing::warn!(cause, "Docker cannot tell who asks");
    Refusal::new(503, "the container cannot be identified for now; try again")
}

#[cfg(test)]
#[path = "tests/docker.rs"]
mod tests;
