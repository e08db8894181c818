//! When each file arrived in the inbox: `handed_in_at`.
//!
//! While the service was down nobody saw a file arrive, so the file system's times have to say it. Renaming a
//! file into the inbox, or writing to it, sets its change time, and nobody can set that to another time. Three
//! things make it not enough, and each has a file of its own here or a field below:
//!
//! - To move a whole folder in does not touch the files in it. It sets the change time of the folder and the
//!   modification time of the folder above, but so do other things, and the next entry hides it. So a folder is
//!   judged when it is first seen ([`Placed`]), and a move that a watch event reports is kept.
//! - A change of mode, owner or links sets a file's change time too. Intake keeps the first time of a file that it
//!   has seen before such a change. What happened before shows only sometimes: a file whose inode is new, or that
//!   was just written, was not changed later; one that has changed later than the entries of its folder was.
//! - The clock may have been set ([`Clock`]), or the times are another machine's or of a file system that has no
//!   change time. There a file arrives when it is last seen to change.
//!
//! Where a time may be wrong it is in doubt, and no later than what is known: a service that was down makes
//! nobody late.

mod clock;
mod rule;

pub(super) use clock::Clock;
pub(super) use rule::{FINISHING_MS, Times};

use crate::model::submission::{Doubt, HandedIn, Name};
use rule::{Placed, SAME_MS};
use rustix::fs::FsWord;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Magic numbers of file systems of this machine where a rename sets the change time: ext2 to ext4, xfs, btrfs,
/// f2fs, tmpfs, overlayfs, zfs, bcachefs.
const TRUSTED: [FsWord; 8] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0xF2F5_2010,
    0x0102_1994,
    0x794C_7630,
    0x2FC1_2FC1,
    0xCA45_1A4E,
];

/// At most so many folders are remembered. When a file in another one arrived is in doubt.
const FOLDERS_MAX: usize = 1 << 18;

/// Up to so many folders are remembered without a check whether they still exist.
const FOLDERS_UNCHECKED: usize = 4_096;

/// In a folder with more entries it is not asked which of them came at a moment.
const SIBLINGS_MAX: usize = 1 << 14;

/// A folder of the inbox that is known.
struct Known {
    /// Device and inode.
    identity: (u64, u64),
    way: Way,
    /// The last scan that could not read it, counted from 0.
    unread_in: Option<u64>,
}

/// How a folder came to its place.
#[derive(Clone, Copy)]
enum Way {
    /// It was found there with these times. It is judged when the first file in it is: most folders hold none.
    Found {
        times: Times,
        /// When it was not there, if that is known.
        absent_ms: Option<i64>,
    },
    /// It is judged.
    Judged(Placed),
}

/// What is known about arrivals in the inbox.
pub(super) struct Arrivals {
    inbox: PathBuf,
    /// The folders by their path under the inbox; its own is empty.
    folders: BTreeMap<OsString, Known>,
    /// How many there were when it was last checked which of them still exist.
    checked_folders: usize,
    /// The folder of the last file that may have been changed after it arrived, and when its entries changed.
    last_folder: (OsString, i64),
    /// How many entries of a folder came at a moment: the last answer of [`Arrivals::came_at`].
    last_came: Option<(OsString, i64, Option<usize>)>,
    /// Whether times can be trusted, by device.
    trusted: HashMap<u64, bool>,
    /// When the last whole scan began: folders that are not known were not in the inbox then.
    scanned_ms: Option<i64>,
    /// How many whole scans were finished.
    scans: u64,
    /// Whether that scan left out files.
    has_missed: bool,
    /// Times up to this one are in doubt, since the clock was set.
    clock_doubt_ms: i64,
}

impl Arrivals {
    /// Nothing is known of this inbox.
    pub(super) fn new(inbox: &Path) -> Arrivals {
        Arrivals {
            inbox: inbox.to_owned(),
            folders: BTreeMap::new(),
            checked_folders: FOLDERS_UNCHECKED,
            last_folder: (OsString::new(), i64::MIN),
            last_came: None,
            trusted: HashMap::new(),
            scanned_ms: None,
            scans: 0,
            has_missed: false,
            clock_doubt_ms: i64::MIN,
        }
    }

    /// Times up to this one are in doubt from now on, since the clock was set.
    pub(super) fn doubt_clock(&mut self, up_to_ms: i64) {
        self.clock_doubt_ms = self.clock_doubt_ms.max(up_to_ms);
    }

    /// A folder is about to be read.
    pub(super) fn enter(&mut self, path: &Path, metadata: &Metadata) {
        if let Ok(folder) = path.strip_prefix(&self.inbox) {
            let folder = folder.as_os_str();
            if self.is_known(folder, metadata) {
                return;
            }
            let way = if folder.is_empty() {
                Way::Judged(Placed::ALWAYS)
            } else {
                let absent_ms = self.scanned_ms.filter(|_| self.was_read(parent(folder)));
                Way::Found { times: Times::of(metadata), absent_ms }
            };
            self.insert_new(folder, metadata, way);
        }
    }

    /// Whether the times of files and folders of this device can be trusted.
    pub(super) fn is_trusted(&self, device: u64) -> bool {
        self.trusted.get(&device) == Some(&true)
    }

    /// A folder could not be read: what is in it may have been there for long when it is seen first.
    pub(super) fn not_read(&mut self, folder: &Name) {
        if let Some(known) = self.folders.get_mut(folder.as_path().as_os_str()) {
            known.unread_in = Some(self.scans);
        }
    }

    /// A folder was seen to be moved to this name.
    pub(super) fn folder_moved(&mut self, name: &Name, metadata: &Metadata) {
        let folder = name.as_path().as_os_str();
        self.forget(name.as_path());
        let moved_ms = Times::of(metadata).changed_ms.min(now_ms());
        let placed = Placed::moved(moved_ms).within(self.placed_above(folder));
        self.insert_new(folder, metadata, Way::Judged(placed));
    }

    /// A folder was seen to be made.
    pub(super) fn folder_made(&mut self, name: &Name, metadata: &Metadata) {
        let folder = name.as_path().as_os_str();
        let placed = self.placed_above(folder);
        self.insert_new(folder, metadata, Way::Judged(placed));
    }

    fn is_known(&self, folder: &OsStr, metadata: &Metadata) -> bool {
        let identity = (metadata.dev(), metadata.ino());
        self.folders.get(folder).is_some_and(|known| known.identity == identity)
    }

    /// Whether neither the scan in progress nor the last one failed to read a folder, or one above it.
    fn was_read(&self, folder: &OsStr) -> bool {
        Path::new(folder).ancestors().all(|folder| {
            let known = self.folders.get(folder.as_os_str());
            known.and_then(|known| known.unread_in).is_none_or(|scan| scan + 1 < self.scans)
        })
    }

    /// Adds a folder, unless it is known.
    fn insert_new(&mut self, folder: &OsStr, metadata: &Metadata, way: Way) {
        if self.is_known(folder, metadata) {
            return;
        }
        let identity = (metadata.dev(), metadata.ino());
        if self.folders.len() >= FOLDERS_MAX && !self.folders.contains_key(folder) {
            return;
        }
        let (device, _) = identity;
        self.trusted.entry(device).or_insert_with(|| is_trusted(&self.inbox.join(folder)));
        self.folders.insert(folder.to_owned(), Known { identity, way, unread_in: None });
    }

    /// How a folder came to its place.
    fn placed(&mut self, folder: &OsStr) -> Placed {
        let (times, absent_ms) = match self.folders.get(folder).map(|known| known.way) {
            Some(Way::Found { times, absent_ms }) => (times, absent_ms),
            Some(Way::Judged(placed)) => return placed,
            None => return Placed::ALWAYS,
        };
        let above_ms = self.modified_ms(parent(folder)).unwrap_or(i64::MAX);
        let is_alone = || self.came_at(parent(folder), above_ms) == Some(1);
        let placed = Placed::found(times, above_ms, absent_ms, is_alone);
        let placed = placed.within(self.placed_above(folder));
        if let Some(known) = self.folders.get_mut(folder) {
            known.way = Way::Judged(placed);
        }
        placed
    }

    /// How the folder above this one came to its place.
    fn placed_above(&mut self, folder: &OsStr) -> Placed {
        self.placed(parent(folder))
    }

    /// How many entries of a folder came, or changed, at this moment; `None` if that takes too long to say.
    fn came_at(&mut self, folder: &OsStr, ms: i64) -> Option<usize> {
        if let Some((last, at_ms, came)) = &self.last_came
            && (last.as_os_str(), *at_ms) == (folder, ms)
        {
            return *came;
        }
        let is_then = |at_ms: i64| at_ms.abs_diff(ms) <= SAME_MS.unsigned_abs();
        let came = self.inbox.join(folder).read_dir().ok().and_then(|mut entries| {
            let looked = entries.by_ref().take(SIBLINGS_MAX).flatten();
            let found = looked.filter_map(|entry| entry.metadata().ok());
            let came = found
                .filter(|it| is_then(Times::of(it).changed_ms) || born_ms(it).is_some_and(is_then));
            let came = came.count();
            entries.next().is_none().then_some(came)
        });
        self.last_came = Some((folder.to_owned(), ms, came));
        came
    }

    /// When the entries of a folder changed last.
    fn modified_ms(&self, folder: &OsStr) -> Option<i64> {
        let found = self.inbox.join(folder).metadata().ok()?;
        Some(Times::of(&found).modified_ms)
    }

    /// Forgets a folder that is gone or moved, and all below it.
    pub(super) fn forget(&mut self, folder: &Path) {
        let folder = folder.strip_prefix(&self.inbox).unwrap_or(folder).as_os_str();
        if self.folders.remove(folder).is_none() {
            return;
        }
        let [mut first, mut end] = [folder.to_owned(), folder.to_owned()];
        first.push("/");
        // What comes behind a slash.
        end.push("0");
        let below = (Bound::Included(first.as_os_str()), Bound::Excluded(end.as_os_str()));
        let below: Vec<OsString> =
            self.folders.range::<OsStr, _>(below).map(|(folder, _)| folder.clone()).collect();
        for folder in below {
            self.folders.remove(&folder);
        }
    }

    /// A whole scan is finished that began then; `has_missed` if it left out files.
    pub(super) fn scanned(&mut self, started: Instant, has_missed: bool) {
        let took = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.scanned_ms = Some(now_ms().saturating_sub(took));
        self.scans += 1;
        self.has_missed = has_missed;
        if self.folders.len() > 2 * self.checked_folders {
            let inbox = &self.inbox;
            self.folders.retain(|folder, _| inbox.join(folder).is_dir());
            self.checked_folders = self.folders.len().max(FOLDERS_UNCHECKED);
        }
    }

    /// When a file arrived that has this state now.
    pub(super) fn handed_in(&mut self, name: &Name, file: &Metadata, found: FoundBy) -> HandedIn {
        let (folder, _) = name.split();
        if !self.folders.contains_key(folder) {
            let path = self.inbox.join(folder);
            if let Ok(metadata) = path.metadata() {
                self.enter(&path, &metadata);
            }
        }
        let times = Times::of(file);
        let Some(known) = self.folders.get(folder) else {
            return HandedIn { at_ms: times.changed_ms, doubt: Some(Doubt::Move) };
        };
        let (device, _) = known.identity;
        let was_read = self.was_read(folder);
        let now_ms = now_ms();
        let handed_in = self.placed(folder).handed_in(times);
        if !self.is_trusted(device) {
            let was_absent = self.scanned_ms.is_some() && !self.has_missed && was_read;
            return if found != FoundBy::Scan || was_absent {
                HandedIn { at_ms: now_ms, doubt: None }
            } else {
                HandedIn { at_ms: handed_in.at_ms.min(now_ms), doubt: Some(Doubt::Clock) }
            };
        }
        let is_in_future = handed_in.at_ms > now_ms.saturating_add(SAME_MS);
        let doubt = if handed_in.doubt.is_some() {
            handed_in.doubt
        } else if is_in_future || handed_in.at_ms <= self.clock_doubt_ms {
            Some(Doubt::Clock)
        } else {
            let may_be_changed = found == FoundBy::Scan
                && !times.is_written()
                && born_ms(file).is_none_or(|born_ms| times.was_changed_after(born_ms));
            let was_changed = may_be_changed
                && (!was_read || file.nlink() > 1 || self.changed_later(folder, times));
            was_changed.then_some(Doubt::Change)
        };
        HandedIn { doubt, ..handed_in }
    }

    /// Whether a file has changed later than the entries of its folder.
    fn changed_later(&mut self, folder: &OsStr, file: Times) -> bool {
        let (last, modified_ms) = &self.last_folder;
        if last == folder && !file.was_changed_after(*modified_ms) {
            return false;
        }
        let modified_ms = self.modified_ms(folder).unwrap_or(i64::MAX);
        self.last_folder = (folder.to_owned(), modified_ms);
        file.was_changed_after(modified_ms)
    }
}

/// How a file was found in the state that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundBy {
    /// An event reports it.
    Event,
    /// It was seen before, in another state.
    Change,
    /// A scan found it, and it may have been there for long.
    Scan,
}

/// The folder above this one; its own name is empty if that is the inbox.
fn parent(folder: &OsStr) -> &OsStr {
    Path::new(folder).parent().map_or(OsStr::new(""), Path::as_os_str)
}

/// Whether the times of files in this folder come from the clock of this machine, and show renames.
fn is_trusted(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|found| TRUSTED.contains(&found.f_type))
}

/// When the inode of a file was made, which nobody can set; where the file system says so.
fn born_ms(file: &Metadata) -> Option<i64> {
    let born = jiff::Timestamp::try_from(file.created().ok()?).ok()?;
    Some(born.as_millisecond())
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An inbox with these files in it.
    fn inbox(files: &[&str]) -> (tempfile::TempDir, Arrivals) {
        let inbox = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = inbox.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, "text").expect("a file");
        }
        let arrivals = Arrivals::new(inbox.path());
        (inbox, arrivals)
    }

    fn metadata(inbox: &tempfile::TempDir, name: &str) -> Metadata {
        inbox.path().join(name).metadata().expect("a file")
    }

    #[test]
    fn a_folder_is_forgotten_with_all_below_it_and_no_other() {
        let names = ["a/p", "a/b/p", "a/b/c/p", "a/b-x/p", "a/b0/p"];
        let (inbox, mut arrivals) = inbox(&names);
        for name in names {
            arrivals.handed_in(&Name::from_bytes(name), &metadata(&inbox, name), FoundBy::Scan);
        }
        assert_eq!(arrivals.folders.len(), names.len());
        // By its whole path, as events name it, or by its path under the inbox.
        arrivals.forget(&inbox.path().join("a/b"));
        let known =
            |arrivals: &Arrivals| -> Vec<OsString> { arrivals.folders.keys().cloned().collect() };
        assert_eq!(known(&arrivals), ["a", "a/b-x", "a/b0"]);
        arrivals.forget(Path::new("a"));
        assert_eq!(known(&arrivals), [""; 0]);
    }

    #[test]
    fn no_more_folders_are_remembered_than_allowed() {
        let (inbox, mut arrivals) = inbox(&["late/p"]);
        let folder = metadata(&inbox, "late");
        for i in 0..=FOLDERS_MAX {
            arrivals.enter(&inbox.path().join(i.to_string()), &folder);
        }
        assert_eq!(arrivals.folders.len(), FOLDERS_MAX);
        let file = metadata(&inbox, "late/p");
        let handed_in = arrivals.handed_in(&Name::from_bytes(*b"late/p"), &file, FoundBy::Scan);
        let at_ms = Times::of(&file).changed_ms;
        assert_eq!(handed_in, HandedIn { at_ms, doubt: Some(Doubt::Move) });
        // Those that are gone make room.
        arrivals.scanned(Instant::now(), false);
        assert!(arrivals.folders.is_empty());
        let handed_in = arrivals.handed_in(&Name::from_bytes(*b"late/p"), &file, FoundBy::Scan);
        assert_eq!(handed_in.doubt, None);
    }

    #[test]
    fn a_time_before_the_clock_was_set_is_in_doubt() {
        let (inbox, mut arrivals) = inbox(&["p"]);
        let file = metadata(&inbox, "p");
        let name = Name::from_bytes(*b"p");
        assert_eq!(arrivals.handed_in(&name, &file, FoundBy::Scan).doubt, None);
        arrivals.doubt_clock(Times::of(&file).changed_ms - 1);
        assert_eq!(arrivals.handed_in(&name, &file, FoundBy::Scan).doubt, None);
        arrivals.doubt_clock(Times::of(&file).changed_ms);
        assert_eq!(arrivals.handed_in(&name, &file, FoundBy::Scan).doubt, Some(Doubt::Clock));
    }
}
