//! What can go wrong with reports.

use crate::model::words::counted;
/// What keeps results from being committed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot write {0}")]
    Report(#[from] crate::store::reports::files::Error),
    #[error(
        "the disk that holds {folder} has {} free, fewer than publish.disk_free_bytes_min = {least}",
        counted(*free, "byte")
    )]
    DiskNearlyFull { folder: String, free: u64, least: u64 },
    #[error("cannot write to {folder}: {why}")]
    Disk { folder: String, why: String },
    #[error("cannot make the archive durable: {0}")]
    Archive(std::io::Error),
    #[error(transparent)]
    Ledger(#[from] crate::store::ledger::Error),
}
