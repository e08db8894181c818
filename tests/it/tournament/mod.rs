//! A tournament on a running service: entries, definitions that change, rulings, standings.

mod checks;
mod kills;
mod kit;
mod outputs;
mod rulings;
mod scoring;
mod takeover;

pub use kit::{Folder, SOLVED, hours_ago, relabelled, wait_for_judgements};
