//! The fuzz targets as a library, so that each program in `bin/` is one line.
//!
//! They share the oracle and the kit of the tests, which use them in turn: tests/it/fuzz.rs runs
//! every target over its seeds and its corpus.

#![allow(dead_code, reason = "each program uses a part")]
#![allow(clippy::unwrap_used, reason = "a fuzz target may fail where it stands")]

#[path = "../it/core_kit.rs"]
mod core_kit;
#[path = "../it/oracle.rs"]
mod oracle;

pub mod targets;
