//! Intake: which files in the inbox are ready, and taking them.
//!
//! Watch events are hints, the folder is the truth. One thread looks where hints point, walks the
//! inbox on a timer and whenever hints may have been lost, waits for files to settle, and claims
//! what is ready as far as the queue has room. Everything else stays where it lies.

mod attempt;
mod claim;
mod scan;
mod waiting;
mod walk;
mod watch;

pub use attempt::{Watched, try_watch};
pub use waiting::Seen;
pub use watch::Mailbox;

use crate::config::{self, Live};
use crate::model::submission::{Claimed, Name};
use crate::pipeline::queue::Queue;
use crate::store::archive::Archive;
use crate::store::ledger::Ledger;
use crate::telemetry::emit::{self, ScanReason, Via, WatchMode};
use crate::telemetry::health::Health;
use claim::Batch;
use scan::Scan;
use std::collections::{HashSet, VecDeque};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use waiting::{Look, Quiet, Ready, WaitingRoom};
use walk::{Guide, Walk};
use watch::{Armed, Hint, Watches};

/// How often a run that is to end tries to take a file before it leaves it where it is.
const TRIES_FOR_ONCE: u32 = 3;

/// The longest time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);

/// How often it is looked whether all is done, when the service ends.
const LAST_BEAT: Duration = Duration::from_millis(10);

/// How many hints are looked at before it is time for everything else.
const HINTS_A_ROUND: usize = 1_024;

/// What intake works with.
pub struct Parts {
    /// The folders.
    pub archive: Arc<Archive>,
    /// What has been claimed.
    pub ledger: Arc<Ledger>,
    /// Where taken files go.
    pub queue: Arc<Queue>,
    /// Where it says how it is.
    pub health: Arc<Health>,
    /// Its settings, which may change.
    pub settings: Arc<Live<config::Intake>>,
    /// How many folders may be open at a time; each holds a descriptor.
    pub open_folders_max: usize,
    /// Whether to end when the inbox holds nothing more to take and all that was taken is done.
    pub once: bool,
}

/// The intake stage.
pub struct Intake {
    parts: Parts,
    /// The settings of this round.
    settings: Arc<config::Intake>,
    mailbox: Arc<Mailbox>,
    hints: Receiver<Option<(PathBuf, Hint)>>,
    watching: Watching,
    waiting: WaitingRoom,
    ready: VecDeque<Ready>,
    /// What is claimed, and is moved next.
    batch: Batch,
    walk: Walk,
    scan: Option<Scan>,
    next_scan: Instant,
    /// Whole scans that have come to their end, and scans that could not even begin.
    scans_finished: u32,
    scans_failed: u32,
    /// Folders that the last scan could not read.
    unreadable_folders: usize,
    /// Files that could not be put back yet, and when to try again.
    returned: Vec<(Instant, Claimed, String)>,
    told: HashSet<Name>,
}

/// How the inbox is observed.
struct Watching {
    watches: Option<Watches>,
    mode: Option<WatchMode>,
    settings: Arc<config::Intake>,
    inbox: PathBuf,
}

impl Guide for Watching {
    fn is_temporary(&self, part: &[u8]) -> bool {
        part.starts_with(crate::store::archive::HIDDEN_PREFIX.as_bytes())
            || self.settings.is_temporary(part)
    }

    fn out_of_bounds(&self, name: &Name, is_folder: bool) -> Option<&'static str> {
        let depth = name.as_bytes().iter().filter(|&&byte| byte == b'/').count();
        if is_folder && depth >= self.settings.depth_max {
            Some("the folder lies deeper than the setting intake.depth_max allows")
        } else if name.as_bytes().len() > self.settings.name_bytes_max {
            Some("its path is longer than the setting intake.name_bytes_max allows")
        } else {
            None
        }
    }

    fn entering(&mut self, folder: &Path, metadata: &Metadata) {
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

impl Watching {
    fn set_mode(&mut self, mode: WatchMode, why: &str) {
        if self.mode != Some(mode) {
            self.mode = Some(mode);
            emit::watch_mode(mode, why);
        }
    }

    /// Takes note that a whole walk has set all the watches that could be had.
    fn all_are_set(&mut self) {
        let Some(watches) = &mut self.watches else {
            return;
        };
        watches.retain(Path::is_dir);
        let all = watches.has(&self.inbox) && !watches.is_limited();
        // By the next walk there may be more.
        watches.try_again();
        if all {
            self.set_mode(WatchMode::Events, "");
        }
    }

    /// Makes the watcher; the walk sets the watches.
    fn start(&mut self, mailbox: &Arc<Mailbox>, once: bool) {
        match self.settings.watch {
            config::Watch::Auto if !once => match Watches::new(mailbox) {
                Ok(watches) => self.watches = Some(watches),
                Err(why) => self.set_mode(WatchMode::Scan, &why),
            },
            // Whoever is to end by itself needs no hints: looking is enough.
            _ => self.set_mode(WatchMode::Scan, ""),
        }
    }
}

impl Intake {
    /// The stage, and the mailbox by which others reach it.
    pub fn new(parts: Parts) -> (Intake, Arc<Mailbox>) {
        let (mailbox, hints) = Mailbox::new();
        let settings = parts.settings.get();
        let watching = Watching {
            watches: None,
            mode: None,
            settings: Arc::clone(&settings),
            inbox: parts.archive.inbox().to_owned(),
        };
        let intake = Intake {
            waiting: WaitingRoom::new(Quiet::of(&settings), settings.waiting_files_max),
            settings,
            mailbox: Arc::clone(&mailbox),
            hints,
            watching,
            ready: VecDeque::new(),
            batch: Batch::default(),
            walk: Walk::new(parts.open_folders_max),
            scan: None,
            next_scan: Instant::now(),
            scans_finished: 0,
            scans_failed: 0,
            unreadable_folders: 0,
            returned: Vec::new(),
            told: HashSet::new(),
            parts,
        };
        (intake, mailbox)
    }

    /// Runs until it is stopped; or, if it is to run once, until there is nothing more to take and
    /// everything that was taken is done. Returns how many files and folders it had to leave in the
    /// inbox then, because they could not be taken or read.
    pub fn run(mut self) -> usize {
        self.watching.start(&self.mailbox, self.parts.once);
        self.start_scan(ScanReason::Start);
        while !self.mailbox.is_stopped()
            && !self.parts.queue.is_abandoned()
            && !self.is_done_for_once()
        {
            self.parts.health.beat("intake");
            self.take_settings();
            self.read_mail();
            self.retry_returned();
            let got_on = self.take_and_claim();
            self.tell_queue();
            if !(got_on && (self.has_work() || !self.batch.files.is_empty())) {
                self.wait();
            }
        }
        self.let_go();
        self.tell_queue();
        self.put_back_the_last();
        self.parts.health.rest("intake");
        if self.parts.once { self.waiting.len() + self.unreadable_folders } else { 0 }
    }

    /// Takes over settings that have changed.
    fn take_settings(&mut self) {
        let settings = self.parts.settings.get();
        if Arc::ptr_eq(&settings, &self.settings) {
            return;
        }
        let watch_changed = settings.watch != self.settings.watch;
        self.waiting.set_limits(Quiet::of(&settings), settings.waiting_files_max);
        self.watching.settings = Arc::clone(&settings);
        self.settings = settings;
        if watch_changed {
            self.watching.watches = None;
            self.watching.mode = None;
            self.watching.start(&self.mailbox, self.parts.once);
        }
        // What was left alone may be taken now, and the next scan may be due.
        self.told.clear();
        self.next_scan = Instant::now();
    }

    /// Stays until what was taken is done, or left to the next start, since some of it may have to be
    /// put back.
    fn put_back_the_last(&mut self) {
        let queue = Arc::clone(&self.parts.queue);
        let is_under_way = |returned| !queue.is_idle() || queue.flow().in_flight_files > returned;
        while !queue.is_abandoned() && is_under_way(self.returned.len()) {
            self.parts.health.beat("intake");
            for (claimed, why) in self.mailbox.take_returned() {
                self.put_back(claimed, why);
            }
            self.retry_returned();
            let _ = self.hints.recv_timeout(LAST_BEAT);
        }
    }

    fn is_done_for_once(&self) -> bool {
        self.parts.once
            && self.scan.is_none()
            && (self.scans_finished > 0 || self.scans_failed >= TRIES_FOR_ONCE)
            && self.waiting.holds_only_failed(TRIES_FOR_ONCE)
            && self.returned.is_empty()
            && self.batch.files.is_empty()
            && self.parts.queue.flow().in_flight_files == 0
            && self.parts.queue.is_idle()
    }

    /// Tells the queue of what is on its way to it.
    fn tell_queue(&self) {
        let now = Instant::now();
        let settled = self.waiting.next_due().filter(|due| *due <= now);
        let ready = self.ready.iter().chain(&self.batch.files).map(|ready| ready.since);
        self.parts.queue.set_oldest_outside(ready.chain(settled).min());
        self.parts.queue.set_more_coming(!self.batch.files.is_empty());
        emit::inbox_holds(self.waiting.len());
    }

    /// Whether there is something to do without waiting for anybody.
    fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.walk.is_over()
    }

    /// Sleeps until there is something to do.
    fn wait(&mut self) {
        if !self.walk.is_over() && self.ready.len() < self.settings.claim_files_max {
            return;
        }
        let now = Instant::now();
        let returned = self.returned.iter().map(|(at, ..)| *at).min();
        let next =
            [self.waiting.next_due(), returned, Some(self.next_scan)].into_iter().flatten().min();
        let timeout = next.map_or(BEAT, |next| next.saturating_duration_since(now)).min(BEAT);
        match self.hints.recv_timeout(timeout) {
            Ok(Some((path, hint))) => self.follow(&path, hint),
            Ok(None) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }

    fn read_mail(&mut self) {
        // No more than that: whoever floods us with events does not keep us from the rest.
        let mail: Vec<_> = self.hints.try_iter().take(HINTS_A_ROUND).flatten().collect();
        for (path, hint) in mail {
            self.follow(&path, hint);
        }
        for (claimed, why) in self.mailbox.take_returned() {
            self.put_back(claimed, why);
        }
        for (name, reply) in self.mailbox.take_questions() {
            let _ = reply.send(self.waiting.seen(&name, Instant::now()));
        }
        if let Some(error) = self.mailbox.take_error() {
            emit::watch_failed(&error);
            self.start_scan(ScanReason::WatchError);
        }
        if let Some(queue) = self.mailbox.take_lost() {
            emit::watch_overflowed(queue);
            // Folders made meanwhile are not watched, and others may be gone: the walk sets all
            // watches anew before it reads.
            if let Some(watches) = &mut self.watching.watches {
                watches.retain(|_| false);
            }
            self.start_scan(ScanReason::Overflow);
        }
        if self.next_scan <= Instant::now() {
            self.start_scan(ScanReason::Timer);
        }
    }

    /// Looks where a hint points.
    fn follow(&mut self, path: &Path, hint: Hint) {
        if hint == Hint::FolderGone {
            if let Some(watches) = &mut self.watching.watches {
                watches.disarm(path);
            }
            // The word of it may come late, when another folder has its name already.
            if !path.is_dir() {
                return;
            }
        }
        let Ok(below) = path.strip_prefix(self.parts.archive.inbox()) else {
            return;
        };
        let bytes = below.as_os_str().as_encoded_bytes();
        if bytes.is_empty() {
            return self.start_scan(ScanReason::Folder);
        }
        if bytes.split(|&byte| byte == b'/').any(|part| self.watching.is_temporary(part)) {
            return;
        }
        let name = Name::from_bytes(bytes);
        let found = path.symlink_metadata();
        let is_folder = found.as_ref().is_ok_and(Metadata::is_dir);
        if let Some(why) = self.watching.out_of_bounds(&name, is_folder) {
            return self.ignore(name, why);
        }
        match found {
            Ok(found) if found.is_dir() => {
                if let Some(watches) = &mut self.watching.watches
                    && hint == Hint::Moved
                {
                    watches.disarm(path);
                }
                emit::scan_started(ScanReason::Folder);
                self.walk.add_folder(name);
            }
            Ok(found) if found.is_file() => self.see(name, &found, Via::Event, Some(hint)),
            Ok(found) => self.ignore(name, walk::what_it_is(found.file_type())),
            Err(_) => {}
        }
    }

    fn see(&mut self, name: Name, metadata: &Metadata, via: Via, hint: Option<Hint>) {
        let ready = self.waiting.see(name, Look::of(metadata), via, hint, Instant::now());
        self.ready.extend(ready);
    }

    /// Looks once more at files that may have settled.
    fn look_at_due(&mut self) {
        for name in self.waiting.due(Instant::now()) {
            match self.parts.archive.inbox().join(name.as_path()).symlink_metadata() {
                Ok(found) if found.is_file() => self.see(name, &found, Via::Scan, None),
                _ => self.waiting.forget(&name),
            }
        }
    }
}
