//! All integration tests, in one binary.

mod cli;
mod command;
mod config;
mod core_kit;
mod explaining;
mod generate;
mod http;
mod judging;
mod log;
mod oracle;
mod reading;
mod samples;
mod structure;
mod tiers;
mod windows;
