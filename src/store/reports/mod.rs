//! The report files: appended to, assessed, rebuilt, set aside.
//!
//! A report holds exactly the rows that the ledger has committed to it, in that order, so it can always be
//! rebuilt from the ledger and the archive. [`files`] appends rows. [`assess`] compares a report with the
//! ledger; everything that has to know whether a report is intact asks there. A report that was changed
//! by somebody else is marked in the ledger. From then on commits record marks and their order and append
//! nothing to it, until [`rebuilder`] has rebuilt it in the background and put it in its place between two
//! commits. [`aside`] keeps what stood there: nothing that somebody wrote is overwritten.

pub mod aside;
pub mod assess;
pub mod files;
pub mod rebuild;
pub mod rebuilder;
