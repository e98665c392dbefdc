//! Waiting for a descriptor without a thread of one's own.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Waits until there is something to read, or an end to be seen.
pub(crate) async fn until_readable(descriptor: Arc<OwnedFd>) -> io::Result<()> {
    // SAFETY: the descriptor must stay open and the same while it is registered; the shared owner
    // lives in the registration and gives it to nobody.
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    let registered = registered?;
    let ready = registered.readable().await;
    ready.map(drop)
}
