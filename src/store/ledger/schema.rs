//! The ledger's tables and their versions.

use super::Error;
use crate::model::named;
use crate::store::owner::Denied;
use crate::store::path::beside;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names the file as a ledger of gridmark: "gmrk".
const APPLICATION_ID: i64 = 0x676D_726B;

/// How to get from each format to the next: the step with index n makes format n + 1 of format n.
/// `user_version` holds the format.
const STEPS: [&str; 1] = ["
    CREATE TABLE submissions (
        id INTEGER PRIMARY KEY AUTOINCREMENT, -- never that of a released claim
        name NOT NULL,                -- path under the inbox; a blob where it is not UTF-8
        attempt INTEGER NOT NULL,     -- the n-th submission of that name
        archived_as NOT NULL,         -- path under archive/, or quarantine/ where state is failed
        report NOT NULL,              -- path under reports/ of the report with its cases
        handed_in_at INTEGER NOT NULL, -- when it arrived in the inbox first, ms since 1970 UTC
        doubt TEXT,                   -- why that is in doubt: move, change, clock
        received_at INTEGER NOT NULL, -- when it was taken, ms since 1970 UTC
        graded_at INTEGER,            -- ms since 1970 UTC
        bytes INTEGER NOT NULL,
        blake3 BLOB,
        state TEXT NOT NULL,          -- claimed, graded, unreadable, failed
        kind TEXT,
        correct INTEGER, wrong INTEGER, unreadable INTEGER, counted INTEGER, filled INTEGER,
        checkpoint TEXT,              -- how far a large submission has come
        graded_bytes INTEGER,         -- of a large submission: what its chunks hold
        graded_blake3 BLOB,
        step INTEGER,                 -- its place in the order of commits
        rules INTEGER,                -- by which it is graded
        tries INTEGER NOT NULL DEFAULT 0, -- how often grading failed; while it is claimed, crashes
        reason TEXT,                  -- why it failed
        superseded INTEGER NOT NULL DEFAULT 0, -- 1 if it failed and its file or its place is a later one's
        inode INTEGER NOT NULL,       -- of the file in the inbox, and its last modification
        modified_s INTEGER NOT NULL,
        modified_ns INTEGER NOT NULL,
        boot_id TEXT,                 -- the run of the system that claimed it; NULL once it is durable
        definitions INTEGER           -- of the event, when it was taken; NULL without one
    );
    CREATE UNIQUE INDEX submissions_by_name ON submissions (name, attempt);
    CREATE INDEX submissions_open ON submissions (id) WHERE state = 'claimed';
    CREATE INDEX submissions_failed ON submissions (archived_as) WHERE state = 'failed';
    CREATE INDEX submissions_by_step ON submissions (step) WHERE step IS NOT NULL;
    CREATE INDEX submissions_by_report ON submissions (report, step) WHERE step IS NOT NULL;
    CREATE TABLE chunks (             -- of large submissions, but for the last one of each
        step INTEGER PRIMARY KEY,     -- its place in the order of commits
        submission INTEGER NOT NULL,
        report NOT NULL,
        cases INTEGER NOT NULL
    );
    CREATE INDEX chunks_by_submission ON chunks (submission);
    CREATE INDEX chunks_by_report ON chunks (report, step);
    CREATE TABLE rules (              -- what besides a file's bytes decides about its rows
        number INTEGER PRIMARY KEY,
        rows_version INTEGER NOT NULL,
        case_bytes_max INTEGER NOT NULL,
        missing_cases_max INTEGER NOT NULL,
        neutralise_formulas INTEGER NOT NULL,
        definitions INTEGER           -- of the event; NULL without one
    );
    CREATE TABLE contents (           -- files of event folders, each once
        number INTEGER PRIMARY KEY,
        blake3 BLOB NOT NULL UNIQUE,
        bytes BLOB NOT NULL
    );
    CREATE TABLE definitions (        -- of the event: its folder, and keys
        number INTEGER PRIMARY KEY AUTOINCREMENT, -- never that of others that were never in force
        hash BLOB NOT NULL UNIQUE,    -- of all names and bytes, and of accepted keys
        ruling INTEGER UNIQUE         -- that put them in force; NULL until then
    );
    CREATE TABLE definition_files (
        definitions INTEGER NOT NULL,
        path TEXT NOT NULL,           -- under the event folder
        content INTEGER NOT NULL,
        PRIMARY KEY (definitions, path)
    ) WITHOUT ROWID;
    CREATE TABLE definition_keys (    -- solutions that the files do not give
        definitions INTEGER NOT NULL,
        round TEXT NOT NULL,
        puzzle TEXT NOT NULL,
        key BLOB NOT NULL,            -- digits in reading order, from 1
        accepted INTEGER NOT NULL,    -- 1 by a ruling, 0 as the only solution
        PRIMARY KEY (definitions, round, puzzle, key)
    ) WITHOUT ROWID;
    CREATE TABLE judgements (         -- of submissions at an event; the newest of each counts
        change INTEGER PRIMARY KEY,   -- its place in the order of changes
        submission INTEGER NOT NULL,
        cause INTEGER,                -- the ruling that caused it; NULL for the first one
        definitions INTEGER NOT NULL, -- by which it was judged
        entrant TEXT, round TEXT, puzzle TEXT, -- whose entry it is; NULL if that is not known
        outcome TEXT NOT NULL,        -- held, dismissed; of a marked one its verdict
        held TEXT,                    -- why it is held
        nearest TEXT,                 -- the nearest match of one that is held
        case_number INTEGER,          -- which grid of the file, from 1
        foreign_puzzle INTEGER NOT NULL DEFAULT 0,
        cells INTEGER, blank_cells INTEGER, wrong_cells INTEGER,
        right_rows INTEGER, right_columns INTEGER, right_boxes INTEGER, side INTEGER,
        fault TEXT, at TEXT, faults INTEGER, detail TEXT
    );
    CREATE INDEX judgements_by_submission ON judgements (submission);
    CREATE TABLE rulings (            -- decisions of staff, never changed
        number INTEGER PRIMARY KEY,   -- from 1 without gaps
        change INTEGER NOT NULL UNIQUE, -- its place in the order of changes
        at INTEGER NOT NULL,          -- ms since 1970 UTC
        decided_by TEXT NOT NULL, role TEXT NOT NULL, via TEXT NOT NULL,
        action TEXT NOT NULL,
        entrant TEXT, round TEXT, puzzle TEXT,
        submission, attempt INTEGER, case_number INTEGER,
        value TEXT,
        reason TEXT NOT NULL,
        undoes INTEGER,
        hash BLOB NOT NULL            -- of the hash before it and this row
    );
    CREATE TABLE judges (             -- who may judge on the page, and until when
        ruling INTEGER PRIMARY KEY,   -- that added them
        name TEXT NOT NULL,
        code BLOB NOT NULL UNIQUE,    -- hash of the code that is valid once
        code_until INTEGER NOT NULL,  -- ms since 1970 UTC
        token BLOB UNIQUE,            -- hash of what the code was exchanged for
        until INTEGER NOT NULL,       -- ms since 1970 UTC
        revoked INTEGER               -- the ruling that revoked them
    );
    CREATE TABLE cards (              -- codes of entrants; the one printed last counts
        entrant TEXT PRIMARY KEY,
        code BLOB NOT NULL UNIQUE,    -- its hash
        ruling INTEGER NOT NULL       -- by which it was printed
    ) WITHOUT ROWID;
    CREATE TABLE passphrase (         -- one row: the director's, by Argon2id
        salt BLOB NOT NULL,
        hash BLOB NOT NULL,
        memory_kib INTEGER NOT NULL, passes INTEGER NOT NULL,
        ruling INTEGER NOT NULL       -- by which it was set
    );
    CREATE TABLE returned (           -- files that were put back into the inbox
        name PRIMARY KEY,
        inode INTEGER NOT NULL,
        handed_in_at INTEGER NOT NULL,
        doubt TEXT,
        bytes INTEGER NOT NULL,       -- what it was when it was taken
        modified_s INTEGER NOT NULL,
        modified_ns INTEGER NOT NULL,
        changed_s INTEGER NOT NULL,   -- when its inode had changed last when it was put back
        changed_ns INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE clock (              -- one row: what the clocks showed when the service started
        boot_id TEXT NOT NULL,        -- the run of the system
        wall INTEGER NOT NULL,        -- ms since 1970 UTC
        steady INTEGER NOT NULL       -- ms since the system started
    );
    CREATE TABLE reports (
        path PRIMARY KEY,             -- under reports/; a blob where it is not UTF-8
        length INTEGER NOT NULL,      -- bytes that are committed
        whole INTEGER NOT NULL DEFAULT 1, -- 0 if it has to be rebuilt
        bom INTEGER NOT NULL DEFAULT 0 -- 1 if it begins with a byte-order mark
    ) WITHOUT ROWID;
"];

/// How long a page is where the file does not say so.
const PAGE_BYTES: u64 = 4_096;

/// Makes sure that the file does not end inside a page. SQLite would take what is missing there for
/// zeros, and with a wrong length a report would be cut that is whole.
pub(super) fn ends_with_a_page(path: &Path) -> Result<(), Error> {
    // What a crash has left half copied from the log is copied once more.
    let has_log = beside(path, "-wal").metadata().is_ok_and(|found| found.len() > 0);
    let mut header = [0; 18];
    let page = match named::open_regular(path).and_then(|mut file| file.read_exact(&mut header)) {
        // The number does not fit where pages are largest.
        Ok(()) if header[16..] == [0, 1] => 1 << 16,
        Ok(()) => u64::from(u16::from_be_bytes([header[16], header[17]])),
        Err(_) => PAGE_BYTES,
    };
    match path.metadata() {
        Ok(found) if !has_log && page.is_power_of_two() && found.len() % page != 0 => {
            Err(Error::Torn { path: path.to_owned(), bytes: found.len(), page })
        }
        // SQLite finds anything else that is wrong.
        _ => Ok(()),
    }
}

/// Sets the connection up and brings the tables to the newest version.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let sqlite = |why| Error::sqlite(path, why);
    connection.busy_timeout(Duration::from_secs(10)).map_err(sqlite)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(sqlite)?;
    if mode != "wal" {
        return Err(Error::NoLog { path: path.to_owned(), found: mode });
    }
    connection
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;",
        )
        .map_err(sqlite)?;
    migrate(connection, path, &STEPS)
}

/// Brings the tables to the newest format, by these steps.
fn migrate(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), Error> {
    let sqlite = |why| Error::sqlite(path, why);
    let known = steps.len() as i64;
    let found = format(connection).map_err(sqlite)?;
    let done = match found {
        Format::Empty => 0,
        Format::Ours(found) => match usize::try_from(found) {
            Ok(done) if done <= steps.len() => done,
            _ => return Err(Error::Newer { path: path.to_owned(), found, known }),
        },
        Format::Foreign => return Err(Error::Foreign { path: path.to_owned() }),
    };
    if done == steps.len() {
        return Ok(());
    }
    if done > 0 {
        keep_copy(connection, path, done)?;
    }
    let transaction = connection.transaction().map_err(sqlite)?;
    for sql in &steps[done..] {
        transaction.execute_batch(sql).map_err(sqlite)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
    transaction.pragma_update(None, "user_version", known).map_err(sqlite)?;
    transaction.commit().map_err(sqlite)
}

/// What a database holds.
enum Format {
    /// No tables.
    Empty,
    /// A ledger of this format.
    Ours(i64),
    /// Tables that are no ledger of a released gridmark.
    Foreign,
}

fn format(connection: &Connection) -> rusqlite::Result<Format> {
    let number = |query| connection.query_row(query, [], |row| row.get::<_, i64>(0));
    let (id, found) = (number("PRAGMA application_id")?, number("PRAGMA user_version")?);
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    Ok(match id {
        APPLICATION_ID if found > 0 => Format::Ours(found),
        0 if tables == 0 && found == 0 => Format::Empty,
        _ => Format::Foreign,
    })
}

/// Keeps a copy of a ledger that is about to be brought forward: `ledger.db.format-2`.
fn keep_copy(connection: &Connection, path: &Path, found: usize) -> Result<(), Error> {
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

/// How long a reader waits for a writer.
const READING_WAIT_MAX: Duration = Duration::from_secs(5);

/// Opens a ledger that is only to be read.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, Error> {
    let sqlite = |why| Error::sqlite(path, why);
    let read = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let as_it_lies = || connect(&unchanging(path), read | OpenFlags::SQLITE_OPEN_URI);
    let log = beside(path, "-wal");
    // Beside a database that nobody has open, SQLite would make files, which not everybody may, and
    // which the service could not use if they were another user's.
    let opened = if log.symlink_metadata().is_err() {
        as_it_lies()
    } else {
        connect(path, read).or_else(|error| match log.metadata() {
            Ok(log) if log.len() > 0 => Err(error),
            _ => as_it_lies().map_err(|_| error),
        })
    };
    let (connection, found) = opened.map_err(sqlite)?;
    let known = STEPS.len() as i64;
    match found {
        Format::Ours(found) if found > known => {
            Err(Error::Newer { path: path.to_owned(), found, known })
        }
        Format::Ours(found) if found < known => {
            Err(Error::Older { path: path.to_owned(), found, known })
        }
        Format::Ours(_) => Ok(connection),
        Format::Empty | Format::Foreign => Err(Error::Foreign { path: path.to_owned() }),
    }
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<(Connection, Format)> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(READING_WAIT_MAX)?;
    // Only a query shows whether it can be read.
    let found = format(&connection)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_of_an_older_format_is_migrated_and_a_copy_of_it_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.db");
        let mut connection = Connection::open(&path).expect("a database");
        prepare(&mut connection, &path).expect("the first format");
        connection
            .execute("INSERT INTO reports (path, length) VALUES ('a', 7)", [])
            .expect("a row");
        let next = "ALTER TABLE reports ADD COLUMN made_up INTEGER NOT NULL DEFAULT 3;";
        let steps = [STEPS[0], next];
        migrate(&mut connection, &path, &steps).expect("the next format");
        let row: (i64, i64) = connection
            .query_row("SELECT length, made_up FROM reports", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .expect("the row");
        assert_eq!(row, (7, 3));
        migrate(&mut connection, &path, &steps).expect("nothing to do");
        let copy = Connection::open(folder.path().join("ledger.db.format-1")).expect("the copy");
        assert!(matches!(format(&copy), Ok(Format::Ours(1))));
        let length: i64 =
            copy.query_row("SELECT length FROM reports", [], |row| row.get(0)).expect("the row");
        assert_eq!(length, 7);
        drop(connection);
        let mut connection = Connection::open(&path).expect("the database");
        let error = prepare(&mut connection, &path).expect_err("a newer format");
        assert!(
            error.to_string().contains("has format 2, and this gridmark knows formats up to 1")
        );
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.db");
        let mut connection = Connection::open(&path).expect("a database");
        prepare(&mut connection, &path).expect("the first format");
        let steps = [STEPS[0], "CREATE TABLE made_up (a); CREATE TABLE reports (again);"];
        migrate(&mut connection, &path, &steps).expect_err("a table that exists");
        assert!(matches!(format(&connection), Ok(Format::Ours(1))));
        let made_up = "SELECT count(*) FROM sqlite_schema WHERE name = 'made_up'";
        let tables: i64 = connection.query_row(made_up, [], |row| row.get(0)).expect("a count");
        assert_eq!(tables, 0);
    }

    #[test]
    fn a_trial_ledger_is_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.db");
        let mut connection = Connection::open(&path).expect("a database");
        let trial = "CREATE TABLE submissions (id INTEGER PRIMARY KEY); PRAGMA user_version = 3;";
        connection.execute_batch(trial).expect("a trial ledger");
        let error = prepare(&mut connection, &path).expect_err("it is refused");
        assert!(error.to_string().contains("is not a ledger of a released gridmark"), "{error}");
    }
}
