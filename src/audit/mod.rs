//! Whether all of it agrees: reports with ledger and archive, a machine with what the service needs.

pub mod backup;
pub mod doctor;
pub mod verify;
