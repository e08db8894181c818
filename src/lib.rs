//! gridmark grades sudoku submissions that are dropped into a folder.
//!
//! # The rooms
//!
//! From the ground up; each may use those above it in this list and no others:
//!
//! - `gridmark_core`, a crate of its own: boards, formats, judges, generated cases. No I/O, no clocks, no
//!   threads.
//! - [`model`]: the words that all rooms share: names, claims, tallies, rows of reports.
//! - [`config`]: settings, each with its origin.
//! - [`telemetry`]: every event with its log line and its metric; health.
//! - [`store`]: what lasts: ledger, archive, reports.
//! - [`pipeline`]: the stages: intake, queue, grading, publish. They meet only at the queue.
//! - [`service`]: starts, connects and drains the stages; HTTP for machines.
//! - [`audit`]: checks from outside: verify, backup, doctor.
//! - [`cli`]: the commands that people type.
//!
//! # The way of a submission
//!
//! 1. **Start.** `cli::serve::run` reads the settings and calls [`service::run`]. `service::start::prepare`
//!    takes the lock, opens the ledger, repairs reports ([`Rebuild::run`]) and sorts out what an earlier
//!    run left ([`recover`]). `Stages::start` gives each stage its threads.
//! 2. **Find.** A file appears in the inbox. The watch sends a hint, which `Scanning::follow` looks up; or
//!    `Scanning::step` comes across the file on its walk, which finds it even if the hint is lost.
//! 3. **Settle.** `Settling::see` remembers the state of the file. `Settling::due` names it once it has been
//!    renamed into place, or closed and unchanged for the settle time.
//! 4. **Claim.** `Claiming::claim` asks [`Queue::admit`] for room and [`Archive::inspector`] whether
//!    somebody still writes to the file. [`Ledger::claim`] records a batch of claims in one transaction, and
//!    only then does [`Taker::take`] rename each file into the archive. From here on the submission is ours:
//!    a crash at any later point ends in a grade at the next start.
//! 5. **Wait.** [`Queue::push_all`] puts the claim into the lane of small or of large files. In each lane
//!    folders take turns.
//! 6. **Grade.** `Grading::run_batches` takes small files by [`Queue::next_batch`] and marks them together;
//!    `Grading::run_streams` takes a large file by [`Queue::next_large`] and marks it chunk by chunk. Both
//!    note in the in-flight journal what they work on, so that a file that ends the process is recognised.
//!    `gridmark_core` finds the cases and gives each its mark; [`CaseRows`] makes them rows.
//! 7. **Publish.** [`Publisher::run`] collects results for a short time and commits them together: it
//!    appends the rows to the reports, syncs the reports, and then [`Ledger::commit`] records the marks and
//!    the new lengths of the reports in one transaction. What a report has beyond its recorded length does
//!    not count, and the next start cuts it off. So each case has exactly one row, whenever the power
//!    fails.
//! 8. **End.** A signal calls `Stages::drain`: intake takes no more files, and what was taken is graded and
//!    committed.
//!
//! [`Rebuild::run`]: store::reports::rebuild::Rebuild::run
//! [`recover`]: store::recovery::recover
//! [`Queue::admit`]: pipeline::queue::Queue::admit
//! [`Queue::push_all`]: pipeline::queue::Queue::push_all
//! [`Queue::next_batch`]: pipeline::queue::Queue::next_batch
//! [`Queue::next_large`]: pipeline::queue::Queue::next_large
//! [`Archive::inspector`]: store::archive::Archive::inspector
//! [`Ledger::claim`]: store::ledger::Ledger::claim
//! [`Ledger::commit`]: store::ledger::Ledger::commit
//! [`Taker::take`]: store::archive::Taker::take
//! [`CaseRows`]: model::rows::CaseRows
//! [`Publisher::run`]: pipeline::publish::Publisher::run

pub mod audit;
pub mod cli;
pub mod config;
pub mod model;
pub mod pipeline;
pub mod service;
pub mod store;
pub mod telemetry;
