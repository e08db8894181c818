//! The service as a process. The promises P1 to P8 are named by the tests behind them.

mod archive;
mod blocked;
mod clients;
mod crash;
mod crashes;
mod disks;
mod ends;
mod fail_points;
mod file_sizes;
mod finding;
mod hostile;
mod large;
mod limits;
mod marks;
mod model;
mod names;
mod quarantine;
mod recovery;
mod reports;
mod settling;
mod soak;
mod surface;
mod torn;
mod watching;
mod why;
mod writers;
