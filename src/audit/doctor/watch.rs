//! Checks that the system reports changes in the inbox by events.

use super::contents::Inbox;
use super::finding::{Finding, milliseconds};
use super::folders::Folders;
use super::machine::number_in;
use crate::config::{Settings, Watch};
use crate::pipeline::intake::{WatchProbe, probe_watch};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// An event that takes longer is a warning.
const EVENT_TIME_GOOD: Duration = Duration::from_secs(1);
/// How long an event is waited for.
const EVENT_TIME_MAX: Duration = Duration::from_secs(10);
/// How many more folders may appear in the inbox at a tournament.
const FOLDERS_MORE: u64 = 1_000;
/// With a shorter queue, a burst of files loses events, and a scan has to find those files.
const QUEUE_EVENTS_GOOD: u64 = 4_096;
/// A number of watches that is enough for every tournament.
const WATCHES_PLENTY: u64 = 524_288;

/// Checks the limits on watches, and tests one watch.
pub(super) fn findings(folders: &Folders, settings: &Settings, inbox: &Inbox) -> Vec<Finding> {
    let every = settings.intake.scan_every_ms;
    if settings.intake.watch == Watch::Off {
        let what = format!("turned off by intake.watch; scans find files within {every} ms");
        return vec![Finding::ok("watch", what)];
    }
    let mut findings = limits(inbox.folders as u64);
    let Some(scratch) = &folders.inbox.scratch else { return findings };
    let tried = scratch.folder("watch").and_then(|within| probe_watch(&within, EVENT_TIME_MAX));
    findings.push(event(tried, every));
    findings
}

fn event(tried: io::Result<WatchProbe>, every: u64) -> Finding {
    let scans = format!("files are found only by scans, within {every} ms");
    let off = "use a local file system, or set intake.watch = \"off\" to make this explicit";
    match tried {
        Ok(WatchProbe::EventAfter(time)) if time <= EVENT_TIME_GOOD => {
            let time = milliseconds(time);
            Finding::ok("watch", format!("an event reported a renamed file after {time}"))
        }
        Ok(WatchProbe::EventAfter(time)) => {
            let time = milliseconds(time);
            let what = format!("an event reported a renamed file only after {time}");
            Finding::warn("watch", what, "find out what keeps this machine busy: top; iostat -x 1")
        }
        Ok(WatchProbe::Silent) => {
            let what = format!("no event reported a renamed file; {scans}");
            Finding::warn("watch", what, off)
        }
        Ok(WatchProbe::Limit) => {
            let what = format!("the system grants no more watches; {scans}");
            Finding::warn("watch", what, raise("max_user_watches", WATCHES_PLENTY))
        }
        Ok(WatchProbe::No(why)) => {
            let what = format!("the inbox cannot be watched: {why}; {scans}");
            Finding::warn("watch", what, raise("max_user_instances", 1_024))
        }
        Err(error) => {
            let what = format!("a watch cannot be tested in the inbox: {error}");
            Finding::fail("watch", what, "see the findings about inbox above")
        }
    }
}

fn raise(limit: &str, to: u64) -> String {
    format!(
        "sysctl -w fs.inotify.{limit}={to}; to keep it after a reboot, write fs.inotify.{limit}={to} \
         to /etc/sysctl.d/90-gridmark.conf"
    )
}

fn limits(folders: u64) -> Vec<Finding> {
    let limit = |name: &str| {
        let own = name.replace("max_user", "max_inotify");
        let own = number_in(&format!("/proc/sys/user/{own}"));
        let all = number_in(&format!("/proc/sys/fs/inotify/{name}"));
        own.into_iter().chain(all).min()
    };
    let (Some(watches), Some(instances)) = (limit("max_user_watches"), limit("max_user_instances"))
    else {
        return vec![Finding::note("watch", "cannot determine the limits on watches")];
    };
    let used = used();
    let queue = limit("max_queued_events");
    let found = format!(
        "folders to watch: {folders}; this user uses {} of {watches} watches and {} of \
         {instances} instances; the queue holds {} events",
        used.watches,
        used.instances,
        queue.map_or("an unknown number of".to_owned(), |events| events.to_string())
    );
    let free = watches.saturating_sub(used.watches);
    if free < folders + FOLDERS_MORE {
        let what = format!("{found}: in folders beyond the limit, files are found only by scans");
        return vec![Finding::warn("watch", what, raise("max_user_watches", WATCHES_PLENTY))];
    }
    if used.instances >= instances {
        let what = format!("{found}: the inbox cannot be watched");
        return vec![Finding::warn("watch", what, raise("max_user_instances", 1_024))];
    }
    if queue.is_some_and(|events| events < QUEUE_EVENTS_GOOD) {
        let what = format!("{found}: a burst of files loses events, which costs a scan each time");
        return vec![Finding::warn("watch", what, raise("max_queued_events", 16_384))];
    }
    vec![Finding::ok("watch", found)]
}

/// What the processes of this user use of the limits.
#[derive(Default)]
struct Used {
    watches: u64,
    instances: u64,
}

fn used() -> Used {
    let mut used = Used::default();
    let us = rustix::process::geteuid().as_raw();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        use std::os::unix::fs::MetadataExt;
        let is_process = process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if !is_process || process.metadata().map_or(true, |found| found.uid() != us) {
            continue;
        }
        for descriptor in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let is_watcher = fs::read_link(descriptor.path())
                .is_ok_and(|target| target == Path::new("anon_inode:inotify"));
            if is_watcher {
                let info = process.path().join("fdinfo").join(descriptor.file_name());
                let info = fs::read_to_string(info).unwrap_or_default();
                used.instances += 1;
                used.watches +=
                    info.lines().filter(|line| line.starts_with("inotify wd:")).count() as u64;
            }
        }
    }
    used
}
