//! The ledger's tables and their versions.

use super::Error;
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;

/// One step a version, each applied once and in order; `user_version` says how many were.
const STEPS: [&str; 2] = [
    "
    CREATE TABLE submissions (
        id INTEGER PRIMARY KEY,
        name NOT NULL,                -- path under the inbox; a blob where it is not UTF-8
        attempt INTEGER NOT NULL,     -- the n-th submission of that name
        archived_as NOT NULL,         -- path under archive/, or quarantine/ where state is failed
        inode INTEGER NOT NULL,       -- of the file in the inbox
        received_at INTEGER NOT NULL, -- ms since 1970 UTC
        graded_at INTEGER,            -- ms since 1970 UTC
        bytes INTEGER NOT NULL,
        blake3 BLOB,
        state TEXT NOT NULL,          -- claimed, graded, unreadable, failed
        kind TEXT,
        correct INTEGER, wrong INTEGER, unreadable INTEGER, counted INTEGER, filled INTEGER,
        checkpoint TEXT,              -- how far a large submission has come
        reason TEXT                   -- why it failed
    );
    CREATE UNIQUE INDEX submissions_by_name ON submissions (name, attempt);
    CREATE INDEX submissions_open ON submissions (id) WHERE state = 'claimed';
    CREATE INDEX submissions_failed ON submissions (id) WHERE state = 'failed';
    CREATE TABLE reports (
        path PRIMARY KEY,             -- under reports/; a blob where it is not UTF-8
        length INTEGER NOT NULL,      -- bytes that are committed
        whole INTEGER NOT NULL DEFAULT 1 -- 0 where rows are missing, to be written anew
    ) WITHOUT ROWID;
",
    // How often grading was tried in vain; while it is claimed, how often the process died over it.
    "ALTER TABLE submissions ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;",
];

/// Sets the connection up and brings the tables to the newest version.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let sqlite = |source| Error::Sqlite { path: path.to_owned(), source };
    connection.busy_timeout(Duration::from_secs(10)).map_err(sqlite)?;
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -8192;",
        )
        .map_err(sqlite)?;
    let found: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(sqlite)?;
    let known = STEPS.len() as i64;
    let done = match usize::try_from(found) {
        Ok(done) if done <= STEPS.len() => done,
        _ => return Err(Error::Newer { path: path.to_owned(), found, known }),
    };
    for (step, sql) in STEPS.iter().enumerate().skip(done) {
        let transaction = connection.transaction().map_err(sqlite)?;
        transaction.execute_batch(sql).map_err(sqlite)?;
        transaction.pragma_update(None, "user_version", step as i64 + 1).map_err(sqlite)?;
        transaction.commit().map_err(sqlite)?;
    }
    Ok(())
}
