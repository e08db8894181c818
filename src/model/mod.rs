//! The words that all rooms share. Nothing here does I/O of its own, but for opening the files that people name.
//!
//! - [`submission`]: a submission's name, what is known of it, how far it has come.
//! - [`chunks`]: an input read in chunks of whole cases.
//! - [`marking`]: cases are marked and get their rows.
//! - [`rows`]: the rows of the reports.
//! - [`named`]: the files that people name, opened so that nothing waits for ever.
//! - [`ruling`]: what staff decide, as it is recorded.
//! - [`words`]: words of messages that depend on a number, such as that of an error.
//! - [`escape`]: names, paths and messages as a terminal, a log and a table may have them.

pub mod chunks;
pub mod escape;
pub mod marking;
pub mod named;
pub mod rows;
pub mod ruling;
pub mod submission;
pub mod words;
