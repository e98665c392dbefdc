//! The watch over blocking calls: a worker that blocks on behalf of a caller is nudged when the
//! caller is interrupted or dies, because the kernel interrupts only the caller.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::identity::{Interruption, Status};
use crate::sys::listener::Listener;
use crate::sys::signal::nudge_thread;
use crate::sys::thread;

/// How often blocked workers are looked at.
const TICK: Duration = Duration::from_millis(20);

/// What one worker is doing.
#[derive(Debug)]
pub(crate) struct Slot {
    listener: Arc<Listener>,
    worker: i32,
    notification: AtomicU64,
    caller: AtomicI32,
    /// The worker is in a call that may block and may be interrupted.
    interruptible: AtomicBool,
    /// How the caller was interrupted.
    interruption: Mutex<Option<Interruption>>,
    /// At the last look, a signal waited that any thread of the process could take.
    shared_signal_seen: AtomicBool,
}

static SLOTS: Mutex<Vec<Weak<Slot>>> = Mutex::new(Vec::new());

impl Slot {
    /// A slot for the current thread.
    pub(crate) fn new(listener: Arc<Listener>) -> Arc<Self> {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            let _ = std::thread::Builder::new().name("watch".to_owned()).spawn(watch);
        });
        let slot = Arc::new(Self {
            listener,
            worker: thread::id(),
            notification: AtomicU64::new(0),
            caller: AtomicI32::new(0),
            interruptible: AtomicBool::new(false),
            interruption: Mutex::new(None),
            shared_signal_seen: AtomicBool::new(false),
        });
        SLOTS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&slot));
        slot
    }

    /// Says whose call is being worked on.
    pub(crate) fn begin(&self, notification: u64, caller: i32) {
        self.notification.store(notification, Ordering::Relaxed);
        self.caller.store(caller, Ordering::Relaxed);
        *self.interruption.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.shared_signal_seen.store(false, Ordering::Relaxed);
    }

    /// Runs something that may block. It returns EINTR once the caller was interrupted.
    pub(crate) fn interruptible<T>(&self, work: impl FnOnce() -> T) -> T {
        self.interruptible.store(true, Ordering::Release);
        let result = work();
        self.interruptible.store(false, Ordering::Release);
        result
    }

    /// How the caller was interrupted, if it was.
    pub(crate) fn interruption(&self) -> Option<Interruption> {
        *self.interruption.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) {
        if !self.interruptible.load(Ordering::Acquire) {
            return;
        }
        let gone = self.listener.id_valid(self.notification.load(Ordering::Relaxed)).is_err();
        let waiting = if gone { Some(Interruption::Fail) } else { self.waiting_signal() };
        let Some(waiting) = waiting else { return };
        if waiting == Interruption::Fail
            && !gone
            && !self.shared_signal_seen.swap(true, Ordering::Relaxed)
        {
            // Another thread of the caller may be about to take it: look again at the next tick.
            return;
        }
        *self.interruption.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
        // Between the flag and the call a nudge is lost; the next tick sends another.
        let _ = nudge_thread(self.worker);
    }

    /// A signal waits that would be handled if the call returned.
    fn waiting_signal(&self) -> Option<Interruption> {
        let tid = self.caller.load(Ordering::Relaxed);
        let Some(status) = status_of(tid, tid) else { return Some(Interruption::Fail) };
        match status.interruption {
            Some(Interruption::Fail) if is_only_taker(tid, &status) => Some(Interruption::Restart),
            other => other,
        }
    }
}

/// Whether every other thread of the process blocks the signals that wait for any of them.
fn is_only_taker(tid: i32, status: &Status) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{tid}/task")) else { return false };
    threads
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|thread| *thread != tid)
        .filter_map(|thread| status_of(tid, thread))
        .all(|other| status.shared_signals & !other.blocked_signals == 0)
}

fn status_of(tid: i32, thread: i32) -> Option<Status> {
    let directory = std::fs::File::open(format!("/proc/{tid}/task/{thread}")).ok()?;
    Status::read(directory.as_fd()).ok()
}

fn watch() {
    loop {
        let began = Instant::now();
        let slots: Vec<Arc<Slot>> = {
            let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
            slots.retain(|slot| slot.strong_count() > 0);
            slots.iter().filter_map(Weak::upgrade).collect()
        };
        for slot in slots {
            slot.check();
        }
        std::thread::sleep(TICK.saturating_sub(began.elapsed()));
    }
}
