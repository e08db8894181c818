//! All integration tests, in one binary.

mod cli;
mod command;
mod config;
mod core_kit;
mod explaining;
mod fuzz;
mod generate;
mod http;
mod judging;
mod kit;
mod log;
mod operation;
mod oracle;
mod reading;
mod readme;
mod relative_root;
mod samples;
mod serve;
mod structure;
mod tiers;
mod windows;
