//! All integration tests, in one binary.

mod command;
mod config;
mod http;
mod kit;
mod log;
mod samples;
mod serve;
mod structure;
