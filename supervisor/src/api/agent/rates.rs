//! How often a container may ask: true sliding windows, and a pace for everything else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The fewest containers that are worth a sweep.
const MIN_SWEEP: usize = 64;

/// At most so many within so long, for each container by itself.
#[derive(Debug)]
pub(super) struct Window {
    limit: usize,
    span: Duration,
    seen: Mutex<Seen<VecDeque<Instant>>>,
}

/// The same distance between requests in the long run; a second's worth may come at once.
#[derive(Debug)]
pub(super) struct Pace {
    distance: Duration,
    seen: Mutex<Seen<Instant>>,
}

#[derive(Debug)]
struct Seen<T> {
    containers: HashMap<String, T>,
    sweep_at: usize,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self { containers: HashMap::new(), sweep_at: MIN_SWEEP }
    }
}

impl<T> Seen<T> {
    /// Forgets containers that have been quiet, now and then.
    fn sweep(&mut self, mut is_recent: impl FnMut(&T) -> bool) {
        if self.containers.len() >= self.sweep_at {
            self.containers.retain(|_, last| is_recent(last));
            self.sweep_at = (self.containers.len() * 2).max(MIN_SWEEP);
        }
    }
}

impl Window {
    pub(super) fn new(limit: usize, span: Duration) -> Self {
        Self { limit, span, seen: Mutex::default() }
    }

    /// Counts one, or tells how long until one more fits.
    pub(super) fn admit(&self, container: &str, now: Instant) -> Result<(), Duration> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let within = |time: &Instant| now.saturating_duration_since(*time) < self.span;
        seen.sweep(|times| times.back().is_some_and(within));
        let times = match seen.containers.get_mut(container) {
            Some(times) => times,
            None => seen.containers.entry(container.to_owned()).or_default(),
        };
        while times.front().is_some_and(|time| !within(time)) {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= self.limit => {
                Err(self.span.saturating_sub(now.saturating_duration_since(*first)))
            }
            _ => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

impl Pace {
    pub(super) fn new(per_second: u32) -> Self {
        Self { distance: Duration::from_secs(1) / per_second.max(1), seen: Mutex::default() }
    }

    /// How long this request has to wait for its turn.
    pub(super) fn wait(&self, container: &str, now: Instant) -> Duration {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.sweep(|turn| *turn > now);
        let turn = match seen.containers.get_mut(container) {
            Some(turn) => turn,
            None => seen.containers.entry(container.to_owned()).or_insert(now),
        };
        *turn = (*turn).max(now) + self.distance;
        turn.saturating_duration_since(now).saturating_sub(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IF-002: 100 in 10 s, sliding: what is admitted in any 10 s is never more.
    #[test]
    fn a_window_slides() {
        let window = Window::new(3, Duration::from_secs(10));
        let start = Instant::now();
        let at = |seconds: u64| window.admit("a", start + Duration::from_secs(seconds));
        assert_eq!([at(0), at(4), at(8)], [Ok(()); 3]);
        assert_eq!(at(9), Err(Duration::from_secs(1)));
        assert_eq!(at(10), Ok(()));
        assert_eq!(at(10), Err(Duration::from_secs(4)));
        assert_eq!(window.admit("b", start), Ok(()), "each by itself");
    }

    #[test]
    fn quiet_containers_are_forgotten() {
        let window = Window::new(1, Duration::from_secs(1));
        let start = Instant::now();
        for number in 0..1000 {
            let now = start + Duration::from_millis(number * 100);
            assert_eq!(window.admit(&number.to_string(), now), Ok(()));
        }
        assert!(window.seen.lock().unwrap().containers.len() <= MIN_SWEEP);
    }

    #[test]
    fn a_pace_lets_a_burst_pass_and_then_keeps_its_distance() {
        let pace = Pace::new(100);
        let now = Instant::now();
        let waits: Vec<Duration> = (0..102).map(|_| pace.wait("a", now)).collect();
        assert!(waits[..100].iter().all(Duration::is_zero));
        assert_eq!(waits[101], Duration::from_millis(20));
        assert_eq!(pace.wait("b", now), Duration::ZERO);
        assert_eq!(pace.wait("a", now + Duration::from_secs(60)), Duration::ZERO);
    }
}
