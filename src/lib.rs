//! gridmark grades sudoku.
//!
//! Data flows one way: intake, queue, grade, publish. The modules in reading order:
//!
//! The pure core, which knows no I/O, no clock and no threads:
//!
//! - [`board`]: what sudoku is: cells, houses, faults, marks.
//! - [`mod@format`]: what a file says: from bytes to cases.
//! - [`judge`]: what is right: from cases to marks.
//! - [`generate`]: work to grade whose right answers are known.
//!
//! What the stages share:
//!
//! - [`printable`]: names, paths and messages as a terminal, a log and a table may have them.
//! - [`owner`]: whose the files are, and as whom to look at them.
//! - [`submission`]: the words: a submission's name, what is known of it, how far it has come.
//! - [`windows`]: an input read window by window, with the cases in each.
//! - [`fail_point`]: moments at which tests have the process die; nothing in a release build.
//! - [`event`]: everything that can happen: its log line and its metric, once.
//! - [`health`]: whether the service is alive and ready, and why not.
//! - [`ledger`]: what has been claimed and marked.
//! - [`archive`]: the folders through which a submission's file goes.
//! - [`disk`]: the room that is left.
//! - [`under_way`]: what is being graded, known also after the process has died.
//! - [`rows`]: the rows of the reports.
//! - [`uncommitted`]: rows that a crash left in a report, told from what somebody has put there.
//! - [`marking`]: cases are marked and get their rows.
//! - [`aside`]: what somebody else left where a report belongs is kept.
//!
//! The stages, which know of the shell only what they share:
//!
//! - [`intake`]: which files are ready and ours.
//! - [`queue`]: the bounded hand-over to grading.
//! - [`grading`]: from taken files to rows and marks, on the [`pool`] of threads.
//! - [`publish`]: rows appended, made durable, committed.
//! - [`pool`]: the named pool of threads.
//!
//! The whole:
//!
//! - [`rebuild`]: reports written anew from the ledger and the archive, byte for byte.
//! - [`verify`]: whether archive, ledger and reports agree.
//! - [`backup`]: a copy of all three, taken at one moment.
//! - [`recovery`]: what an earlier run left behind is put right.
//! - [`lock`]: one instance per root.
//! - [`service`]: builds the stages, wires them, runs them and ends them in order.
//!
//! The surface:
//!
//! - [`config`]: settings from defaults, file, environment and flags, each with its origin.
//! - [`http`]: metrics and health on one address.
//! - [`log`]: what is told on standard error.
//! - [`doctor`]: whether a machine has what the service needs.
//! - [`cli`]: the commands that people type.

pub mod archive;
pub mod aside;
pub mod backup;
pub mod board;
pub mod cli;
pub mod config;
pub mod disk;
pub mod doctor;
pub mod event;
pub mod fail_point;
pub mod format;
pub mod generate;
pub mod grading;
pub mod health;
pub mod http;
pub mod intake;
pub mod judge;
pub mod ledger;
pub mod lock;
pub mod log;
pub mod marking;
pub mod owner;
pub mod pool;
pub mod printable;
pub mod publish;
pub mod queue;
pub mod rebuild;
pub mod recovery;
pub mod rows;
pub mod service;
pub mod submission;
pub mod uncommitted;
pub mod under_way;
pub mod verify;
pub mod windows;
