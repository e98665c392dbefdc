//! What happens on a connection, and for how long nothing does: who dribbles or falls silent is sent
//! away.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::config::limits::Limits;

/// The signs of life of one connection, in milliseconds since it began.
#[derive(Debug)]
pub(super) struct Pulse {
    began: Instant,
    /// When bytes last went either way.
    last: AtomicU64,
    /// When the head of the request that is coming began, plus one; 0: none is.
    head: AtomicU64,
    /// A request is being answered, and bounds its own time.
    busy: AtomicBool,
    /// A shim's: it lives as long as its session, however silent a stopped one is.
    kept: AtomicBool,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            last: AtomicU64::new(0),
            head: AtomicU64::new(0),
            busy: AtomicBool::new(false),
            kept: AtomicBool::new(false),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Bytes came.
    pub(super) fn received(&self) {
        let now = self.now();
        self.last.store(now, Ordering::Relaxed);
        if !self.busy.load(Ordering::Relaxed) {
            // The first byte counts: those that follow do not buy time.
            let _ = self.head.compare_exchange(0, now + 1, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Bytes went.
    pub(super) fn sent(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// A request's head is complete.
    pub(super) fn begin(&self) {
        self.busy.store(true, Ordering::Relaxed);
        self.head.store(0, Ordering::Relaxed);
    }

    /// Its answer is ready.
    pub(super) fn end(&self) {
        self.busy.store(false, Ordering::Relaxed);
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// A session hangs on this connection from here on.
    pub(super) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Waits until the connection has stalled, and says how.
    pub(super) async fn stalled(&self, limits: &Limits) -> &'static str {
        let (head, idle) = (limits.header(), limits.idle());
        let step = (head.min(idle) / 4).max(Duration::from_millis(100));
        loop {
            tokio::time::sleep(step).await;
            if self.busy.load(Ordering::Relaxed) || self.is_kept() {
                continue;
            }
            let since = |moment: u64| Duration::from_millis(self.now().saturating_sub(moment));
            let began = self.head.load(Ordering::Relaxed);
            if began > 0 && since(began - 1) > head {
                return "the request does not come to its point";
            }
            if since(self.last.load(Ordering::Relaxed)) > idle {
                return "silent";
            }
        }
    }
}
