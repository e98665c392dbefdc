//! Places for connections: so many in all, so many for one container, some for those with few.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A container with fewer connections than this may use the places that are held back.
const FEW: usize = 8;

/// Who holds how many.
#[derive(Debug)]
pub(super) struct Places {
    all: usize,
    each: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<String, usize>,
}

/// One place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    account: String,
}

impl Places {
    pub(super) fn new(all: usize, each: usize) -> Arc<Self> {
        Arc::new(Self { all, each, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a container; `None` if it has its share, or nobody can have one.
    pub(super) fn take(self: &Arc<Self>, account: String) -> Option<Place> {
        let mut taken = self.taken();
        let own = taken.by.get(&account).copied().unwrap_or(0);
        // A quarter is for those who have few: many who take much do not keep newcomers out.
        let room = if own < FEW { self.all } else { self.all - self.all / 4 };
        if own >= self.each || taken.all >= room {
            return None;
        }
        taken.all += 1;
        *taken.by.entry(account.clone()).or_default() += 1;
        drop(taken);
        Some(Place { places: self.clone(), account })
    }
}

impl Place {
    /// What it is counted for.
    pub(super) fn account(&self) -> &str {
        &self.account
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        if let Some(own) = taken.by.get_mut(&self.account) {
            *own -= 1;
            if *own == 0 {
                taken.by.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_shared_and_given_back() {
        let places = Places::new(40, 20);
        let take = |name: &str, count: usize| -> Vec<Place> {
            (0..count).map_while(|_| places.take(name.to_owned())).collect()
        };
        let (a, b) = (take("a", 100), take("b", 100));
        assert_eq!((a.len(), b.len()), (20, 10), "its share; then what is not held back");
        let c = take("c", 100);
        assert_eq!(c.len(), 8, "a newcomer gets in");
        drop(a);
        assert_eq!(take("d", 100).len(), 12);
        drop((b, c));
        assert_eq!(places.taken().all, 0);
        assert!(places.taken().by.is_empty());
    }
}
