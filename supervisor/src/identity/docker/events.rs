//! Docker's events: a container that ends takes its token along.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptions;
use futures_util::StreamExt;

use super::Docker;
use crate::identity::tokens::Tokens;

/// What ends a token.
const ENDS: [&str; 4] = ["die", "oom", "kill", "destroy"];
/// How long to wait before asking Docker again.
const PAUSE: Duration = Duration::from_secs(5);

/// Forgets containers as Docker tells of their end, for as long as there are tokens. What is missed
/// between two streams is noticed by the end of the container's first process.
pub(crate) async fn follow(docker: Arc<Docker>, tokens: Weak<Tokens>) {
    while tokens.strong_count() > 0 {
        if docker.socket.exists()
            && let Err(error) = follow_once(&docker, &tokens).await
        {
            tracing::debug!(%error, "no events from Docker");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow_once(docker: &Docker, tokens: &Weak<Tokens>) -> Result<(), bollard::errors::Error> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let filters = HashMap::from([
        ("type".to_owned(), words(&["container"])),
        ("event".to_owned(), words(&ENDS)),
    ]);
    let options = EventsOptions { filters: Some(filters), ..EventsOptions::default() };
    let mut events = std::pin::pin!(docker.client().await?.events(Some(options)));
    while let Some(event) = events.next().await {
        let (Some(id), Some(tokens)) = (ended(event?), tokens.upgrade()) else { continue };
        tracing::debug!(container = id, "ended, says Docker");
        tokens.forget(&id);
    }
    Ok(())
}

/// The container that an event ends.
fn ended(event: EventMessage) -> Option<String> {
    let action = event.action.filter(|action| ENDS.contains(&action.as_str()));
    action.and_then(|_| event.actor?.id)
}
