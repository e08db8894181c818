//! The service as a process. The name of each test is a promise.

mod archive;
mod crash;
mod deaths;
mod ends;
mod finding;
mod large;
mod limits;
mod marks;
mod names;
mod quarantine;
mod recovery;
mod reports;
mod settling;
mod surface;
mod watching;
mod why;
