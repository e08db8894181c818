//! All integration tests, in one binary.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a test says what it did not test")]
#![allow(clippy::disallowed_methods, reason = "a test runs in a process of its own")]

mod access;
mod browser;
mod chunks;
mod cli;
mod command;
mod config;
mod core_kit;
mod documents;
mod event;
mod explaining;
mod fuzz;
mod generate;
mod http;
mod judging;
mod kit;
mod log;
mod operation;
mod oracle;
mod page;
mod power;
mod puzzles;
mod reading;
mod relative_root;
mod samples;
mod serve;
mod structure;
mod tiers;
mod tournament;
