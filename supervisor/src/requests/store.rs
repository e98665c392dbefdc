//! Requests on disk. Every change is committed with `synchronous=FULL` before it is told to anybody.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::RequestsError;
use crate::attach::session::Identity;

/// The version of the tables.
const VERSION: i64 = 1;
/// Decided requests that are kept.
const MAX_DECIDED: usize = 4_096;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS requests (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        container TEXT NOT NULL,
        agent TEXT NOT NULL,
        container_id TEXT NOT NULL,
        rule_file TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT,
        created TEXT NOT NULL,
        decided TEXT,
        decided_by INTEGER,
        widened INTEGER NOT NULL DEFAULT 0,
        digest TEXT,
        error TEXT
    ) STRICT;
    CREATE INDEX IF NOT EXISTS requests_by_status ON requests (status, container);
";
const COLUMNS: &str = "id, container, agent, container_id, rule_file, status, reason, created, \
                       decided, decided_by, widened, digest, error";

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Pending,
    /// An operator said yes, and the file is on its way into force.
    Approving,
    Approved,
    Rejected,
}

impl Status {
    pub(crate) const ALL: [Self; 4] =
        [Self::Pending, Self::Approving, Self::Approved, Self::Rejected];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approving => "approving",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// What the rules of a request are confined to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) agent: String,
    pub(crate) container: String,
}

impl Scope {
    pub(super) fn of(identity: &Identity) -> Self {
        Self { agent: identity.agent.clone(), container: identity.container.clone() }
    }

    /// The fact and its value. Without a name of its own an agent is known by its container; `None`
    /// where it has neither, and nothing tells its rules from those of others.
    pub(crate) fn condition(&self) -> Option<(&str, &str)> {
        match (self.agent.as_str(), self.container.as_str()) {
            ("", "") => None,
            ("", id) => Some(("container.id", id)),
            (name, _) => Some(("agent.name", name)),
        }
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// Whose it is: the container or session that a token belongs to.
    pub(crate) container: String,
    pub(crate) scope: Scope,
    pub(crate) rule_file: String,
    pub(crate) status: Status,
    /// What its container is told about the decision.
    pub(crate) reason: Option<String>,
    pub(crate) created: String,
    pub(crate) decided: Option<String>,
    pub(crate) decided_by: Option<u32>,
    pub(crate) widened: bool,
    /// Of the file that an approval writes.
    pub(crate) digest: Option<String>,
    /// Why the last approval came to nothing.
    pub(crate) error: Option<String>,
}

/// The table of requests.
#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
}

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self, RequestsError> {
        // Made here and not by SQLite, so that it is never readable to others.
        let made = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        made.map_err(|cause| RequestsError::Directory { path: path.to_owned(), cause })?;
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version > VERSION {
            return Err(RequestsError::Newer { path: path.to_owned() });
        }
        connection.execute_batch(TABLES)?;
        connection.pragma_update(None, "user_version", VERSION)?;
        Ok(Self { connection })
    }

    /// How many requests wait: of this container, and in all.
    pub(super) fn waiting(&self, container: &str) -> Result<(usize, usize), RequestsError> {
        let query = "SELECT COUNT(*) FILTER (WHERE container = ?1), COUNT(*) FROM requests \
                     WHERE status IN ('pending', 'approving')";
        let counts = self.connection.query_row(query, [container], |row| {
            Ok((row.get::<_, usize>(0)?, row.get::<_, usize>(1)?))
        });
        Ok(counts?)
    }

    pub(super) fn add(
        &self,
        id: &str,
        container: &str,
        scope: &Scope,
        text: &str,
    ) -> Result<Entry, RequestsError> {
        let insert = "INSERT INTO requests (id, container, agent, container_id, rule_file, status, \
                      created) VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6)";
        let values = params![id, container, scope.agent, scope.container, text, now()];
        self.connection.execute(insert, values)?;
        let entry = self.find(id)?;
        entry.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
    }

    pub(super) fn find(&self, id: &str) -> Result<Option<Entry>, RequestsError> {
        let query = format!("SELECT {COLUMNS} FROM requests WHERE id = ?1");
        Ok(self.connection.query_row(&query, [id], entry).optional()?)
    }

    pub(super) fn list(&self, status: Option<Status>) -> Result<Vec<Entry>, RequestsError> {
        let query = format!(
            "SELECT {COLUMNS} FROM requests WHERE ?1 IS NULL OR status = ?1 ORDER BY number DESC"
        );
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map([status.map(Status::as_str)], entry)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The decision is made, its file not yet written.
    pub(super) fn begin(
        &self,
        id: &str,
        digest: &str,
        widened: bool,
        by: u32,
    ) -> Result<(), RequestsError> {
        let update = "UPDATE requests SET status = 'approving', digest = ?2, widened = ?3, \
                      decided_by = ?4, error = NULL WHERE id = ?1 AND status = 'pending'";
        self.change(update, params![id, digest, widened, by])
    }

    pub(super) fn approve(&self, id: &str, reason: &str) -> Result<(), RequestsError> {
        let update = "UPDATE requests SET status = 'approved', reason = ?2, decided = ?3 \
                      WHERE id = ?1 AND status = 'approving'";
        self.change(update, params![id, reason, now()])?;
        self.forget_old()
    }

    /// Back to where it was, and why.
    pub(super) fn reopen(&self, id: &str, error: &str) -> Result<(), RequestsError> {
        let update = "UPDATE requests SET status = 'pending', digest = NULL, widened = 0, \
                      decided_by = NULL, error = ?2 WHERE id = ?1 AND status = 'approving'";
        self.change(update, params![id, error])
    }

    pub(super) fn reject(&self, id: &str, reason: &str, by: u32) -> Result<(), RequestsError> {
        let update = "UPDATE requests SET status = 'rejected', reason = ?2, decided = ?3, \
                      decided_by = ?4, error = NULL WHERE id = ?1 AND status = 'pending'";
        self.change(update, params![id, reason, now(), by])?;
        self.forget_old()
    }

    fn change(&self, update: &str, values: &[&dyn rusqlite::ToSql]) -> Result<(), RequestsError> {
        match self.connection.execute(update, values)? {
            1 => Ok(()),
            _ => Err(rusqlite::Error::QueryReturnedNoRows.into()),
        }
    }

    fn forget_old(&self) -> Result<(), RequestsError> {
        let delete = "DELETE FROM requests WHERE number IN (SELECT number FROM requests WHERE \
                      status IN ('approved', 'rejected') ORDER BY number DESC LIMIT -1 OFFSET ?1)";
        self.connection.execute(delete, [MAX_DECIDED])?;
        Ok(())
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let status: String = row.get(5)?;
    Ok(Entry {
        id: row.get(0)?,
        container: row.get(1)?,
        scope: Scope { agent: row.get(2)?, container: row.get(3)? },
        rule_file: row.get(4)?,
        // A word that nobody knows is no approval.
        status: Status::parse(&status).unwrap_or(Status::Rejected),
        reason: row.get(6)?,
        created: row.get(7)?,
        decided: row.get(8)?,
        decided_by: row.get(9)?,
        widened: row.get(10)?,
        digest: row.get(11)?,
        error: row.get(12)?,
    })
}

/// The time, in whole seconds.
pub(super) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
