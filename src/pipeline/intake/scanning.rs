//! Finds what lies in the inbox: by whole scans on a timer, by one whenever events may have been lost,
//! and in between where hints of the watcher point.
//!
//! Two walks take turns. The scan comes by everywhere and waits for nothing. The other one goes through folders that
//! have appeared or moved, and through those that hold more files than there was room for.

use super::arrival::Arrivals;
use super::mailbox::Mailbox;
use super::ready::Room;
use super::reported::Reported;
use super::rules::{LeftAlone, Rules};
use super::walk::{self, Guide, Waits, Walk};
use super::watch::{Armed, Hint, Watches};
use crate::config;
use crate::model::escape;
use crate::model::named::dangling;
use crate::model::submission::Name;
use crate::telemetry::emit::{self, ScanReason, WatchMode};
use crate::telemetry::health::{Concern, Health};
use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How far apart the times of two changes are at least, on file systems that are trusted.
const TIME_STEP_SECONDS_MAX: i64 = 1;

/// A file of the inbox.
pub(super) struct Found {
    pub(super) name: Name,
    pub(super) metadata: Metadata,
}

/// One of the two walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// Through folders of which is known that something is to be found there.
    Hinted,
    /// Through the whole inbox.
    Scan,
}

/// What one step of a walk came to.
pub(super) enum Step {
    /// A file.
    File(Found),
    /// A folder was opened.
    Opened,
    /// Something that is no submission.
    Other,
    /// The walk is over, or waits for room.
    Over,
}

/// How many more files of a folder, at the top, may be found.
pub(super) type RoomOf<'a> = &'a dyn Fn(&[u8]) -> Room;

/// A whole scan in progress.
struct Scan {
    started: Instant,
    ignored: u64,
    opened: u64,
    at_rest: u64,
    unreadable_folders: usize,
    /// Whether it read only the names of some files.
    has_passed: bool,
    /// Why another one is to follow it.
    again: Option<ScanReason>,
}

/// Scans and watches of the inbox.
pub(super) struct Scanning {
    health: Arc<Health>,
    watching: Watching,
    hinted: Walk,
    /// The folders whose backlog is a part of that walk; an empty name for files in no folder.
    backlog: HashSet<Vec<u8>>,
    walk: Walk,
    scan: Option<Scan>,
    next_scan: Instant,
    /// Whether the last whole scan that was finished missed no file.
    is_complete: bool,
    /// How many could not read the inbox at all.
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
            hinted: Walk::new(Waits::ForRoom, open_folders_max / 2),
            backlog: HashSet::new(),
            walk: Walk::new(Waits::Never, open_folders_max / 2),
            scan: None,
            next_scan: Instant::now(),
            is_complete: false,
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
        if let Some(watches) = &mut self.watching.watches {
            watches.none_is_at_rest();
        }
        self.reported.clear();
        self.next_scan = Instant::now();
    }

    /// When the next whole scan is due.
    pub(super) fn next_scan(&self) -> Instant {
        self.next_scan
    }

    /// Whether there is something to walk through that need not wait for room.
    pub(super) fn can_step(&mut self, which: Which, room: RoomOf<'_>) -> bool {
        let Scanning { watching, backlog, hinted, walk, .. } = self;
        let guide = Guiding { watching, room, backlog, passed: None };
        match which {
            Which::Hinted => hinted.can_step(&guide),
            Which::Scan => walk.can_step(&guide),
        }
    }

    /// Whether no walk is in progress, and a scan was finished that missed nothing, or this many failed.
    pub(super) fn has_scanned(&self, tries: u32) -> bool {
        let is_over = self.scan.is_none() && self.hinted.is_over();
        is_over && (self.is_complete || self.failed >= tries)
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
            watches.disarm_all();
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
        self.walk.add_inbox();
        self.scan = Some(Scan {
            started: Instant::now(),
            ignored: 0,
            opened: 0,
            at_rest: 0,
            unreadable_folders: 0,
            has_passed: false,
            again: None,
        });
        if let Some(watches) = &mut self.watching.watches {
            watches.begin_scan();
        }
        self.next_scan = Instant::now() + self.period();
    }

    fn period(&self) -> Duration {
        Duration::from_millis(self.watching.settings.scan_every_ms)
    }

    /// Takes one step of a walk.
    pub(super) fn step(&mut self, which: Which, room: RoomOf<'_>) -> Step {
        let Scanning { watching, backlog, hinted, walk, .. } = &mut *self;
        let mut guide = Guiding { watching, room, backlog, passed: None };
        let step = match which {
            Which::Hinted => hinted.step(&mut guide),
            Which::Scan => walk.step(&mut guide),
        };
        if let Some(folder) = guide.passed.take() {
            self.add_backlog(&folder);
        }
        let scan = self.scan.as_mut().filter(|_| which == Which::Scan);
        match step {
            Some(walk::Step::File(name, metadata)) => return Step::File(Found { name, metadata }),
            Some(walk::Step::Opened) => {
                scan.into_iter().for_each(|scan| scan.opened += 1);
                return Step::Opened;
            }
            Some(walk::Step::AtRest(ignored)) => scan.into_iter().for_each(|scan| {
                scan.at_rest += 1;
                scan.ignored += ignored;
            }),
            Some(walk::Step::Ignored(name, reason)) => {
                scan.into_iter().for_each(|scan| scan.ignored += 1);
                self.ignore(name, reason);
            }
            Some(walk::Step::Failed(folder, error)) => {
                scan.into_iter().for_each(|scan| scan.unreadable_folders += 1);
                self.folder_failed(&folder, &error);
            }
            Some(walk::Step::Emptied(folder)) => drop(self.backlog.remove(&folder)),
            Some(walk::Step::Passed) => scan.into_iter().for_each(|scan| scan.has_passed = true),
            Some(walk::Step::Nothing) => {}
            None => return Step::Over,
        }
        Step::Other
    }

    /// This folder, at the top, holds files for which there is no room now: they are found once there is.
    pub(super) fn add_backlog(&mut self, folder: &[u8]) {
        if self.backlog.insert(folder.to_owned()) {
            self.hinted.add_backlog(folder);
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
        self.hinted.clear();
        self.backlog.clear();
        self.scan = None;
        self.failed += 1;
        self.unreadable_folders = 1;
    }

    /// Ends a whole scan if its walk is over; returns whether it did. The next one is due early if it `missed`
    /// files.
    pub(super) fn finish_scan(&mut self, missed: impl FnOnce() -> bool) -> bool {
        let Some(scan) = self.scan.take_if(|_| self.walk.is_over()) else {
            return false;
        };
        emit::scan_finished(scan.started.elapsed(), scan.ignored, scan.opened, scan.at_rest);
        if let Some(more) = self.reported.end_scan(Instant::now()) {
            emit::more_ignored(more);
        }
        self.unreadable_folders = scan.unreadable_folders;
        if scan.unreadable_folders == 0 {
            self.unreadable_folder = None;
        }
        self.watching.walked();
        self.health.set_ready(Concern::Inbox);
        let has_missed = missed();
        self.watching.arrivals.scanned(scan.started, has_missed || scan.has_passed);
        self.is_complete = !has_missed;
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
        self.hinted.add_folder(name);
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

    fn rules(&self) -> Rules<'_> {
        Rules(&self.settings)
    }

    /// A whole walk has set all watches that the system grants.
    fn walked(&mut self) {
        let Some(watches) = &mut self.watches else {
            return;
        };
        let all = watches.has(&self.inbox) && !watches.is_limited();
        watches.end_scan();
        if all {
            self.set_mode(WatchMode::Events, "");
        }
    }
}

/// Guides one step of a walk.
struct Guiding<'a> {
    watching: &'a mut Watching,
    room: RoomOf<'a>,
    backlog: &'a HashSet<Vec<u8>>,
    /// The folder of a file that was passed over, unless it is in the backlog.
    passed: Option<Vec<u8>>,
}

impl Guide for Guiding<'_> {
    fn inbox(&self) -> &Path {
        &self.watching.inbox
    }

    fn rules(&self) -> Rules<'_> {
        self.watching.rules()
    }

    fn room(&self, folder: &[u8]) -> Room {
        (self.room)(folder)
    }

    fn passed(&mut self, folder: &[u8]) {
        if !self.backlog.contains(folder) {
            self.passed = Some(folder.to_owned());
        }
    }

    fn may_rest(&self, metadata: &Metadata) -> bool {
        self.watching.arrivals.is_trusted(metadata.dev()) && is_past(metadata)
    }

    fn at_rest(&mut self, folder: &Name) -> Option<u64> {
        let Watching { watches, inbox, .. } = &mut *self.watching;
        watches.as_mut()?.at_rest(&inbox.join(folder.as_path()))
    }

    fn found_at_rest(&mut self, folder: &Name, metadata: &Metadata, ignored: u64) {
        let Watching { watches, inbox, .. } = &mut *self.watching;
        if let Some(watches) = watches {
            watches.found_at_rest(&inbox.join(folder.as_path()), metadata, ignored);
        }
    }

    fn entering(&mut self, folder: &Path, metadata: &Metadata) {
        let watching = &mut *self.watching;
        watching.arrivals.enter(folder, metadata);
        let Some(watches) = &mut watching.watches else {
            return;
        };
        let armed = watches.arm(folder, metadata);
        let limited = watches.is_limited();
        match armed {
            Armed::Yes if folder == watching.inbox && !limited && watching.mode.is_none() => {
                watching.set_mode(WatchMode::Events, "");
            }
            Armed::Limit => watching.set_mode(
                WatchMode::Scan,
                "the system gives no more watches: raise fs.inotify.max_user_watches",
            ),
            Armed::No(why) if folder == watching.inbox => watching.set_mode(WatchMode::Scan, &why),
            Armed::Yes | Armed::No(_) => {}
        }
    }
}

/// Whether a folder was changed so long ago that a later change cannot have the same time.
fn is_past(metadata: &Metadata) -> bool {
    let now = jiff::Timestamp::now().as_second();
    now.saturating_sub(metadata.ctime()) > TIME_STEP_SECONDS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Inbox {
        folder: tempfile::TempDir,
        scanning: Scanning,
        _hints: crate::pipeline::intake::mailbox::Hints,
    }

    impl Inbox {
        fn new() -> Inbox {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let (health, settings) = (Arc::default(), Arc::default());
            let (mailbox, hints) = Mailbox::new();
            let scanning =
                Scanning::new(folder.path(), health, settings, WatchBy::Events(mailbox), 64);
            let mut inbox = Inbox { folder, scanning, _hints: hints };
            inbox.scanning.start();
            inbox.scan();
            inbox
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        /// The files that a scan finds, and how many folders it opens.
        fn scan(&mut self) -> (Vec<String>, usize) {
            self.scanning.start_scan(ScanReason::Timer);
            let (mut files, mut opened) = (Vec::new(), 0);
            loop {
                match self.scanning.step(Which::Scan, &|_| Room::Half) {
                    Step::File(found) => files.push(found.name.to_string()),
                    Step::Opened => opened += 1,
                    Step::Other => {}
                    Step::Over => break,
                }
            }
            assert!(self.scanning.finish_scan(|| false));
            (files, opened)
        }
    }

    /// No event is ever read here.
    #[test]
    fn a_file_in_a_folder_that_scans_pass_is_found_by_the_next_one_though_its_event_is_lost() {
        let mut inbox = Inbox::new();
        for folder in ["empty", "hidden", "nested/deep"] {
            fs::create_dir_all(inbox.path(folder)).expect("a folder");
        }
        fs::write(inbox.path("hidden/.p"), "").expect("a file");
        // The inbox itself, and the folder that holds one.
        while inbox.scan().1 > 2 {
            std::thread::sleep(Duration::from_millis(20));
        }
        for name in ["empty/p", "nested/deep/p"] {
            fs::write(inbox.path(name), "").expect("a file");
        }
        fs::rename(inbox.path("hidden/.p"), inbox.path("hidden/p")).expect("renamed");
        let mut found = inbox.scan();
        found.0.sort();
        assert_eq!(found, (["empty/p", "hidden/p", "nested/deep/p"].map(String::from).into(), 5));
    }

    #[test]
    fn what_a_scan_passes_over_is_found_once_there_is_room_and_only_once() {
        let mut inbox = Inbox::new();
        fs::create_dir(inbox.path("a")).expect("a folder");
        for i in 0..100 {
            fs::write(inbox.path(&format!("a/{i}")), "").expect("a file");
        }
        fs::write(inbox.path("loose"), "").expect("a file");
        let scanning = &mut inbox.scanning;
        for _ in 0..2 {
            scanning.start_scan(ScanReason::Timer);
            while !matches!(scanning.step(Which::Scan, &|_| Room::None), Step::Over) {}
            scanning.finish_scan(|| false);
        }
        assert!(!scanning.can_step(Which::Hinted, &|_| Room::None));
        assert!(!scanning.has_scanned(3));
        let mut found = HashSet::new();
        while scanning.can_step(Which::Hinted, &|_| Room::Half) {
            if let Step::File(file) = scanning.step(Which::Hinted, &|_| Room::Half) {
                assert!(found.insert(file.name.to_string()), "{}", file.name);
            }
        }
        assert_eq!(found.len(), 101);
        assert!(scanning.has_scanned(3) && scanning.backlog.is_empty());
    }
}
