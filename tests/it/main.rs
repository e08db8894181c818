//! Integration tests, in one binary.

mod core_kit;
mod explaining;
mod judging;
mod oracle;
mod reading;
mod samples;
mod windows;
