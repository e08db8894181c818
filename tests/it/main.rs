//! All integration tests, in one binary.

mod config;
mod http;
mod samples;
mod structure;
