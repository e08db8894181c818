//! What somebody else left where a report belongs is never written over.

use crate::event;
use crate::submission::Name;
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
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".aside-{n}"));
        let aside = PathBuf::from(aside);
        if aside.symlink_metadata().is_ok() {
            continue;
        }
        std::fs::rename(path, &aside)?;
        event::report_set_aside(name, &aside, why);
        return Ok(aside);
    }
}
