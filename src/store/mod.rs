//! What lasts: everything on disk that the service writes.
//!
//! - [`ledger`]: what has been claimed and marked. The other parts follow it.
//! - [`archive`]: the folders through which a submission's file goes.
//! - [`reports`]: the reports, and how they are rebuilt.
//! - [`in_flight`]: what is being graded, known also after the process has died.
//! - [`recovery`]: what an earlier run left behind is put right.
//! - [`lock`]: one instance per root.
//! - [`owner`]: whose the files are.
//! - [`disk`]: the room that is left.
//! - [`fail_point`]: steps at which tests have the process die; nothing in a release build.

pub mod archive;
pub mod disk;
pub mod durable;
pub mod fail_point;
pub mod in_flight;
pub mod ledger;
pub mod lock;
pub mod owner;
pub mod recovery;
pub mod reports;
