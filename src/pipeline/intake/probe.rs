//! Tests whether watches work in a folder, for `gridmark doctor`.

use super::mailbox::{Hints, Mailbox};
use super::watch::{Armed, Hint, Watches};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// The result of a test watch.
#[derive(Debug, PartialEq, Eq)]
pub enum WatchProbe {
    /// The event of a file came after this time.
    EventAfter(Duration),
    /// No event came in time.
    Silent,
    /// The system grants no more watches.
    Limit,
    /// The folder cannot be watched, for this reason.
    No(String),
}

/// Watches a new folder in the empty folder `within`, renames a file into it, and waits for the event.
///
/// # Errors
///
/// If the folder or the file cannot be created.
pub fn probe_watch(within: &Path, time_max: Duration) -> io::Result<WatchProbe> {
    let folder = within.join("watched");
    fs::create_dir(&folder)?;
    fs::write(within.join("renamed"), "1\n")?;
    let (mailbox, hints) = Mailbox::new();
    let mut watches = match Watches::new(move |event| mailbox.receive(event)) {
        Ok(watches) => watches,
        Err(why) => return Ok(WatchProbe::No(why)),
    };
    match watches.arm(&folder, &folder.metadata()?) {
        Armed::Yes => {}
        Armed::Limit => return Ok(WatchProbe::Limit),
        Armed::No(why) => return Ok(WatchProbe::No(why)),
    }
    let start = Instant::now();
    fs::rename(within.join("renamed"), folder.join("renamed"))?;
    Ok(if event_comes(&hints, &folder.join("renamed"), start + time_max) {
        WatchProbe::EventAfter(start.elapsed())
    } else {
        WatchProbe::Silent
    })
}

fn event_comes(hints: &Hints, path: &Path, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match hints.recv_timeout(left) {
            Ok(Some((found, Hint::Moved))) if found == path => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}
