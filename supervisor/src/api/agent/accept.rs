//! Accepting: who it is, and whether there is a place.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{UnixListener, UnixStream};

use super::connection::serve;
use super::door::Door;
use super::routes::router;
use crate::identity::Peer;

/// Said to whoever finds no place.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
    Content-Length: 48\r\nConnection: close\r\n\r\n{\"success\":false,\"error\":\"too many connections\"}";

/// Serves whoever connects to the socket with a name, until it is dropped.
pub(crate) async fn listen(listener: UnixListener, door: Arc<Door>) {
    let router = router(door.clone());
    loop {
        let Some(stream) = accept(&listener).await else { continue };
        match Peer::of(&stream) {
            // Connected on behalf, but not by the way that tells who it is: an alias of our socket.
            Ok(peer) if peer.pid == std::process::id().cast_signed() => {
                tracing::debug!("a supervised program came by another way");
            }
            Ok(peer) => admit(stream, peer, &door, &router),
            Err(errno) => tracing::debug!(%errno, "a peer that is gone, or cannot be seen"),
        }
    }
}

/// Serves supervised programs, who were connected by us.
pub(crate) async fn receive(listener: UnixListener, door: Arc<Door>) {
    let router = router(door.clone());
    loop {
        let Some(stream) = accept(&listener).await else { continue };
        match door.arrived() {
            Some(peer) => admit(stream, peer, &door, &router),
            None => tracing::error!("a connection that nobody made"),
        }
    }
}

/// Serves the one shim that was given its connection.
pub(crate) async fn serve_shim(stream: UnixStream, door: Arc<Door>, peer: Peer) {
    if let Some(place) = door.place(&peer) {
        let router = router(door.clone());
        serve(stream, door, peer, router, place).await;
    }
}

async fn accept(listener: &UnixListener) -> Option<UnixStream> {
    match listener.accept().await {
        Ok((stream, _)) => Some(stream),
        Err(error) => {
            tracing::warn!(%error, "cannot accept");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

fn admit(stream: UnixStream, peer: Peer, door: &Arc<Door>, router: &Router) {
    let Some(place) = door.place(&peer) else {
        tracing::debug!(pid = peer.pid, "too many connections");
        // It fits into an empty buffer, and is not worth waiting for otherwise.
        let _ = stream.into_std().and_then(|mut stream| stream.write_all(FULL));
        return;
    };
    tracing::debug!(pid = peer.pid, uid = peer.uid, "connected");
    tokio::spawn(serve(stream, door.clone(), peer, router.clone(), place));
}
