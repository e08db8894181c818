//! A watch tried out, before there is anything to miss.

use super::watch::{Armed, Hint, Mailbox, Watches};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// What came of a watch.
#[derive(Debug, PartialEq, Eq)]
pub enum Watched {
    /// An event told of a file so soon.
    After(Duration),
    /// No event came in time.
    Silent,
    /// The system gives no more watches.
    Limit,
    /// There can be no watch, for this reason.
    No(String),
}

/// Watches a new folder in `within`, which is empty, renames a file into it, and waits for the event
/// that tells of it.
///
/// # Errors
///
/// If folder and file cannot be made.
pub fn try_watch(within: &Path, time_max: Duration) -> io::Result<Watched> {
    let folder = within.join("watched");
    fs::create_dir(&folder)?;
    fs::write(within.join("renamed"), "1\n")?;
    let (mailbox, hints) = Mailbox::new();
    let mut watches = match Watches::new(&mailbox) {
        Ok(watches) => watches,
        Err(why) => return Ok(Watched::No(why)),
    };
    match watches.arm(&folder, folder.metadata()?.ino()) {
        Armed::Yes => {}
        Armed::Limit => return Ok(Watched::Limit),
        Armed::No(why) => return Ok(Watched::No(why)),
    }
    let start = Instant::now();
    fs::rename(within.join("renamed"), folder.join("renamed"))?;
    Ok(if comes(&hints, &folder.join("renamed"), start + time_max) {
        Watched::After(start.elapsed())
    } else {
        Watched::Silent
    })
}

fn comes(
    hints: &Receiver<Option<(std::path::PathBuf, Hint)>>,
    path: &Path,
    until: Instant,
) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match hints.recv_timeout(left) {
            Ok(Some((found, Hint::Moved))) if found == path => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}
