//! Files that were found in the inbox and are not taken yet: when each has settled.
//!
//! Settling is measured on our clock, since the clock of a remote file system may be another one. A
//! file's own times only show that it changed, and that its last change is longer ago than the settle
//! time.

#[cfg(test)]
mod tests;

use super::arrival::{FINISHING_MS, Times};
use super::watch::Hint;
use crate::config;
use crate::model::submission::{Doubt, HandedIn, Name, Signature};
use crate::telemetry::emit::Via;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a file must be unchanged before it is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct SettleTimes {
    /// A file that no process is known to write to.
    pub(super) settle: Duration,
    /// A file that was written to and not closed, or an empty one: web folders create a file, close it, and
    /// fill it later.
    pub(super) open: Duration,
}

impl SettleTimes {
    /// The times of these settings.
    pub(super) fn of(settings: &config::Intake) -> SettleTimes {
        SettleTimes {
            settle: Duration::from_millis(settings.settle_ms),
            open: Duration::from_millis(settings.open_settle_ms),
        }
    }
}

/// What is known about the process that writes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// Nothing.
    Unknown,
    /// A write was seen.
    Writing,
    /// The system says that a process has it open for writing.
    HasItOpen,
    /// It was closed after writing, or arrived whole.
    Done,
}

/// The state of a file at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    /// Identifies the file and its content.
    pub(super) signature: Signature,
    /// Change time of the inode, in seconds and nanoseconds since 1970.
    pub(super) changed: (i64, i64),
    /// Whether it has other names, so that it may have arrived without being written.
    linked: bool,
}

impl FileState {
    /// The state in `metadata`.
    pub(super) fn of(metadata: &Metadata) -> FileState {
        FileState {
            signature: Signature::of(metadata),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            linked: metadata.nlink() > 1,
        }
    }

    /// Its times.
    fn times(&self) -> Times {
        Times::new(self.changed, self.signature.modified)
    }

    /// What a write event says about its writer. A new link to a file looks like a write.
    fn writer(&self) -> Writer {
        if self.linked { Writer::Unknown } else { Writer::Writing }
    }

    /// How long ago its inode changed; zero if that is in the future or before 1970.
    fn unchanged_for(&self, now: SystemTime) -> Duration {
        let (seconds, nanoseconds) = self.changed;
        let changed = u64::try_from(seconds).ok().map(|seconds| {
            UNIX_EPOCH + Duration::new(seconds, nanoseconds.clamp(0, 999_999_999) as u32)
        });
        changed.and_then(|changed| now.duration_since(changed).ok()).unwrap_or_default()
    }
}

/// One file that waits.
#[derive(Debug)]
struct Waiting {
    state: FileState,
    /// When it arrived.
    handed_in: HandedIn,
    /// When it arrived if its last change was a write, which it may have been.
    if_written: Option<HandedIn>,
    via: Via,
    /// Since when it is known to be unchanged.
    since: Instant,
    /// The earliest time of the next try, after a failure.
    not_before: Option<Instant>,
    /// It was renamed or moved in.
    moved: bool,
    writer: Writer,
    /// We put it back, and the event of our own rename is still to come.
    put_back: bool,
    /// It was reported as ready.
    is_ready: bool,
    /// How often it could not be taken.
    failures: u32,
    /// Since when it has been ready and could not be taken with this content, and why not.
    failing: Option<Box<(Instant, String)>>,
    /// How often it was found open for writing.
    found_open: u32,
}

impl Waiting {
    /// A file that was not known.
    fn first(
        state: FileState,
        handed_in: HandedIn,
        via: Via,
        hint: Option<Hint>,
        times: SettleTimes,
        now: Instant,
    ) -> Waiting {
        let writer = match hint {
            Some(Hint::Written) => state.writer(),
            Some(Hint::Closed) => Writer::Done,
            _ => Writer::Unknown,
        };
        let longest = times.settle.max(times.open);
        let ago = state.unchanged_for(SystemTime::now()).min(longest);
        Waiting {
            state,
            handed_in,
            if_written: None,
            via,
            since: now.checked_sub(ago).unwrap_or(now),
            not_before: None,
            moved: matches!(hint, Some(Hint::Moved)),
            writer,
            put_back: false,
            is_ready: false,
            failures: 0,
            failing: None,
            found_open: 0,
        }
    }

    /// The file was seen again; `first` is what it would be if it was not known.
    fn update(&mut self, first: Waiting, hint: Option<Hint>) {
        let state = first.state;
        if self.state != state {
            let (handed_in, if_written) = self.handed_in_still(&first, hint);
            *self = Waiting {
                handed_in,
                if_written,
                is_ready: self.is_ready,
                writer: self.writer,
                put_back: self.put_back
                    && self.state.signature.identity == state.signature.identity,
                via: self.via,
                not_before: self.not_before,
                failures: self.failures,
                failing: self.failing.take(),
                ..first
            };
        }
        match hint {
            Some(Hint::Written) => {
                (self.writer, self.moved) = (state.writer(), false);
                // A scan has found the change before its event came.
                self.handed_in = self.if_written.take().unwrap_or(self.handed_in);
            }
            Some(Hint::Closed) => {
                if matches!(self.writer, Writer::HasItOpen | Writer::Writing) && self.failures == 0
                {
                    self.not_before = None;
                }
                self.writer = Writer::Done;
            }
            Some(Hint::Moved) if self.put_back => self.put_back = false,
            Some(Hint::Moved) => (self.writer, self.moved) = (Writer::Done, true),
            Some(Hint::Folder | Hint::FolderGone) | None => {}
        }
    }

    /// When it arrived, now that it has another state; and when if that change was a write, where it may have
    /// been one.
    ///
    /// A change of mode, owner, links or times does not hand a file in. Such a change of times looks like a write of
    /// as many bytes, of which an event tells it apart. Programs that hand in a file mostly finish with one; what
    /// comes later is in doubt.
    fn handed_in_still(&self, first: &Waiting, hint: Option<Hint>) -> (HandedIn, Option<HandedIn>) {
        let (before, now) = (self.state.signature, first.state.signature);
        let may_be_written = before.modified != now.modified;
        // Some ways to set the time of modification cause the event of a write.
        let is_written = may_be_written && first.state.times().is_written();
        if hint == Some(Hint::Moved)
            || before.identity != now.identity
            || before.bytes != now.bytes
            || (is_written && hint == Some(Hint::Written))
        {
            return (first.handed_in, None);
        }
        let HandedIn { at_ms, doubt } = self.handed_in;
        let is_late = first.handed_in.at_ms > at_ms.saturating_add(FINISHING_MS);
        let handed_in = HandedIn { at_ms, doubt: doubt.or(is_late.then_some(Doubt::Change)) };
        (handed_in, is_written.then_some(first.handed_in).or(self.if_written))
    }

    /// Notes that it fails since a time, and why; or that it does not.
    fn set_failing(
        &mut self,
        all: &mut BTreeSet<(Instant, Name)>,
        name: Name,
        now: Option<(Instant, String)>,
    ) {
        let before = std::mem::replace(&mut self.failing, now.map(Box::new));
        match (&before, &self.failing) {
            (None, None) => {}
            (Some(before), None) => drop(all.remove(&(before.0, name))),
            (_, Some(failing)) => {
                if let Some(before) = before {
                    all.remove(&(before.0, name.clone()));
                }
                all.insert((failing.0, name));
            }
        }
    }

    fn due(&self, times: SettleTimes) -> Instant {
        let settled = if self.state.signature.bytes == 0 {
            self.since + times.open.max(times.settle)
        } else if self.moved {
            self.since
        } else {
            self.since + times.settle
        };
        self.not_before.map_or(settled, |not_before| settled.max(not_before))
    }

    /// Whether it is unchanged for so long that it is taken even if a process has it open.
    fn may_be_taken_open(&self, times: SettleTimes, now: Instant) -> bool {
        let is_open = matches!(self.writer, Writer::Writing | Writer::HasItOpen);
        is_open && self.since + times.open <= now
    }
}

/// A file that is ready to be taken.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) name: Name,
    /// Its state when it was found ready.
    pub(super) state: FileState,
    /// When it arrived.
    pub(super) handed_in: HandedIn,
    /// What found it.
    pub(super) via: Via,
    /// Since when it is ready.
    pub(super) since: Instant,
    /// It is taken even if a process has it open for writing, since it is unchanged for so long.
    pub(super) though_open: bool,
    /// It was written to, and no close was seen.
    pub(super) seen_writing: bool,
}

/// Files that are ready and cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failing {
    /// How many there are.
    pub(super) files: usize,
    /// Since when the oldest has been ready.
    pub(super) since: Instant,
    /// Its name.
    pub(super) name: Name,
    /// Why it cannot be taken.
    pub(super) why: String,
}

#[cfg(test)]
impl Ready {
    /// A file of this size that has just become ready.
    pub(super) fn for_tests(name: Name, bytes: u64) -> Ready {
        let state =
            FileState { signature: Signature::for_tests(bytes), changed: (0, 0), linked: false };
        let (via, since) = (Via::Scan, Instant::now());
        let handed_in = HandedIn { at_ms: 0, doubt: None };
        Ready { name, state, handed_in, via, since, though_open: false, seen_writing: false }
    }
}

/// The status of a file that waits in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingStatus {
    /// How much longer it waits at least; zero if it is ready.
    pub left: Duration,
    /// What it waits for: the setting with the time, or `open` if a process has it open for writing,
    /// or `retry` after a failure.
    pub waits_for: &'static str,
    /// How often it could not be taken.
    pub failures: u32,
    /// Why it could not be taken the last time, if that is still so.
    pub why: Option<String>,
}

/// All files that wait.
pub(super) struct Settling {
    times: SettleTimes,
    files_max: usize,
    files: HashMap<Name, Waiting>,
    /// The files that are not ready, with the time when each may have settled.
    pending: BTreeSet<(Instant, Name)>,
    /// The files that cannot be taken, with the time since when each is ready.
    failing: BTreeSet<(Instant, Name)>,
    /// Whether a file was not remembered because there are too many.
    missed: bool,
}

impl Settling {
    /// At most `files_max` files are remembered that have not settled.
    pub(super) fn new(times: SettleTimes, files_max: usize) -> Settling {
        Settling {
            times,
            files_max,
            files: HashMap::new(),
            pending: BTreeSet::new(),
            failing: BTreeSet::new(),
            missed: false,
        }
    }

    /// Changes the limits, also for files that wait already.
    pub(super) fn set_limits(&mut self, times: SettleTimes, files_max: usize) {
        (self.times, self.files_max) = (times, files_max);
        let pending = self.files.iter().filter(|(_, file)| !file.is_ready);
        self.pending = pending.map(|(name, file)| (file.due(times), name.clone())).collect();
    }

    /// Records the state of a file, and returns it once when it is ready. If the state is new, `handed_in` says
    /// when the file arrived; it is called with whether the file was known in another state.
    pub(super) fn see(
        &mut self,
        name: Name,
        state: FileState,
        handed_in: impl FnOnce(&Name, bool) -> HandedIn,
        via: Via,
        hint: Option<Hint>,
        now: Instant,
    ) -> Option<Ready> {
        let Settling { times, files_max, files, pending, failing, missed } = self;
        let handed_in = match files.get(&name) {
            Some(known) if known.state == state => known.handed_in,
            known => handed_in(&name, known.is_some()),
        };
        let first = Waiting::first(state, handed_in, via, hint, *times, now);
        let is_full = pending.len() >= *files_max;
        let file = match files.entry(name) {
            Entry::Vacant(_) if is_full && first.due(*times) > now => {
                *missed = true;
                return None;
            }
            Entry::Vacant(vacant) => vacant.insert_entry(first),
            Entry::Occupied(mut known) => {
                if !known.get().is_ready {
                    pending.remove(&(known.get().due(*times), known.key().clone()));
                }
                let before = known.get().state.signature;
                known.get_mut().update(first, hint);
                if !known.get().state.signature.has_content_of(&before) {
                    let name = known.key().clone();
                    known.get_mut().set_failing(failing, name, None);
                }
                known
            }
        };
        let (name, file) = (file.key().clone(), file.into_mut());
        let due = file.due(*times);
        if file.is_ready {
            return None;
        }
        if due > now {
            pending.insert((due, name));
            return None;
        }
        file.is_ready = true;
        let though_open = file.may_be_taken_open(*times, now);
        let seen_writing = file.writer == Writer::Writing;
        Some(Ready {
            name,
            state: file.state,
            handed_in: file.handed_in,
            via: file.via,
            since: due,
            though_open,
            seen_writing,
        })
    }

    /// Adds a file that was put back because it changed after it was taken: a process writes to it, and
    /// no close was seen.
    pub(super) fn put_back(&mut self, name: Name, state: FileState, now: Instant) {
        self.forget(&name);
        let file = Waiting {
            state,
            // The ledger keeps the time at which it was handed in first.
            handed_in: HandedIn { at_ms: state.times().changed_ms, doubt: None },
            if_written: None,
            via: Via::Scan,
            since: now,
            not_before: None,
            moved: false,
            writer: Writer::Writing,
            put_back: true,
            is_ready: false,
            failures: 0,
            failing: None,
            found_open: 0,
        };
        self.pending.insert((file.due(self.times), name.clone()));
        self.files.insert(name, file);
    }

    /// The clock was set: the times of all files that wait are in doubt.
    pub(super) fn doubt_clock(&mut self) {
        for file in self.files.values_mut() {
            file.handed_in.doubt = file.handed_in.doubt.or(Some(Doubt::Clock));
        }
    }

    /// Whether this file waits.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.files.contains_key(name)
    }

    /// A ready file is not remembered, since too many of its kind are: the next scan finds it again.
    pub(super) fn leave(&mut self, name: &Name) {
        self.missed = true;
        self.forget(name);
    }

    /// The status of a file, if it waits.
    pub(super) fn status(&self, name: &Name, now: Instant) -> Option<WaitingStatus> {
        let file = self.files.get(name)?;
        let due = file.due(self.times);
        let left = if file.is_ready { Duration::ZERO } else { due.saturating_duration_since(now) };
        let waits_for = if file.writer == Writer::HasItOpen {
            "open"
        } else if due == file.since + self.times.open && self.times.open > self.times.settle {
            "open_settle_ms"
        } else if file.not_before.is_some_and(|not_before| not_before == due) {
            "retry"
        } else {
            "settle_ms"
        };
        let why = file.failing.as_ref().map(|failing| failing.1.clone());
        Some(WaitingStatus { left, waits_for, failures: file.failures, why })
    }

    /// The files that may have settled by now and have to be checked again.
    pub(super) fn due(&self, now: Instant) -> Vec<Name> {
        let due = self.pending.iter().take_while(|(due, _)| *due <= now);
        due.map(|(_, name)| name.clone()).collect()
    }

    /// When the next file may have settled.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.pending.first().map(|(due, _)| *due)
    }

    /// Drops a file that is no longer in the inbox.
    pub(super) fn forget(&mut self, name: &Name) {
        if let Some(mut file) = self.files.remove(name) {
            file.set_failing(&mut self.failing, name.clone(), None);
            if !file.is_ready {
                self.pending.remove(&(file.due(self.times), name.clone()));
            }
        }
    }

    /// Drops a ready file that was taken or is gone. If its state has changed since, that may have been
    /// the next file of its name, which then goes on settling.
    pub(super) fn taken(&mut self, ready: &Ready) {
        match self.files.get_mut(&ready.name) {
            Some(file) if file.is_ready && file.state != ready.state => {
                file.is_ready = false;
                file.set_failing(&mut self.failing, ready.name.clone(), None);
                self.pending.insert((file.due(self.times), ready.name.clone()));
            }
            _ => self.forget(&ready.name),
        }
    }

    /// A ready file could not be taken, and `why`: it settles again and is not tried before the pause is over,
    /// which doubles with each failure up to sixteen times its length.
    pub(super) fn retry_later(&mut self, name: &Name, now: Instant, pause: Duration, why: String) {
        if let Some(file) = self.files.get_mut(name) {
            let first = file.failing.as_ref().map(|failing| failing.0);
            let since = first.unwrap_or_else(|| file.due(self.times).min(now));
            file.set_failing(&mut self.failing, name.clone(), Some((since, why)));
        }
        self.unready(name, |file| {
            file.not_before = Some(now + pause * (1 << file.failures.min(4)));
            file.failures += 1;
        });
    }

    /// The files that cannot be taken, if there are any.
    pub(super) fn failing(&self) -> Option<Failing> {
        let (since, name) = self.failing.first()?;
        let why = self.files.get(name)?.failing.as_ref()?.1.clone();
        Some(Failing { files: self.failing.len(), since: *since, name: name.clone(), why })
    }

    fn unready(&mut self, name: &Name, change: impl FnOnce(&mut Waiting)) {
        let Some(file) = self.files.get_mut(name) else {
            return;
        };
        if !file.is_ready {
            self.pending.remove(&(file.due(self.times), name.clone()));
        }
        file.is_ready = false;
        change(file);
        self.pending.insert((file.due(self.times), name.clone()));
    }

    /// A ready file is still open for writing: it is checked again when it is closed, or after a pause,
    /// which doubles each time up to eight times its length.
    pub(super) fn found_open(&mut self, name: &Name, now: Instant, pause: Duration) {
        if self.pending.len() >= self.files_max {
            // The next scan will find it again.
            self.missed = true;
            self.forget(name);
            return;
        }
        if let Some(file) = self.files.get_mut(name) {
            file.set_failing(&mut self.failing, name.clone(), None);
        }
        self.unready(name, |file| {
            file.moved = false;
            file.writer = Writer::HasItOpen;
            file.not_before = Some(now + pause * (1 << file.found_open.min(3)));
            file.found_open += 1;
        });
    }

    /// The system does not say whether a ready file, which was written to, is still open: it waits as
    /// long as an open one.
    pub(super) fn may_be_open(&mut self, name: &Name) {
        let open = self.times.open;
        self.unready(name, |file| file.not_before = Some(file.since + open));
    }

    /// Whether every file that waits could not be taken in this many tries.
    pub(super) fn holds_only_failed(&self, tries: u32) -> bool {
        self.files.values().all(|file| file.failures >= tries)
    }

    /// How many files wait.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether a file was not remembered since the last call.
    pub(super) fn take_missed(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }
}
