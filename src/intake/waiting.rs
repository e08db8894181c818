//! Files that were seen and are not ours yet: when each has settled.
//!
//! Settling is measured on our clock. A file's own times are used only to tell that it changed, and
//! to see that its last change is already longer ago than the settle time.

use super::watch::Hint;
use crate::event::Via;
use crate::submission::{Name, Signature};
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long files must be left alone before they are taken.
#[derive(Clone, Copy, Debug)]
pub struct Quiet {
    /// A file that nobody is known to write to.
    pub settle: Duration,
    /// A file that was seen being written and not closed yet; or one that is empty, which may have
    /// been made a moment ago.
    pub open: Duration,
}

/// What is known of whoever writes to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// Nothing.
    Unknown,
    /// They write to it.
    Writing,
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
}

impl Waiting {
    fn due(&self, quiet: Quiet) -> Instant {
        let settled = match self.writer {
            _ if self.moved => self.since,
            Writer::Writing => self.since + quiet.open,
            Writer::Unknown if self.look.signature.bytes == 0 => self.since + quiet.open,
            Writer::Unknown | Writer::Done => self.since + quiet.settle,
        };
        self.not_before.map_or(settled, |not_before| settled.max(not_before))
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
}

/// All files that are waiting.
pub struct WaitingRoom {
    quiet: Quiet,
    files_max: usize,
    files: HashMap<Name, Waiting>,
    missed: bool,
}

impl WaitingRoom {
    /// A room for at most so many files.
    pub fn new(quiet: Quiet, files_max: usize) -> WaitingRoom {
        WaitingRoom { quiet, files_max, files: HashMap::new(), missed: false }
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
        let writing = if look.linked { Writer::Unknown } else { Writer::Writing };
        let writer = match hint {
            Some(Hint::Written) => writing,
            Some(Hint::Closed) => Writer::Done,
            _ => Writer::Unknown,
        };
        let moved = matches!(hint, Some(Hint::Moved));
        let longest = self.quiet.settle.max(self.quiet.open);
        let ago = look.unchanged_for(SystemTime::now()).min(longest);
        let first = Waiting {
            look,
            via,
            since: now.checked_sub(ago).unwrap_or(now),
            not_before: None,
            moved,
            writer,
            put_back: false,
            handed_out: false,
            failures: 0,
        };
        let Some(known) = self.files.get_mut(&name) else {
            if first.due(self.quiet) <= now || self.files.len() < self.files_max {
                self.files.insert(name.clone(), first);
                return self.hand_out_if_due(&name, now);
            }
            self.missed = true;
            return None;
        };
        if known.look != look {
            *known = Waiting {
                handed_out: known.handed_out,
                writer: known.writer,
                put_back: known.put_back
                    && known.look.signature.identity == look.signature.identity,
                via: known.via,
                not_before: known.not_before,
                failures: known.failures,
                ..first
            };
        }
        match hint {
            Some(Hint::Written) => (known.writer, known.moved) = (writing, false),
            Some(Hint::Closed) => known.writer = Writer::Done,
            Some(Hint::Moved) if known.put_back => known.put_back = false,
            Some(Hint::Moved) => (known.writer, known.moved) = (Writer::Done, true),
            Some(Hint::Folder | Hint::FolderGone) | None => {}
        }
        self.hand_out_if_due(&name, now)
    }

    /// Takes note of a file that was put back because it changed after it was taken: somebody
    /// writes to it, and we do not know that they have closed it.
    pub fn put_back(&mut self, name: Name, look: Look, now: Instant) {
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
        };
        self.files.insert(name, file);
    }

    fn hand_out_if_due(&mut self, name: &Name, now: Instant) -> Option<Ready> {
        let quiet = self.quiet;
        let file = self.files.get_mut(name)?;
        let due = file.due(quiet);
        if file.handed_out || due > now {
            return None;
        }
        file.handed_out = true;
        Some(Ready { name: name.clone(), look: file.look, via: file.via, since: due.min(now) })
    }

    /// The names of files that may have settled by now, to be looked at once more.
    pub fn due(&self, now: Instant) -> Vec<Name> {
        let due = self.files.iter().filter(|(_, file)| !file.handed_out);
        due.filter(|(_, file)| file.due(self.quiet) <= now).map(|(name, _)| name.clone()).collect()
    }

    /// When the next file may have settled.
    pub fn next_due(&self) -> Option<Instant> {
        let waiting = self.files.values().filter(|file| !file.handed_out);
        waiting.map(|file| file.due(self.quiet)).min()
    }

    /// A file that was handed out is taken, or gone.
    pub fn forget(&mut self, name: &Name) {
        self.files.remove(name);
    }

    /// A file that was handed out could not be taken: it settles again, and is not tried before
    /// this pause is over, which doubles with each failure up to sixteen times its length.
    pub fn settle_again(&mut self, name: &Name, now: Instant, pause: Duration) {
        if let Some(file) = self.files.get_mut(name) {
            file.handed_out = false;
            file.not_before = Some(now + pause * (1 << file.failures.min(4)));
            file.failures += 1;
        }
    }

    /// Whether all files that are left could not be taken in this many tries.
    pub fn holds_only_failed(&self, tries: u32) -> bool {
        self.files.values().all(|file| file.failures >= tries)
    }

    /// How many files wait.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Since when the file that has been ready for longest is ready.
    pub fn oldest_ready(&self, now: Instant) -> Option<Instant> {
        self.files.values().map(|file| file.due(self.quiet)).filter(|due| *due <= now).min()
    }

    /// Whether a file could not be remembered since the last call.
    pub fn take_missed(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Quiet = Quiet { settle: Duration::from_secs(2), open: Duration::from_secs(100) };

    fn look(bytes: u64, changed_ago: i64) -> Look {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
        let changed = (now.as_secs() as i64 - changed_ago, 0);
        Look { signature: Signature::for_tests(bytes), changed, linked: false }
    }

    fn name() -> Name {
        Name::from_bytes(*b"p")
    }

    fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    struct Room(WaitingRoom, Instant);

    impl Room {
        fn new() -> Room {
            Room(WaitingRoom::new(QUIET, 10), Instant::now())
        }

        fn see(&mut self, at: u64, look: Look, hint: Option<Hint>) -> bool {
            self.0.see(name(), look, Via::Scan, hint, self.1 + seconds(at)).is_some()
        }
    }

    #[test]
    fn a_file_that_changed_long_ago_is_ready_at_once_and_only_once() {
        let mut room = Room::new();
        assert!(room.see(0, look(5, 1_000), None));
        assert!(!room.see(0, look(5, 1_000), None));
        assert!(room.0.due(room.1 + seconds(9)).is_empty());
    }

    #[test]
    fn a_new_file_must_be_left_alone_for_the_settle_time() {
        let mut room = Room::new();
        let first = look(5, 0);
        assert!(!room.see(0, first, None));
        assert!(!room.see(1, look(6, -3), None));
        assert!(!room.see(2, look(6, -3), None), "it has changed a second ago");
        assert_eq!(room.0.due(room.1 + seconds(2)), []);
    }

    #[test]
    fn a_time_in_the_future_is_no_obstacle() {
        let mut room = Room::new();
        let from_the_future = look(5, -1_000_000);
        assert!(!room.see(0, from_the_future, None));
        assert_eq!(room.0.due(room.1 + seconds(3)), [name()]);
        assert!(room.see(3, from_the_future, None));
    }

    #[test]
    fn a_file_that_was_moved_in_is_ready_at_once() {
        assert!(Room::new().see(0, look(5, 0), Some(Hint::Moved)));
    }

    #[test]
    fn a_file_being_written_waits_for_its_closing() {
        let mut room = Room::new();
        let slow = look(5, -1);
        assert!(!room.see(0, slow, Some(Hint::Written)));
        assert!(!room.see(50, slow, None));
        assert!(room.see(51, slow, Some(Hint::Closed)));
    }

    #[test]
    fn an_empty_file_may_have_been_made_a_moment_ago_and_waits_longer() {
        let mut room = Room::new();
        let empty = look(0, -1);
        assert!(!room.see(0, empty, None));
        assert!(!room.see(3, empty, None), "its writer may only be slow");
        assert!(room.see(4, empty, Some(Hint::Closed)), "its writer is not");

        let mut room = Room::new();
        assert!(!room.see(0, empty, None));
        assert!(!room.see(3, look(5, -4), None), "it has just changed");
        assert!(room.see(6, look(5, -4), None));
        assert!(Room::new().see(0, look(0, 1_000), None), "it has been there for long");
    }

    #[test]
    fn a_file_that_nobody_closes_is_taken_in_the_end() {
        let mut room = Room::new();
        let never_closed = look(5, -1);
        assert!(!room.see(0, never_closed, Some(Hint::Written)));
        assert!(room.see(101, never_closed, None));
    }

    #[test]
    fn a_file_that_was_put_back_waits_for_its_closing_though_it_was_renamed() {
        let mut room = Room::new();
        let slow = look(5, -1);
        room.0.put_back(name(), slow, room.1);
        assert!(!room.see(0, slow, Some(Hint::Moved)));
        assert!(!room.see(50, slow, None));
        assert!(room.see(51, slow, Some(Hint::Closed)));
    }

    #[test]
    fn what_is_moved_over_a_file_that_was_put_back_is_ready_at_once() {
        let mut room = Room::new();
        room.0.put_back(name(), look(5, -1), room.1);
        let mut other = look(5, -1);
        other.signature.identity.1 += 1;
        assert!(room.see(0, other, Some(Hint::Moved)));
    }

    #[test]
    fn a_second_name_of_a_file_is_not_taken_for_writing() {
        let mut room = Room::new();
        let linked = Look { linked: true, ..look(5, -1) };
        assert!(!room.see(0, linked, Some(Hint::Written)));
        assert!(room.see(3, linked, None));
    }

    #[test]
    fn what_could_not_be_taken_is_handed_out_again_later() {
        let mut room = Room::new();
        assert!(room.see(0, look(5, 1_000), None));
        room.0.settle_again(&name(), room.1, seconds(5));
        assert!(!room.see(4, look(5, 1_000), None));
        assert_eq!(room.0.next_due(), Some(room.1 + seconds(5)));
        assert!(room.see(5, look(5, 1_000), None));
        room.0.settle_again(&name(), room.1 + seconds(5), seconds(5));
        assert_eq!(room.0.next_due(), Some(room.1 + seconds(15)));
    }

    #[test]
    fn a_full_room_still_hands_out_what_is_ready() {
        let mut room = WaitingRoom::new(QUIET, 0);
        let now = Instant::now();
        assert!(room.see(name(), look(5, 0), Via::Event, None, now).is_none());
        assert!(room.take_missed());
        assert!(room.see(name(), look(5, 1_000), Via::Event, None, now).is_some());
    }
}
