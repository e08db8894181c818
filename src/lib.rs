//! gridmark grades sudoku submissions that are dropped into a folder.
//!
//! The rooms, from the ground up; each may use those that stand before it in this list, and no others:
//!
//! - `gridmark_core`, a crate of its own: boards, formats, judges, generated cases. No I/O, no clocks, no
//!   threads.
//! - [`http`]: connections of clients, within limits.
//! - [`puzzle`]: puzzles as files and links: every format that they are read and written in; certification.
//! - [`model`]: what all rooms share: names, claims, chunks of input, marking, rows of reports.
//! - [`config`]: settings, each with its origin.
//! - [`event`]: the tournament: what an event folder defines, and what follows from it.
//! - [`telemetry`]: every event with its log line and its metric; health.
//! - [`store`]: what lasts: ledger, archive, reports.
//! - [`access`]: who may what: codes of judges and entrants, the director's passphrase.
//! - [`pipeline`]: the stages: intake, queue, grading, publish.
//! - [`jury`]: what staff decide at an event: takeovers, rulings, judgements that are made again.
//! - [`page`]: the scoring-room page: what staff and the hall look at.
//! - [`service`]: starts, connects and drains the stages; HTTP for machines.
//! - [`audit`]: checks from outside: verify, backup, doctor.
//! - [`cli`]: the commands that people type.
//!
//! A submission goes through [`pipeline::intake`] (found, settled, claimed), [`pipeline::queue`],
//! [`pipeline::grading`] and [`pipeline::publish`] into the reports. `ARCHITECTURE.md` follows it by the names of
//! functions, and gives the invariants.

pub mod access;
pub mod audit;
pub mod cli;
pub mod config;
pub mod event;
pub mod http;
pub mod jury;
pub mod model;
pub mod page;
pub mod pipeline;
pub mod puzzle;
pub mod service;
pub mod store;
pub mod telemetry;
