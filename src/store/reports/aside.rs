//! What somebody else left where a report belongs is never written over.

use crate::model::submission::Name;
use crate::store::path::beside;
use crate::telemetry::emit;
use std::io;
use std::path::{Path, PathBuf};

/// Renames what somebody else left where a report belongs, so that it stays as they left it; where
/// it is then.
///
/// # Errors
///
/// If it cannot be renamed.
pub fn set_aside(name: &Name, path: &Path, why: &str) -> io::Result<PathBuf> {
    let mut n = 0;
    loop {
        n += 1;
        let aside = beside(path, &format!(".aside-{n}"));
        if aside.symlink_metadata().is_ok() {
            continue;
        }
        std::fs::rename(path, &aside)?;
        emit::report_set_aside(name, &aside, why);
        return Ok(aside);
    }
}
