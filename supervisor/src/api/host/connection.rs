//! Connections: HTTP/1.1 over a Unix stream, a bounded number at a time.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::response::IntoResponse;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tower::ServiceExt;

use super::peers::admit;
use super::routes::{Office, router};

/// Connections at once; the next one waits.
const MAX_CONNECTIONS: usize = 64;
/// How long a peer may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves whoever connects, until it is dropped.
pub(crate) async fn listen(listener: UnixListener, office: Arc<Office>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = serve(stream, office.clone());
                tokio::spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept on the host socket");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(stream: UnixStream, office: Arc<Office>) {
    let admitted = admit(&stream, &office);
    let connections = &office.connections;
    match &admitted {
        Ok(_) => connections.accepted.fetch_add(1, Ordering::Relaxed),
        Err(refusal) => {
            tracing::warn!(why = refusal.message, "a peer of the host socket was refused");
            connections.refused.fetch_add(1, Ordering::Relaxed)
        }
    };
    let _open = Open::new(office.clone());
    let router = admitted.map(|peer| router(office).layer(axum::Extension(peer)));
    let service = hyper::service::service_fn(move |request: hyper::Request<_>| {
        let router = router.clone();
        async move {
            match router {
                Ok(router) => router.oneshot(request.map(axum::body::Body::new)).await,
                Err(refusal) => Ok::<_, Infallible>(refusal.into_response()),
            }
        }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    server.max_buf_size(64 * 1024).half_close(false);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection to the host socket ended");
    }
}

/// A connection that is counted while it is open.
struct Open(Arc<Office>);

impl Open {
    fn new(office: Arc<Office>) -> Self {
        office.connections.open.fetch_add(1, Ordering::Relaxed);
        Self(office)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.open.fetch_sub(1, Ordering::Relaxed);
    }
}
