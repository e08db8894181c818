//! What lasts: everything on disk that the service writes.
//!
//! - [`ledger`]: what has been claimed and marked. The other parts follow it.
//! - [`definitions`]: what defined the event when a submission was taken, by its number in the ledger.
//! - [`archive`]: the folders through which a submission's file goes.
//! - [`reports`]: the reports, and how they are rebuilt.
//! - [`in_flight`]: a journal of what is being graded, which outlives a crash of the process.
//! - [`recovery`]: a start recovers from the end of an earlier run.
//! - [`durable`]: what a commit rests on survives a loss of power.
//! - [`lock`]: one service for each folder.
//! - [`roots`]: the five folders: that they are apart, and where they may be created.
//! - [`socket`]: by which commands reach a running service.
//! - [`mounts`]: the table of mounted file systems.
//! - [`owner`]: the owner and mode of files that are created.
//! - [`disk`]: free space.
//! - [`path`]: names beside a file, and what errors say about paths.
//! - [`fail_point`]: steps at which a test crashes the process; nothing in a release build.

pub mod archive;
pub mod definitions;
pub mod disk;
pub mod durable;
pub mod fail_point;
pub mod in_flight;
pub mod ledger;
pub mod lock;
pub mod mounts;
pub mod owner;
pub mod path;
pub mod recovery;
pub mod reports;
pub mod roots;
pub mod socket;
