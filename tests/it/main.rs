//! Integration tests, in one binary.

mod samples;
