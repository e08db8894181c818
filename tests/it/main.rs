//! All integration tests, in one binary.

mod command;
mod config;
mod http;
mod log;
mod samples;
mod structure;
