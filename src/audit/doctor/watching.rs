//! Whether the system tells what happens in the inbox.

use super::contents::Inbox;
use super::file_system::milliseconds;
use super::finding::Finding;
use super::folders::Folders;
use crate::config::{Settings, Watch};
use crate::pipeline::intake::{WatchProbe, probe_watch};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How soon an event comes on a machine that is well.
const EVENT_TIME_GOOD: Duration = Duration::from_secs(1);
/// After this time no event comes any more.
const EVENT_TIME_MAX: Duration = Duration::from_secs(10);
/// How many folders may still come during an event.
const FOLDERS_MORE: u64 = 1_000;
/// With a shorter queue a burst of files loses events; scans make up for them.
const QUEUE_EVENTS_GOOD: u64 = 4_096;
/// A limit that is enough for every event.
const WATCHES_PLENTY: u64 = 524_288;

/// The limits of watches, and one watch tried out.
pub(super) fn watching(folders: &Folders, settings: &Settings, inbox: &Inbox) -> Vec<Finding> {
    let every = settings.intake.scan_every_ms;
    if settings.intake.watch == Watch::Off {
        let what = format!("off by intake.watch; scans find files within {every} ms");
        return vec![Finding::ok("watch", what)];
    }
    let mut findings = limits(inbox.folders as u64);
    let Some(scratch) = &folders.inbox.scratch else { return findings };
    let tried = scratch.folder("watch").and_then(|within| probe_watch(&within, EVENT_TIME_MAX));
    findings.push(event(tried, every));
    findings
}

fn event(tried: io::Result<WatchProbe>, every: u64) -> Finding {
    let scans = format!("files are found by scans alone, within {every} ms");
    let off = "set intake.watch = \"off\", so that it is known, or use a local file system";
    match tried {
        Ok(WatchProbe::EventAfter(time)) if time <= EVENT_TIME_GOOD => {
            let time = milliseconds(time);
            Finding::ok("watch", format!("an event told of a renamed file after {time}"))
        }
        Ok(WatchProbe::EventAfter(time)) => {
            let time = milliseconds(time);
            let what = format!("an event told of a renamed file only after {time}");
            Finding::warn("watch", what, "see what keeps this machine busy: top; iostat -x 1")
        }
        Ok(WatchProbe::Silent) => {
            let what = format!("no event told of a renamed file; {scans}");
            Finding::warn("watch", what, off)
        }
        Ok(WatchProbe::Limit) => {
            let what = format!("the system gives no more watches; {scans}");
            Finding::warn("watch", what, raise("max_user_watches", WATCHES_PLENTY))
        }
        Ok(WatchProbe::No(why)) => {
            let what = format!("the inbox cannot be watched: {why}; {scans}");
            Finding::warn("watch", what, raise("max_user_instances", 1_024))
        }
        Err(error) => {
            let what = format!("a watch cannot be tried out in the inbox: {error}");
            Finding::fail("watch", what, "see what is told of the inbox above")
        }
    }
}

fn raise(limit: &str, to: u64) -> String {
    format!(
        "sysctl -w fs.inotify.{limit}={to}; to keep it, put fs.inotify.{limit}={to} into \
         /etc/sysctl.d/90-gridmark.conf"
    )
}

fn limits(folders: u64) -> Vec<Finding> {
    let limit = |name: &str| {
        let read = |path: String| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let own = read(format!("/proc/sys/user/{}", name.replace("max_user", "max_inotify")));
        let all = read(format!("/proc/sys/fs/inotify/{name}"));
        own.into_iter().chain(all).min()
    };
    let (Some(watches), Some(instances)) = (limit("max_user_watches"), limit("max_user_instances"))
    else {
        return vec![Finding::note("watch", "the limits of watches cannot be told")];
    };
    let used = used();
    let queue = limit("max_queued_events");
    let found = format!(
        "the inbox and the folders in it are {folders}; of {watches} watches this user uses {}, of {instances} \
         instances {}; {} events queue",
        used.watches,
        used.instances,
        queue.map_or("unknown".to_owned(), |events| events.to_string())
    );
    let free = watches.saturating_sub(used.watches);
    if free < folders + FOLDERS_MORE {
        let what = format!("{found}: folders beyond the limit are found by scans alone");
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

/// What processes use of the limits, as far as they may be looked at: those of this user.
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
