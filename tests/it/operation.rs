//! What operators set up around the service, and what they are given: systemd, packages,
//! containers, manuals, what watches it.

mod container;
mod dashboard;
mod guest;
mod health;
mod man;
mod package;
mod prometheus;
mod promql;
mod queries;
mod reload;
mod runbook;
mod unit;

use std::path::PathBuf;

/// Where the system has this program.
fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    path.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Whether the system has this program; if not, that is said, and it is a failure where the variable
/// `expected` is set.
fn has_tool(name: &str, expected: &str) -> bool {
    let is_there = tool(name).is_some();
    if !is_there {
        assert!(std::env::var_os(expected).is_none(), "{expected} is set, and {name} is missing");
        eprintln!("SKIPPED, NOT TESTED: {name} is not installed");
    }
    is_there
}
