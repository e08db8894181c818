//! All integration tests, in one binary.

mod cli;
mod command;
mod config;
mod generate;
mod http;
mod log;
mod samples;
mod structure;
