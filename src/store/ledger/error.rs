//! Why the ledger cannot be used.

use crate::model::words::counted;
use crate::store::owner::Denied;
use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
use std::path::{Path, PathBuf};

/// What can go wrong with the ledger.
///
/// The messages include what SQLite or the system says, so it is not repeated as a cause.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite says no.
    #[error("the ledger {path}: {why}")]
    Sqlite {
        /// The ledger's file.
        path: PathBuf,
        /// What SQLite says.
        why: rusqlite::Error,
    },
    /// The user who runs this may not read the ledger.
    #[error("the ledger {0}; {remedy}", remedy = .0.remedy("gridmark ..."))]
    Denied(Denied),
    /// The ledger's file cannot be read.
    #[error("the ledger {path} cannot be read: {why}")]
    Unreadable {
        /// The ledger's file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The ledger's file has another name, too, under which another service may use it.
    #[error(
        "the ledger {path} is the same file as another one (it has {links} names): two services would damage \
         it; copy it (cp -p ledger.db copy, then mv copy ledger.db), with no service running"
    )]
    Linked {
        /// The ledger's file.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// The ledger is not as far as it had come.
    #[error(
        "the ledger {path} is not as far as it had come: what was committed last was in its log {log}, which is \
         gone or not the right one; put that back, or a whole copy of the ledger from a backup. To go on with \
         this one, remove {note}",
        path = .path.display(), log = .log.display(), note = .note.display()
    )]
    LogLost {
        /// The ledger's file.
        path: PathBuf,
        /// Its log.
        log: PathBuf,
        /// The note that says how far it had come.
        note: PathBuf,
    },
    /// The ledger's file was taken away, and cannot be put back.
    #[error("the ledger {path} was removed or replaced, and cannot be written again: {why}")]
    Misplaced {
        /// The ledger's file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The ledger's file was cut while it was in use, and cannot be made whole.
    #[error(
        "the ledger {path} was cut from {before} bytes to {bytes} while it was in use, and what is \
         left does not make it whole ({found}): stop the service and put a whole copy of it in its \
         place, from a backup"
    )]
    Cut {
        /// The ledger's file.
        path: PathBuf,
        /// How long it was.
        before: u64,
        /// How long it is.
        bytes: u64,
        /// What is missing, or why it cannot be written, as SQLite or the system says it.
        found: String,
    },
    /// A part of the ledger is lost.
    #[error(
        "the ledger {path} has {} and ends inside a page of {page}: the rest of it is lost; put a \
         whole copy of it in its place, from a backup",
        counted(*bytes, "byte")
    )]
    Torn {
        /// The ledger's file.
        path: PathBuf,
        /// How long it is.
        bytes: u64,
        /// How long its pages are.
        page: u64,
    },
    /// The ledger is no sound database any more.
    #[error(
        "the ledger {path} is damaged: {found}; put a whole copy of it in its place, from a backup"
    )]
    Damaged {
        /// The ledger's file.
        path: PathBuf,
        /// What SQLite says.
        found: String,
    },
    /// SQLite cannot keep its log there.
    #[error(
        "the ledger {path} cannot have a write-ahead log there, only the journal mode `{found}`: set paths.state to a \
         folder on a local disk"
    )]
    NoLog {
        /// The ledger's file.
        path: PathBuf,
        /// The journal mode that it has instead.
        found: String,
    },
    /// A copy of the ledger cannot be written.
    #[error("cannot copy the ledger {path} to {copy}: {why}")]
    Copy {
        /// The ledger's file.
        path: PathBuf,
        /// What was to be the copy.
        copy: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The ledger is empty, and it was not.
    #[error(
        "the ledger {path} is {what}, but there are marks in {reports}: it was lost; put a copy of it \
         in its place, from a backup, or, to start with an empty one, move the reports away"
    )]
    Lost {
        /// The ledger's file.
        path: PathBuf,
        /// What became of it, in a word.
        what: &'static str,
        /// The report with the marks.
        reports: PathBuf,
    },
    /// Another program wrote this database, or a gridmark from before the first release.
    #[error(
        "{path} is not a ledger of a released gridmark: another program or a trial version wrote it, \
         or it is damaged; put a copy of it in its place, from a backup, or move it and the reports \
         that belong to it away, and start again"
    )]
    Foreign {
        /// The ledger's file.
        path: PathBuf,
    },
    /// A newer gridmark wrote this ledger.
    #[error(
        "the ledger {path} has format {found}, and this gridmark knows formats up to {known}; \
         use the newer gridmark that wrote it, or put back the backup from before the upgrade"
    )]
    Newer {
        /// The ledger's file.
        path: PathBuf,
        /// The format of the file.
        found: i64,
        /// The newest format that this program knows.
        known: i64,
    },
    /// An older gridmark wrote this ledger, and it may only be read.
    #[error(
        "the ledger {path} has the older format {found}; start the service once, which migrates it \
         to format {known}"
    )]
    Older {
        /// The ledger's file.
        path: PathBuf,
        /// The format of the file.
        found: i64,
        /// The format that this program reads.
        known: i64,
    },
}

impl Error {
    /// What SQLite says of the ledger at `path`.
    pub(super) fn sqlite(path: &Path, why: rusqlite::Error) -> Error {
        let path = path.to_owned();
        // What has no code of its own, or none at all, is a table, column or value that is not as it was
        // written.
        match why.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase | Unknown) | None => {
                Error::Damaged { path, found: why.to_string() }
            }
            Some(_) => Error::Sqlite { path, why },
        }
    }

    /// Whether the ledger itself is broken or lost, so that nothing but a copy of it helps.
    pub fn is_loss(&self) -> bool {
        matches!(self, Error::Torn { .. } | Error::Damaged { .. } | Error::Lost { .. })
    }
}
