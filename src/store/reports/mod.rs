//! The reports: what is beyond their committed length, files set aside, and rebuilding.

pub mod aside;
pub mod rebuild;
pub mod uncommitted;
