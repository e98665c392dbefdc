//! One connection: HTTP/1.1 over a Unix stream whose descriptors are kept for the handler.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::UnixStream;
use tower::ServiceExt;

use super::body::BodyLimits;
use super::door::{Door, Peer};
use super::places::Place;
use super::pulse::Pulse;
use crate::sys::socket::receive_with_descriptors;

/// Descriptors that arrived on a connection and were not taken yet; more than a few are dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals(Arc<Mutex<Vec<OwnedFd>>>);

impl Arrivals {
    const MAX: usize = 4;

    pub(super) fn take(&self) -> Option<OwnedFd> {
        let mut arrived = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if arrived.is_empty() { None } else { Some(arrived.remove(0)) }
    }

    fn keep(&self, descriptors: Vec<OwnedFd>) {
        let mut arrived = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        arrived.extend(descriptors);
        arrived.truncate(Self::MAX);
    }
}

/// Serves one connection until it ends, or until it has stalled.
pub(super) async fn serve(
    stream: UnixStream,
    door: Arc<Door>,
    peer: Peer,
    router: axum::Router,
    place: Place,
) {
    // Connecting takes time as asking does; who connects without end soon finds no place.
    door.wait_for_turn(&place).await;
    let (arrivals, pulse) = (Arrivals::default(), Arc::new(Pulse::new()));
    let io = DescriptorStream { stream, arrivals: arrivals.clone(), pulse: pulse.clone() };
    let limits = &door.limits;
    let answer = |request: hyper::Request<hyper::body::Incoming>| {
        pulse.begin();
        let mut request = request.map(axum::body::Body::new);
        let extensions = request.extensions_mut();
        extensions.insert(peer.clone());
        extensions.insert(arrivals.clone());
        extensions.insert(pulse.clone());
        extensions.insert(BodyLimits::from(limits));
        let (router, pulse, door, place) = (router.clone(), &pulse, &door, &place);
        async move {
            door.wait_for_turn(place).await;
            let answer = router.oneshot(request).await;
            pulse.end();
            answer
        }
    };
    let mut server = hyper::server::conn::http1::Builder::new();
    server.max_buf_size(limits.header_bytes).half_close(false);
    let serving = server.serve_connection(TokioIo::new(io), hyper::service::service_fn(answer));
    tokio::select! {
        ended = serving => if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        },
        why = pulse.stalled(limits) => tracing::debug!(pid = peer.pid, why, "sent away"),
    }
    door.leave(pulse.is_kept());
}

/// A Unix stream that keeps the descriptors that come with its bytes.
struct DescriptorStream {
    stream: UnixStream,
    arrivals: Arrivals,
    pulse: Arc<Pulse>,
}

impl AsyncRead for DescriptorStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            let received = self.stream.try_io(Interest::READABLE, || {
                receive_with_descriptors(self.stream.as_fd(), buffer.initialize_unfilled())
            });
            match received {
                Ok((length, descriptors)) => {
                    self.arrivals.keep(descriptors);
                    self.pulse.received();
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for DescriptorStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_ready() {
            self.pulse.sent();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
