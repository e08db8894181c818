//! The service as a process. The name of each test is a promise.

mod archive;
mod crash;
mod ends;
mod fail_points;
mod finding;
mod large;
mod limits;
mod marks;
mod model;
mod names;
mod recovery;
mod reports;
mod settling;
mod surface;
mod torn;
mod watching;
