//! The ledger's tables and their versions.

use super::Error;
use crate::store::fail_point::Point;
use crate::store::owner::Denied;
use crate::store::reports::aside::beside;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One step a version, each applied once and in order; `user_version` says how many were.
const STEPS: [&str; 3] = [
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
    // In which order rows were appended, and what else it takes to write the very same ones again.
    // Where that was not noted, the order is that of the times until the reports have told theirs.
    "
    CREATE TABLE rules (
        number INTEGER PRIMARY KEY,
        version TEXT NOT NULL,        -- of the gridmark that graded by them
        case_bytes_max INTEGER NOT NULL,
        missing_cases_max INTEGER NOT NULL,
        neutralise_formulas INTEGER NOT NULL
    );
    CREATE TABLE chunks (             -- of large submissions, but for the last one of each
        step INTEGER PRIMARY KEY,
        submission INTEGER NOT NULL,
        cases INTEGER NOT NULL
    );
    ALTER TABLE submissions ADD COLUMN step INTEGER;          -- when it was done: its place in the order
    ALTER TABLE submissions ADD COLUMN rules INTEGER;
    ALTER TABLE submissions ADD COLUMN graded_bytes INTEGER;  -- that the chunks hold
    ALTER TABLE submissions ADD COLUMN graded_blake3 BLOB;
    CREATE INDEX submissions_by_step ON submissions (step) WHERE step IS NOT NULL;
    ALTER TABLE reports ADD COLUMN order_known INTEGER NOT NULL DEFAULT 1;
    UPDATE reports SET order_known = 0;
    WITH done AS (SELECT id, row_number() OVER (ORDER BY graded_at, id) AS n
        FROM submissions WHERE state <> 'claimed')
        UPDATE submissions SET step = done.n FROM done WHERE done.id = submissions.id;
    INSERT INTO chunks (step, submission, cases)
        SELECT id + (SELECT count(*) FROM submissions), id, correct + wrong + unreadable + counted
        FROM submissions WHERE state = 'claimed' AND checkpoint IS NOT NULL;
",
];

/// How long a page is where the file does not say so.
const PAGE_BYTES: u64 = 4_096;

/// Makes sure that the file does not end inside a page. SQLite would take what is missing there for
/// zeros, and with a wrong length a report would be cut that is whole.
pub(super) fn ends_with_a_page(path: &Path) -> Result<(), Error> {
    // What a crash has left half copied from the log is copied once more.
    let has_log = beside(path, "-wal").metadata().is_ok_and(|found| found.len() > 0);
    let mut header = [0; 18];
    let page = match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        // The number does not fit where pages are largest.
        Ok(()) if header[16..] == [0, 1] => 1 << 16,
        Ok(()) => u64::from(u16::from_be_bytes([header[16], header[17]])),
        Err(_) => PAGE_BYTES,
    };
    match path.metadata() {
        Ok(found) if !has_log && page.is_power_of_two() && found.len() % page != 0 => {
            Err(Error::Torn { path: path.to_owned(), bytes: found.len(), page })
        }
        // Whatever else is wrong, SQLite finds it.
        _ => Ok(()),
    }
}

/// Sets the connection up and brings the tables to the newest version.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let sqlite = |why| Error::sqlite(path, why);
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
    if done == STEPS.len() {
        return Ok(());
    }
    if done > 0 {
        keep_copy(connection, path, found)?;
        Point::LedgerCopied.pass();
    }
    let transaction = connection.transaction().map_err(sqlite)?;
    for sql in &STEPS[done..] {
        transaction.execute_batch(sql).map_err(sqlite)?;
    }
    transaction.pragma_update(None, "user_version", known).map_err(sqlite)?;
    if done > 0 {
        Point::LedgerHalfMigrated.pass();
    }
    transaction.commit().map_err(sqlite)
}

/// Keeps a copy of a ledger that is about to be brought forward: `ledger.db.format-2`.
fn keep_copy(connection: &Connection, path: &Path, found: i64) -> Result<(), Error> {
    let copy = beside(path, &format!(".format-{found}"));
    copy_into(connection, &beside(path, ".part"), &copy, || Ok(())).map_err(|error| match error {
        CopyError::Sqlite(why) => Error::sqlite(path, why),
        CopyError::Io(why) => Error::Copy { path: path.to_owned(), copy, why },
    })
}

/// Why a ledger cannot be copied.
pub(super) enum CopyError {
    Sqlite(rusqlite::Error),
    Io(io::Error),
}

/// Writes all that a connection sees into a new file, by way of `part`, and makes it durable. When the
/// part is, `before_it_counts` is called.
pub(super) fn copy_into(
    connection: &Connection,
    part: &Path,
    copy: &Path,
    before_it_counts: impl FnOnce() -> io::Result<()>,
) -> Result<(), CopyError> {
    let folder = copy.parent().unwrap_or(Path::new("."));
    let prepared =
        std::fs::create_dir_all(folder).and_then(|()| match std::fs::remove_file(part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        });
    prepared.map_err(CopyError::Io)?;
    let into = ToSqlOutput::Borrowed(ValueRef::Text(part.as_os_str().as_bytes()));
    connection.execute("VACUUM INTO ?", [into]).map_err(CopyError::Sqlite)?;
    (|| {
        File::open(part)?.sync_all()?;
        before_it_counts()?;
        std::fs::rename(part, copy)?;
        File::open(folder)?.sync_all()
    })()
    .map_err(CopyError::Io)
}

/// Whether there is a ledger to be read; an empty file is none.
pub(super) fn is_there(path: &Path) -> Result<bool, Error> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let there = path.symlink_metadata();
    if there.is_err_and(|error| matches!(error.kind(), NotFound | NotADirectory)) {
        return Ok(false);
    }
    let log = beside(path, "-wal");
    // SQLite would say no more than that it cannot open the database.
    let denied = [path, &log, &beside(path, "-shm")].into_iter().find_map(Denied::of);
    if let Some(denied) = denied {
        return Err(Error::Denied(denied));
    }
    let unreadable = |why| Error::Unreadable { path: path.to_owned(), why };
    let found = path.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(unreadable(io::Error::other("it is no file")));
    }
    Ok(found.len() > 0 || log.metadata().is_ok_and(|log| log.len() > 0))
}

/// How long whoever only reads waits for whoever writes.
const READING_WAIT_MAX: Duration = Duration::from_secs(5);

/// Opens a ledger that is only to be read.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, Error> {
    let sqlite = |why| Error::sqlite(path, why);
    let read = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let as_it_lies = || look(&unchanging(path), read | OpenFlags::SQLITE_OPEN_URI);
    let log = beside(path, "-wal");
    // Beside a database that nobody has open, SQLite would make files, which not everybody may, and
    // which the service could not use if they were another user's.
    let opened = if log.symlink_metadata().is_err() {
        as_it_lies()
    } else {
        look(path, read).or_else(|error| match log.metadata() {
            Ok(log) if log.len() > 0 => Err(error),
            _ => as_it_lies().map_err(|_| error),
        })
    };
    let (connection, found) = opened.map_err(sqlite)?;
    let known = STEPS.len() as i64;
    match found {
        found if found > known => Err(Error::Newer { path: path.to_owned(), found, known }),
        found if found < known => Err(Error::Older { path: path.to_owned(), found, known }),
        _ => Ok(connection),
    }
}

fn look(path: &Path, flags: OpenFlags) -> rusqlite::Result<(Connection, i64)> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(READING_WAIT_MAX)?;
    // Only a query shows whether it can be read.
    let found = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok((connection, found))
}

/// The name by which SQLite opens a file that nobody changes meanwhile.
fn unchanging(path: &Path) -> PathBuf {
    let mut name = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => name.push(byte),
            _ => name.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    name.extend_from_slice(b"?immutable=1");
    PathBuf::from(OsString::from_vec(name))
}
