//! The service as a process. The name of each test is a promise.

mod archive;
mod ends;
mod finding;
mod marks;
mod names;
mod settling;
