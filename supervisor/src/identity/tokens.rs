//! Tokens: one for every container or session, for as long as it lives.

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::home::Home;
use crate::api::Refusal;

/// The tokens that count.
#[derive(Debug)]
pub(crate) struct Tokens {
    max: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    homes: HashMap<String, Arc<Home>>,
    tokens: HashMap<String, String>,
}

/// A home with its token.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) token: String,
    pub(crate) home: Arc<Home>,
    pub(crate) is_new: bool,
}

impl Tokens {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, table: Mutex::default() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token of a home: the one it has, or a new one.
    pub(crate) fn issue(&self, home: Home) -> Result<Issued, Refusal> {
        let mut table = self.table();
        if let Some((token, home)) = table.known(&home.key) {
            return Ok(Issued { token, home, is_new: false });
        }
        if table.homes.len() >= self.max {
            table.sweep();
        }
        if table.homes.len() >= self.max {
            return Err(Refusal::new(503, "too many sessions"));
        }
        let (token, home) = (token()?, Arc::new(home));
        table.homes.insert(token.clone(), home.clone());
        table.tokens.insert(home.key.clone(), token.clone());
        Ok(Issued { token, home, is_new: true })
    }

    /// What a token belongs to.
    pub(crate) fn home(&self, token: &str) -> Option<Arc<Home>> {
        self.table().homes.get(token).cloned()
    }

    /// A living home by its key, and its token.
    pub(crate) fn known(&self, key: &str) -> Option<(String, Arc<Home>)> {
        self.table().known(key)
    }

    /// Forgets a container: its token is worth nothing from here on.
    pub(crate) fn forget(&self, key: &str) {
        self.table().forget(key);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.table().homes.len()
    }
}

impl Table {
    fn known(&mut self, key: &str) -> Option<(String, Arc<Home>)> {
        let token = self.tokens.get(key)?;
        let home = self.homes.get(token)?;
        if home.is_alive() {
            return Some((token.clone(), home.clone()));
        }
        self.forget(key);
        None
    }

    fn forget(&mut self, key: &str) {
        if let Some(token) = self.tokens.remove(key) {
            self.homes.remove(&token);
        }
    }

    fn sweep(&mut self) {
        let dead = |home: &&Arc<Home>| !home.is_alive();
        let keys: Vec<String> =
            self.homes.values().filter(dead).map(|home| home.key.clone()).collect();
        for key in keys {
            self.forget(&key);
        }
    }
}

/// Forgets a home as soon as its first process has ended.
pub(crate) async fn forget_at_end(tokens: Weak<Tokens>, home: Arc<Home>) {
    let Some(process) = home.first_process().cloned() else { return };
    if let Err(error) = process.ended().await {
        // Nobody is told then; every use of the token looks for itself.
        return tracing::warn!(%error, "cannot wait for a container's end");
    }
    if let Some(tokens) = tokens.upgrade() {
        tracing::debug!(container = home.key, "ended");
        tokens.forget(&home.key);
    }
}

fn token() -> Result<String, Refusal> {
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| Refusal::new(500, format!("no randomness: {error}")))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("tok-{digits}"))
}

#[cfg(test)]
#[path = "tests/tokens.rs"]
mod tests;
