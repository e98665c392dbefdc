//! Records as they are written, for whoever wants to see them at once. The writer never waits: a
//! reader that is slower than the ring is long finds that records are missing.

use std::sync::Arc;

use tokio::sync::broadcast;

/// Records that wait for the slowest reader.
pub(crate) const RING: usize = 1024;

/// A line of the log, under its number.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub(crate) seq: u64,
    /// As it is in the log, without the line's end.
    pub(crate) line: Arc<str>,
}

/// The ring.
#[derive(Debug)]
pub(crate) struct Stream {
    sender: broadcast::Sender<Published>,
}

impl Default for Stream {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(RING) }
    }
}

impl Stream {
    /// Everything that is published from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Published> {
        self.sender.subscribe()
    }

    /// Shows a record. The caller holds the log's lock, so that numbers come in order.
    pub(super) fn publish(&self, seq: u64, record: &[u8]) {
        if self.sender.receiver_count() == 0 {
            return;
        }
        let line = String::from_utf8_lossy(record.trim_ascii_end());
        // Without readers there is nobody to tell.
        let _ = self.sender.send(Published { seq, line: line.into() });
    }
}
