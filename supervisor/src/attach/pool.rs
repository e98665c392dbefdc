//! The threads of a session. Each waits in the kernel for a notification; whenever the last free one
//! is taken, another joins, so that a call which blocks holds up nobody else's.

use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::session::Session;
use super::watch::Slot;
use crate::identity::Guise;
use crate::pipeline::{Worker, pipeline};
use crate::receive::Notification;
use crate::sys::listener::Listener;
use crate::sys::signal::nudge_thread;
use crate::sys::thread;

/// Threads that wait at once; more than that go home.
const MAX_FREE: usize = 4;
/// A workload that blocks this many calls at once waits for itself.
const MAX_WORKERS: usize = 512;
const STACK_BYTES: usize = 512 * 1024;

/// The workers of one listener.
#[derive(Debug)]
pub(crate) struct Pool {
    session: Arc<Session>,
    listener: Arc<Listener>,
    free: AtomicUsize,
    closed: AtomicBool,
    /// The workers are gone and the end is on record.
    ended: AtomicBool,
    /// Thread ids of the workers.
    workers: Mutex<Vec<i32>>,
    emptied: Condvar,
}

impl Pool {
    /// Starts to serve a listener. Returns once a worker is there to receive.
    pub(crate) fn start(session: Arc<Session>, listener: Listener) -> Result<Arc<Self>, Errno> {
        let pool = Arc::new(Self {
            session,
            listener: Arc::new(listener),
            free: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            workers: Mutex::new(Vec::new()),
            emptied: Condvar::new(),
        });
        // Older kernels lack the flag; they are only slower.
        let _ = pool.listener.set_sync_wake_up();
        pool.hire()?;
        let watched = pool.clone();
        spawn("hangup", move || watched.until_hangup())?;
        Ok(pool)
    }

    /// Blocks until the last task of the session is gone and every worker has left.
    pub(crate) fn wait(&self) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.has_ended() {
            workers = self.emptied.wait(workers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn hire(self: &Arc<Self>) -> Result<(), Errno> {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if workers.len() >= MAX_WORKERS {
            return Ok(());
        }
        // Its real id replaces this one as soon as the thread runs.
        workers.push(0);
        self.free.fetch_add(1, Ordering::AcqRel);
        let pool = self.clone();
        let hired = spawn("worker", move || pool.work());
        if hired.is_err() {
            workers.pop();
            self.free.fetch_sub(1, Ordering::AcqRel);
        }
        hired
    }

    fn work(self: &Arc<Self>) {
        let id = thread::id();
        {
            let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = workers.iter_mut().find(|worker| **worker == 0) {
                *place = id;
            }
        }
        match Guise::new() {
            Ok(guise) => {
                let slot = Slot::new(self.listener.clone());
                self.serve(&mut Worker { guise, slot });
            }
            Err(errno) => tracing::error!(%errno, "a worker cannot have its own umask"),
        }
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.retain(|worker| *worker != id);
        self.emptied.notify_all();
    }

    /// Receives and answers until the session ends or there are enough others.
    fn serve(self: &Arc<Self>, worker: &mut Worker) {
        while !self.is_closed() {
            let notification = match Notification::receive(&self.listener) {
                Ok(notification) => notification,
                // ENOENT: the task died before it was received. EINTR: the session may have ended.
                Err(Errno::ENOENT | Errno::EINTR) => {
                    if self.has_hung_up() {
                        break;
                    }
                    continue;
                }
                Err(errno) => {
                    tracing::error!(%errno, "a listener failed");
                    break;
                }
            };
            if self.free.fetch_sub(1, Ordering::AcqRel) == 1
                && let Err(errno) = self.hire()
            {
                tracing::warn!(%errno, "no further worker can be started");
            }
            let answered = catch_unwind(AssertUnwindSafe(|| {
                pipeline(notification, &self.session, worker);
            }));
            if answered.is_err() {
                tracing::error!("a decision failed; the call was denied");
            }
            if self.free.fetch_add(1, Ordering::AcqRel) >= MAX_FREE {
                break;
            }
        }
        self.free.fetch_sub(1, Ordering::AcqRel);
    }

    fn has_hung_up(&self) -> bool {
        let mut fds = [PollFd::new(self.listener.as_fd(), PollFlags::empty())];
        poll(&mut fds, PollTimeout::ZERO).is_ok()
            && fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP))
    }

    /// Waits for the last task's death, then sends the workers home and closes the record.
    fn until_hangup(&self) {
        while !self.has_hung_up() {
            let mut fds = [PollFd::new(self.listener.as_fd(), PollFlags::empty())];
            let _ = poll(&mut fds, PollTimeout::from(1000_u16));
        }
        self.closed.store(true, Ordering::Release);
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        while !workers.is_empty() {
            for worker in workers.iter().filter(|worker| **worker != 0) {
                let _ = nudge_thread(*worker);
            }
            let waited = self.emptied.wait_timeout(workers, Duration::from_millis(10));
            workers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.session.record_end();
        self.ended.store(true, Ordering::Release);
        self.emptied.notify_all();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Errno> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map(drop)
        .map_err(|error| crate::sys::errno_of(&error))
}
