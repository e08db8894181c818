//! The core of gridmark: what sudoku is, what a file says, and what is right.
//!
//! - [`Kind`]: the kinds of puzzle.
//! - [`board`]: cells, houses, faults and marks.
//! - [`mod@format`]: from bytes to cases.
//! - [`puzzle`]: puzzles as they were set, apart from anybody's submission.
//! - [`judge`]: from cases to marks.
//! - [`generate`]: cases whose correct answers are known.
//! - [`scoring`]: from marks and rulings to points and ranks.
//!
//! Each module may use those above it. Nothing here does I/O, reads a clock or starts a thread: the
//! crate is `no_std`, so the compiler enforces it. One private module asks the processor what it
//! can do, which only the standard library knows.
//!
//! # Grading a file
//!
//! ```
//! use gridmark_core::format::{Found, Limits, Reader};
//! use gridmark_core::judge::{Judge, Tier};
//!
//! let board = format!("0--------------0\n{}", "----------------\n".repeat(15));
//! let mut reader = Reader::new(None, Limits::default());
//! let mut found = Found::default();
//! reader.read(board.as_bytes(), true, &mut found);
//! let kind = reader.kind().expect("hexudoku is recognised by its first line");
//!
//! let mut marks = Vec::new();
//! Judge::new(Tier::best()).mark(board.as_bytes(), &found.cases, &found.puzzles, &mut marks);
//! assert_eq!(marks[0].answer(kind), "251");
//! assert_eq!(marks[0].detail(), "the board starts with 1 conflict");
//! ```
//!
//! # Adding a kind of puzzle
//!
//! Start with a variant of [`Kind`], its word and its place in [`Kind::ALL`]. From there the
//! compiler leads: each of these places has a `match` over kinds, or over what stands for them,
//! without a wildcard.
//!
//! | where | what the new kind needs |
//! |---|---|
//! | `board/mark.rs` | its answers in [`Mark::answer`](board::Mark::answer); new verdicts and [`Fault`](board::Fault)s if it has any |
//! | `format/detect.rs` | how its first line is recognised |
//! | `format/<kind>.rs` | a new module: `Boundaries`, which finds the ends of cases, and a reader for the text of one case |
//! | `format/mod.rs` | a [`CaseText`](format::CaseText) that stands for it |
//! | `format/reader.rs` | a `Stage` that holds its `Boundaries`; the message for unknown formats |
//! | `format/checkpoint.rs` | its `Boundaries` as words, and back (only the tests notice if the way back is missing) |
//! | `judge/mod.rs` | how its cases are marked; a kernel under `judge/kernel` only if speed calls for one |
//! | `judge/explain.rs` | which rules are broken, and where |
//! | `generate/<kind>.rs` | cases with known answers, for tests, benchmarks and `gridmark doctor` |
//!
//! Outside this crate the compiler leads to the drawings of `gridmark grade` (`cli/listing.rs`) and
//! the doctor's trial files (`audit/doctor/trial/samples.rs`), and to the oracle of the tests and the
//! fuzzers. Commands, file extensions, metrics and report columns follow from [`Kind::ALL`].

#![no_std]

extern crate alloc;

pub mod board;
mod cpu;
pub mod format;
pub mod generate;
pub mod judge;
mod kind;
pub mod puzzle;
pub mod scoring;

pub use kind::{Kind, UnknownKind};
