//! Files that were seen and are not ours yet: when each has settled.
//!
//! Settling is measured on our clock. A file's own times are used only to tell that it changed, and
//! to see that its last change is already longer ago than the settle time.

mod quiet;
#[cfg(test)]
mod tests;

pub use quiet::Quiet;

use super::watch::Hint;
use crate::model::submission::{Name, Signature};
use crate::telemetry::emit::Via;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What is known of whoever writes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// Nothing.
    Unknown,
    /// They were seen to write to it.
    Writing,
    /// They have it open for writing, says the system.
    HasItOpen,
    /// They have closed it.
    Done,
}

/// A file as it was seen at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// What tells whether it is the same file with the same content.
    pub signature: Signature,
    /// When its inode changed last, seconds and nanoseconds since 1970.
    changed: (i64, i64),
    /// Whether it has other names, so that it may have come here without being written.
    linked: bool,
}

impl Look {
    /// What `metadata` shows.
    pub fn of(metadata: &Metadata) -> Look {
        Look {
            signature: Signature::of(metadata),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            linked: metadata.nlink() > 1,
        }
    }

    /// Who writes to it when it was seen to be written to.
    fn writer(&self) -> Writer {
        if self.linked { Writer::Unknown } else { Writer::Writing }
    }

    /// How long ago its inode changed, or nothing if that is in the future or before 1970.
    fn unchanged_for(&self, now: SystemTime) -> Duration {
        let (seconds, nanoseconds) = self.changed;
        let changed = u64::try_from(seconds).ok().map(|seconds| {
            UNIX_EPOCH + Duration::new(seconds, nanoseconds.clamp(0, 999_999_999) as u32)
        });
        changed.and_then(|changed| now.duration_since(changed).ok()).unwrap_or_default()
    }
}

/// One file that is waiting.
#[derive(Debug)]
struct Waiting {
    look: Look,
    via: Via,
    /// Since when it is known to be unchanged.
    since: Instant,
    /// It is not to be tried before, after a failure.
    not_before: Option<Instant>,
    /// It was renamed or moved in.
    moved: bool,
    writer: Writer,
    /// It was put back, and the hint that it was renamed to here, by ourselves, is still to come.
    put_back: bool,
    /// It was handed out as ready.
    handed_out: bool,
    /// How often it could not be taken.
    failures: u32,
    /// How often it was found open for writing.
    looks: u32,
}

impl Waiting {
    /// A file that was not known before.
    fn first(look: Look, via: Via, hint: Option<Hint>, quiet: Quiet, now: Instant) -> Waiting {
        let writer = match hint {
            Some(Hint::Written) => look.writer(),
            Some(Hint::Closed) => Writer::Done,
            _ => Writer::Unknown,
        };
        let longest = quiet.settle.max(quiet.open);
        let ago = look.unchanged_for(SystemTime::now()).min(longest);
        Waiting {
            look,
            via,
            since: now.checked_sub(ago).unwrap_or(now),
            not_before: None,
            moved: matches!(hint, Some(Hint::Moved)),
            writer,
            put_back: false,
            handed_out: false,
            failures: 0,
            looks: 0,
        }
    }

    /// It was seen again, and looks as `first` would if it was not known before.
    fn see_again(&mut self, first: Waiting, hint: Option<Hint>) {
        let look = first.look;
        if self.look != look {
            *self = Waiting {
                handed_out: self.handed_out,
                writer: self.writer,
                put_back: self.put_back && self.look.signature.identity == look.signature.identity,
                via: self.via,
                not_before: self.not_before,
                failures: self.failures,
                ..first
            };
        }
        match hint {
            Some(Hint::Written) => (self.writer, self.moved) = (look.writer(), false),
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

    fn due(&self, quiet: Quiet) -> Instant {
        let settled = match self.writer {
            _ if self.moved => self.since,
            Writer::Unknown | Writer::Writing if self.look.signature.bytes == 0 => {
                self.since + quiet.open
            }
            _ => self.since + quiet.settle,
        };
        self.not_before.map_or(settled, |not_before| settled.max(not_before))
    }

    /// Whether it was left alone for so long that it is taken though somebody may have it open.
    fn is_given_up(&self, quiet: Quiet, now: Instant) -> bool {
        let is_open = matches!(self.writer, Writer::Writing | Writer::HasItOpen);
        is_open && self.since + quiet.open <= now
    }
}

/// A file that is ready to be taken.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Its name.
    pub name: Name,
    /// What it looked like.
    pub look: Look,
    /// What found it.
    pub via: Via,
    /// Since when it is ready.
    pub since: Instant,
    /// It is taken even if somebody has it open for writing, since they have not written for so long.
    pub though_open: bool,
    /// It was seen to be written to, and not to be closed.
    pub seen_writing: bool,
}

/// What is known of a file that is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How long it has to be left alone still; nothing if it is ready.
    pub left: Duration,
    /// What it waits for, as the setting that says how long; or `open`, if somebody has it open.
    pub setting: &'static str,
    /// How often it could not be taken.
    pub failures: u32,
}

/// All files that are waiting.
pub struct WaitingRoom {
    quiet: Quiet,
    files_max: usize,
    files: HashMap<Name, Waiting>,
    /// The files that are not handed out, and when each may have settled.
    settling: BTreeSet<(Instant, Name)>,
    missed: bool,
}

impl WaitingRoom {
    /// A room for at most so many files.
    pub fn new(quiet: Quiet, files_max: usize) -> WaitingRoom {
        WaitingRoom {
            quiet,
            files_max,
            files: HashMap::new(),
            settling: BTreeSet::new(),
            missed: false,
        }
    }

    /// From now on files wait for so long, and so many at the most; those that wait already, too.
    pub fn set_limits(&mut self, quiet: Quiet, files_max: usize) {
        (self.quiet, self.files_max) = (quiet, files_max);
        let settling = self.files.iter().filter(|(_, file)| !file.handed_out);
        self.settling = settling.map(|(name, file)| (file.due(quiet), name.clone())).collect();
    }

    /// Takes note of what a file looks like now, and hands it out if it is ready.
    pub fn see(
        &mut self,
        name: Name,
        look: Look,
        via: Via,
        hint: Option<Hint>,
        now: Instant,
    ) -> Option<Ready> {
        let WaitingRoom { quiet, files_max, files, settling, missed } = self;
        let first = Waiting::first(look, via, hint, *quiet, now);
        let is_full = files.len() >= *files_max;
        let file = match files.entry(name) {
            Entry::Vacant(_) if is_full && first.due(*quiet) > now => {
                *missed = true;
                return None;
            }
            Entry::Vacant(vacant) => vacant.insert_entry(first),
            Entry::Occupied(mut known) => {
                if !known.get().handed_out {
                    settling.remove(&(known.get().due(*quiet), known.key().clone()));
                }
                known.get_mut().see_again(first, hint);
                known
            }
        };
        let (name, file) = (file.key().clone(), file.into_mut());
        let due = file.due(*quiet);
        if file.handed_out {
            return None;
        }
        if due > now {
            settling.insert((due, name));
            return None;
        }
        file.handed_out = true;
        let though_open = file.is_given_up(*quiet, now);
        let seen_writing = file.writer == Writer::Writing;
        Some(Ready { name, look: file.look, via: file.via, since: due, though_open, seen_writing })
    }

    /// Takes note of a file that was put back because it changed after it was taken: somebody
    /// writes to it, and we do not know that they have closed it.
    pub fn put_back(&mut self, name: Name, look: Look, now: Instant) {
        self.forget(&name);
        let file = Waiting {
            look,
            via: Via::Scan,
            since: now,
            not_before: None,
            moved: false,
            writer: Writer::Writing,
            put_back: true,
            handed_out: false,
            failures: 0,
            looks: 0,
        };
        self.settling.insert((file.due(self.quiet), name.clone()));
        self.files.insert(name, file);
    }

    /// What is known of a file, if it is waiting.
    pub fn seen(&self, name: &Name, now: Instant) -> Option<Seen> {
        let file = self.files.get(name)?;
        let due = file.due(self.quiet);
        let left =
            if file.handed_out { Duration::ZERO } else { due.saturating_duration_since(now) };
        let setting = if file.writer == Writer::HasItOpen {
            "open"
        } else if due == file.since + self.quiet.open && self.quiet.open > self.quiet.settle {
            "open_settle_ms"
        } else if file.not_before.is_some_and(|not_before| not_before == due) {
            "retry"
        } else {
            "settle_ms"
        };
        Some(Seen { left, setting, failures: file.failures })
    }

    /// The names of files that may have settled by now, to be looked at once more.
    pub fn due(&self, now: Instant) -> Vec<Name> {
        let due = self.settling.iter().take_while(|(due, _)| *due <= now);
        due.map(|(_, name)| name.clone()).collect()
    }

    /// When the next file may have settled.
    pub fn next_due(&self) -> Option<Instant> {
        self.settling.first().map(|(due, _)| *due)
    }

    /// A file is not in the inbox any more.
    pub fn forget(&mut self, name: &Name) {
        if let Some(file) = self.files.remove(name)
            && !file.handed_out
        {
            self.settling.remove(&(file.due(self.quiet), name.clone()));
        }
    }

    /// A file that was handed out is taken, or gone. If it looked different when it was seen last,
    /// that may have been the next one of its name, and it is looked at again.
    pub fn taken(&mut self, ready: &Ready) {
        match self.files.get_mut(&ready.name) {
            Some(file) if file.handed_out && file.look != ready.look => {
                file.handed_out = false;
                self.settling.insert((file.due(self.quiet), ready.name.clone()));
            }
            _ => self.forget(&ready.name),
        }
    }

    /// A file that was handed out could not be taken: it settles again, and is not tried before
    /// this pause is over, which doubles with each failure up to sixteen times its length.
    pub fn settle_again(&mut self, name: &Name, now: Instant, pause: Duration) {
        self.wait_again(name, |file| {
            file.not_before = Some(now + pause * (1 << file.failures.min(4)));
            file.failures += 1;
        });
    }

    fn wait_again(&mut self, name: &Name, change: impl FnOnce(&mut Waiting)) {
        let Some(file) = self.files.get_mut(name) else {
            return;
        };
        if !file.handed_out {
            self.settling.remove(&(file.due(self.quiet), name.clone()));
        }
        file.handed_out = false;
        change(file);
        self.settling.insert((file.due(self.quiet), name.clone()));
    }

    /// A file that was handed out is still open for writing: it is looked at again after a pause, which
    /// doubles with each look up to eight times its length, or when it is closed.
    pub fn is_written(&mut self, name: &Name, now: Instant, pause: Duration) {
        if self.files.len() > self.files_max {
            // The next scan finds it again.
            self.missed = true;
            self.files.remove(name);
            return;
        }
        self.wait_again(name, |file| {
            file.moved = false;
            file.writer = Writer::HasItOpen;
            file.not_before = Some(now + pause * (1 << file.looks.min(3)));
            file.looks += 1;
        });
    }

    /// Of a file that was handed out, and seen to be written to, it cannot be told whether it is open
    /// still: it is left alone for as long as an open one.
    pub fn may_be_written(&mut self, name: &Name) {
        let open = self.quiet.open;
        self.wait_again(name, |file| file.not_before = Some(file.since + open));
    }

    /// Whether all files that are left could not be taken in this many tries.
    pub fn holds_only_failed(&self, tries: u32) -> bool {
        self.files.values().all(|file| file.failures >= tries)
    }

    /// How many files wait.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether a file could not be remembered since the last call.
    pub fn take_missed(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }
}
