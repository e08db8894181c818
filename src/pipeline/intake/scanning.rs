//! Finds what lies in the inbox: by whole scans on a timer, by one whenever events may have been lost,
//! and in between where hints of the watcher point.

use super::arrival::Arrivals;
use super::mailbox::Mailbox;
use super::reported::Reported;
use super::rules::{LeftAlone, Rules};
use super::walk::{Entry, Guide, Walk};
use super::watch::{Armed, Hint, Watches};
use crate::config;
use crate::model::escape;
use crate::model::named::dangling;
use crate::model::submission::Name;
use crate::telemetry::emit::{self, ScanReason, WatchMode};
use crate::telemetry::health::{Concern, Health};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A file of the inbox.
pub(super) struct Found {
    pub(super) name: Name,
    pub(super) metadata: Metadata,
}

/// What one step of the walk came to.
pub(super) enum Step {
    /// A file.
    File(Found),
    /// Something that is no submission.
    Other,
    /// The end of the walk.
    Over,
}

/// A whole scan in progress.
struct Scan {
    started: Instant,
    ignored: u64,
    unreadable_folders: usize,
    /// Why another one is to follow it.
    again: Option<ScanReason>,
}

/// Scans and watches of the inbox.
pub(super) struct Scanning {
    health: Arc<Health>,
    watching: Watching,
    walk: Walk,
    scan: Option<Scan>,
    next_scan: Instant,
    /// How many whole scans were finished, and how many could not read the inbox at all.
    finished: u32,
    failed: u32,
    /// Folders that the last scan could not read.
    unreadable_folders: usize,
    /// Since when scans have found such a folder, and which one and why it cannot be read.
    unreadable_folder: Option<(Instant, String)>,
    reported: Reported,
}

impl Scanning {
    /// Scans of this inbox that have not started.
    pub(super) fn new(
        inbox: &Path,
        health: Arc<Health>,
        settings: Arc<config::Intake>,
        by: WatchBy,
        open_folders_max: usize,
    ) -> Scanning {
        let inbox = inbox.to_owned();
        Scanning {
            health,
            watching: Watching {
                by,
                watches: None,
                mode: None,
                settings,
                arrivals: Arrivals::new(&inbox),
                inbox,
            },
            walk: Walk::new(open_folders_max),
            scan: None,
            next_scan: Instant::now(),
            finished: 0,
            failed: 0,
            unreadable_folders: 0,
            unreadable_folder: None,
            reported: Reported::default(),
        }
    }

    /// Starts the watcher and the first scan.
    pub(super) fn start(&mut self) {
        self.watching.start();
        self.start_scan(ScanReason::Start);
    }

    /// Takes over changed settings. Files that were left alone may be taken now, so a scan is due.
    pub(super) fn set_settings(&mut self, settings: Arc<config::Intake>) {
        let watch_changed = settings.watch != self.watching.settings.watch;
        self.watching.settings = settings;
        if watch_changed {
            self.watching.start();
        }
        self.reported.clear();
        self.next_scan = Instant::now();
    }

    /// When the next whole scan is due.
    pub(super) fn next_scan(&self) -> Instant {
        self.next_scan
    }

    /// Whether there is nothing to walk through at the moment.
    pub(super) fn is_over(&self) -> bool {
        self.walk.is_over()
    }

    /// Whether no scan is in progress, and one was finished or this many failed.
    pub(super) fn has_scanned(&self, tries: u32) -> bool {
        self.scan.is_none() && (self.finished > 0 || self.failed >= tries)
    }

    /// How many folders the last scan could not read.
    pub(super) fn unreadable_folders(&self) -> usize {
        self.unreadable_folders
    }

    /// Since when scans have found a folder that cannot be read; and which one and why, in words.
    pub(super) fn unreadable_folder(&self) -> Option<(Instant, &str)> {
        self.unreadable_folder.as_ref().map(|(since, why)| (*since, why.as_str()))
    }

    /// The watcher failed, for this reason: events may be missing.
    pub(super) fn watch_failed(&mut self, why: &str) {
        emit::watch_failed(why);
        self.start_scan(ScanReason::WatchError);
    }

    /// This queue of events overflowed. New folders may have no watch, and watched ones may be gone: all
    /// watches are dropped, and the scan sets each before it reads its folder.
    pub(super) fn events_lost(&mut self, queue: &'static str) {
        emit::watch_overflowed(queue);
        if let Some(watches) = &mut self.watching.watches {
            watches.retain(|_| false);
        }
        self.start_scan(ScanReason::Overflow);
    }

    /// Starts a scan if it is time for one.
    pub(super) fn start_due_scan(&mut self) {
        if self.next_scan <= Instant::now() {
            self.start_scan(ScanReason::Timer);
        }
    }

    /// Starts a whole scan; one in progress is finished first.
    fn start_scan(&mut self, reason: ScanReason) {
        if let Some(scan) = &mut self.scan {
            if reason != ScanReason::Timer {
                scan.again = Some(reason);
            }
            return;
        }
        emit::scan_started(reason);
        self.walk.clear();
        self.walk.add_inbox();
        self.scan =
            Some(Scan { started: Instant::now(), ignored: 0, unreadable_folders: 0, again: None });
        self.next_scan = Instant::now() + self.period();
    }

    fn period(&self) -> Duration {
        Duration::from_millis(self.watching.settings.scan_every_ms)
    }

    /// Walks on to the next entry.
    pub(super) fn step(&mut self) -> Step {
        match self.walk.next(&mut self.watching) {
            Some(Entry::File(name, metadata)) => Step::File(Found { name, metadata }),
            Some(Entry::Ignored(name, reason)) => {
                if let Some(scan) = &mut self.scan {
                    scan.ignored += 1;
                }
                self.ignore(name, reason);
                Step::Other
            }
            Some(Entry::Failed(folder, error)) => {
                if let Some(scan) = &mut self.scan {
                    scan.unreadable_folders += 1;
                }
                self.folder_failed(&folder, &error);
                Step::Other
            }
            None => Step::Over,
        }
    }

    fn ignore(&mut self, name: Name, reason: LeftAlone) {
        if self.reported.is_new(&name) {
            emit::ignored(&name, &self.watching.rules().explain(&name, reason));
        }
    }

    fn folder_failed(&mut self, folder: &Name, error: &io::Error) {
        self.watching.arrivals.not_read(folder);
        let inbox = &self.watching.inbox;
        let path = inbox.join(folder.as_path());
        emit::scan_failed(&path, error);
        if !folder.as_bytes().is_empty() {
            self.unreadable_folder.get_or_insert_with(|| {
                let path = escape::path(&path);
                (Instant::now(), format!("cannot read a folder of the inbox, {path}: {error}"))
            });
            return;
        }
        let shown = escape::path(inbox);
        let reason = match dangling(inbox) {
            Some(target) => {
                let target = escape::path(&target);
                format!("the inbox {shown} is a link to {target}, which does not exist")
            }
            None => format!("cannot read the inbox {shown}: {error}"),
        };
        self.health.set_not_ready(Concern::Inbox, reason);
        if error.kind() == io::ErrorKind::NotFound {
            // Files can be dropped again as soon as it exists again.
            let _ = std::fs::create_dir_all(inbox);
        }
        self.walk.clear();
        self.scan = None;
        self.failed += 1;
        self.unreadable_folders = 1;
    }

    /// Ends a whole scan whose walk is over, if there is one; returns whether there was. The next one is
    /// due early if the last one `missed` files.
    pub(super) fn finish_scan(&mut self, missed: impl FnOnce() -> bool) -> bool {
        let Some(scan) = self.scan.take() else {
            return false;
        };
        emit::scan_finished(scan.started.elapsed(), scan.ignored);
        if let Some(more) = self.reported.end_scan(Instant::now()) {
            emit::more_ignored(more);
        }
        self.finished += 1;
        self.unreadable_folders = scan.unreadable_folders;
        if scan.unreadable_folders == 0 {
            self.unreadable_folder = None;
        }
        self.watching.walked();
        self.health.set_ready(Concern::Inbox);
        let has_missed = missed();
        self.watching.arrivals.scanned(scan.started, has_missed);
        if has_missed {
            self.next_scan = Instant::now();
        }
        self.next_scan = self.next_scan.max(Instant::now() + self.period() / 4);
        if let Some(reason) = scan.again {
            self.start_scan(reason);
        }
        true
    }

    /// Follows a hint to the file that it points to. A folder is added to the walk.
    pub(super) fn follow(&mut self, path: &Path, hint: Hint) -> Option<Found> {
        if hint == Hint::FolderGone {
            self.watching.disarm(path);
            // The event may come late, when another folder has this path.
            if !path.is_dir() {
                return None;
            }
        }
        let bytes = path.strip_prefix(&self.watching.inbox).ok()?.as_os_str().as_encoded_bytes();
        if bytes.is_empty() {
            self.start_scan(ScanReason::Folder);
            return None;
        }
        let name = Name::from_bytes(bytes);
        let rules = self.watching.rules();
        if name.as_path().iter().any(|part| rules.by_name(part).is_some()) {
            return None;
        }
        let metadata = path.symlink_metadata();
        let is_folder = metadata.as_ref().is_ok_and(Metadata::is_dir);
        if let Some(reason) = rules.by_path(&name, is_folder) {
            self.ignore(name, reason);
            return None;
        }
        let metadata = metadata.ok()?;
        if let Some(reason) = rules.by_type(metadata.file_type()) {
            self.ignore(name, reason);
            return None;
        }
        if metadata.is_file() {
            return Some(Found { name, metadata });
        }
        match hint {
            Hint::Moved => {
                self.watching.disarm(path);
                self.watching.arrivals.folder_moved(&name, &metadata);
            }
            Hint::Folder => self.watching.arrivals.folder_made(&name, &metadata),
            _ => {}
        }
        emit::scan_started(ScanReason::Folder);
        self.walk.add_folder(name);
        None
    }

    /// What is known about arrivals.
    pub(super) fn arrivals(&mut self) -> &mut Arrivals {
        &mut self.watching.arrivals
    }

    /// The file of this name, if it is still in the inbox.
    pub(super) fn find(&self, name: Name) -> Result<Found, Name> {
        match self.watching.inbox.join(name.as_path()).symlink_metadata() {
            Ok(metadata) if metadata.is_file() => Ok(Found { name, metadata }),
            _ => Err(name),
        }
    }
}

/// Whether the inbox may be watched.
pub(super) enum WatchBy {
    /// Its events go into this mailbox, if the settings allow it.
    Events(Arc<Mailbox>),
    /// Scans are enough for a run that ends by itself.
    Scans,
}

/// The watches, and what the walk through the inbox asks for.
struct Watching {
    by: WatchBy,
    watches: Option<Watches>,
    mode: Option<WatchMode>,
    settings: Arc<config::Intake>,
    arrivals: Arrivals,
    inbox: PathBuf,
}

impl Watching {
    /// Makes the watcher, as the settings say; the walk sets a watch on each folder.
    fn start(&mut self) {
        self.watches = None;
        self.mode = None;
        match (&self.by, self.settings.watch) {
            (WatchBy::Events(mailbox), config::Watch::Auto) => {
                let mailbox = Arc::clone(mailbox);
                match Watches::new(move |event| mailbox.receive(event)) {
                    Ok(watches) => self.watches = Some(watches),
                    Err(why) => self.set_mode(WatchMode::Scan, &why),
                }
            }
            _ => self.set_mode(WatchMode::Scan, ""),
        }
    }

    fn set_mode(&mut self, mode: WatchMode, why: &str) {
        if self.mode != Some(mode) {
            self.mode = Some(mode);
            emit::watch_mode(mode, why);
        }
    }

    fn disarm(&mut self, folder: &Path) {
        self.arrivals.forget(folder);
        if let Some(watches) = &mut self.watches {
            watches.disarm(folder);
        }
    }

    /// A whole walk has set all watches that the system grants.
    fn walked(&mut self) {
        let Some(watches) = &mut self.watches else {
            return;
        };
        watches.retain(Path::is_dir);
        let all = watches.has(&self.inbox) && !watches.is_limited();
        watches.retry_limit();
        if all {
            self.set_mode(WatchMode::Events, "");
        }
    }
}

impl Guide for Watching {
    fn inbox(&self) -> &Path {
        &self.inbox
    }

    fn rules(&self) -> Rules<'_> {
        Rules(&self.settings)
    }

    fn entering(&mut self, folder: &Path, metadata: &Metadata) {
        self.arrivals.enter(folder, metadata);
        let Some(watches) = &mut self.watches else {
            return;
        };
        let armed = watches.arm(folder, metadata.ino());
        let limited = watches.is_limited();
        match armed {
            Armed::Yes if folder == self.inbox && !limited && self.mode.is_none() => {
                self.set_mode(WatchMode::Events, "");
            }
            Armed::Limit => self.set_mode(
                WatchMode::Scan,
                "the system gives no more watches: raise fs.inotify.max_user_watches",
            ),
            Armed::No(why) if folder == self.inbox => self.set_mode(WatchMode::Scan, &why),
            Armed::Yes | Armed::No(_) => {}
        }
    }
}
