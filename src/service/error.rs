//! Why the service did not start.

use crate::model::escape;
use crate::store::ledger;
use crate::store::lock;
use crate::store::recovery;
use crate::store::reports::{files, rebuild};
use crate::store::roots::Overlap;
use gridmark_core::judge::UnsupportedTier;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A folder cannot be created.
    #[error("cannot create the folder {}", escape::path(path))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The folder in which one is to be created does not exist.
    #[error(
        "cannot create the folder {}: {} does not exist; if the path is right, create that first",
        escape::path(path),
        escape::path(above)
    )]
    NoPlace {
        /// The folder.
        path: PathBuf,
        /// The one that does not exist.
        above: PathBuf,
    },
    /// A folder is a link to nothing.
    #[error(
        "{} is a link to {}, which does not exist; create that, or remove the link",
        escape::path(path),
        escape::path(target)
    )]
    Dangling {
        /// The folder.
        path: PathBuf,
        /// What the link leads to.
        target: PathBuf,
    },
    /// Two of the folders are not apart.
    #[error("{0}; set them to folders apart")]
    Overlap(Overlap),
    /// Another service works on this root.
    #[error(transparent)]
    Lock(#[from] lock::Error),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// A file in the state folder cannot be written.
    #[error("cannot write {}", escape::path(path))]
    State {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The reports cannot be used.
    #[error("cannot open {0}")]
    Reports(#[from] files::Error),
    /// What an earlier run left cannot be recovered.
    #[error(transparent)]
    Recovery(#[from] recovery::Error),
    /// A report cannot be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] rebuild::Error),
    /// The address for metrics and health cannot be used.
    #[error("cannot listen on {address}; --listen takes another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The setting `grade.tier` names kernels that this CPU cannot run.
    #[error("the setting grade.tier")]
    Tier(#[from] UnsupportedTier),
    /// The hard limit of open files is too low.
    #[error(
        "{most} files may be open, and with these settings the service needs at least {needed} \
         descriptors: raise LimitNOFILE in the systemd unit, or ulimit -Hn"
    )]
    Descriptors {
        /// The limit.
        most: usize,
        /// How many descriptors the settings need.
        needed: usize,
    },
    /// The system refuses something that the service needs.
    #[error("cannot start {what}")]
    System {
        /// What it refuses.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
}
