//! A walk through the inbox, one entry at a time.
//!
//! Top-level folders take turns, so that a huge one does not delay the others. Between two entries the
//! walk can pause for any time; it holds open folders and a few names in memory, never a whole listing.
//!
//! A folder may hold its share of files that wait for room. There are two ways to go on. A scan never waits: it
//! reads the names of further files and leaves them, so that it finds what is new elsewhere. A walk through single
//! folders waits with such a folder until some of its files are taken, and meanwhile walks through the others.

use super::ready::Room;
use super::rules::{LeftAlone, Rules};
use crate::model::submission::Name;
use crate::store::lock::LOCK_NAME;
use crate::store::path::is_no_folder;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fs::{DirEntry, File, Metadata, ReadDir};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// How many steps a top-level folder is walked before it is the next one's turn.
const STEPS_A_TURN: usize = 64;

/// How many top-level folders are open at a time, where descriptors are plenty.
const OPEN_TURNS_MAX: usize = 16;

/// How many levels of a top-level folder are open at a time, each of which holds a descriptor. The
/// names of deeper folders are remembered.
const OPEN_LEVELS_MAX: usize = 4;

/// What a step of a walk comes to.
pub enum Step {
    /// A regular file.
    File(Name, Metadata),
    /// A file of which only the name was read.
    Passed,
    /// Something that is left alone, and why.
    Ignored(Name, LeftAlone),
    /// A folder that could not be read.
    Failed(Name, io::Error),
    /// A folder was opened.
    Opened,
    /// A folder was not opened, since nothing in it is to be taken: so many entries are left alone.
    AtRest(u64),
    /// All files that were added as the backlog of this folder were found.
    Emptied(Vec<u8>),
    /// Nothing of interest.
    Nothing,
}

/// What the walk asks its owner.
pub trait Guide {
    /// The inbox.
    fn inbox(&self) -> &Path;
    /// The rules by which files and folders are left alone.
    fn rules(&self) -> Rules<'_>;
    /// How many more files of this folder, at the top, may be found; empty for files in no folder.
    fn room(&self, folder: &[u8]) -> Room;
    /// A file of this folder, at the top, was passed over, since there is no room for more.
    fn passed(&mut self, folder: &[u8]);
    /// How many entries are left alone in this folder, if nothing in it is to be taken.
    fn at_rest(&mut self, folder: &Name) -> Option<u64>;
    /// Whether a folder that has these times before it is read, and the same ones later, has not changed meanwhile.
    fn may_rest(&self, metadata: &Metadata) -> bool;
    /// Called before a folder is read.
    fn entering(&mut self, folder: &Path, metadata: &Metadata);
    /// Called after a folder was read in which nothing is to be taken: it has no folder, and so many other entries
    /// that are left alone. `metadata` is from before it was read.
    fn found_at_rest(&mut self, folder: &Name, metadata: &Metadata, ignored: u64);
}

/// Whether a walk waits for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It reads names alone where there is no room.
    Never,
    /// It waits with a folder for which there is no room.
    ForRoom,
}

/// A walk in progress.
pub struct Walk {
    waits: Waits,
    /// Folders that are being read.
    open: VecDeque<Turn>,
    /// Folders that are still to be opened.
    next: VecDeque<Turn>,
    /// Those of them for which there was no room.
    parked: VecDeque<Turn>,
    open_turns_max: usize,
}

/// One top-level folder, or the inbox itself: a stack of folders that are being read.
struct Turn {
    start: Name,
    open: Vec<OpenFolder>,
    /// Folders found at the deepest level that is kept open, and the one at the top until it is opened.
    deeper: Vec<Name>,
    subfolders: Subfolders,
    /// Whether its end is to be reported.
    is_backlog: bool,
    steps: usize,
    /// Whether there was no room for its files.
    is_full: bool,
}

/// What happens to folders that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subfolders {
    /// They belong to this turn.
    Enter,
    /// They get turns of their own, as those of the inbox do.
    Spread,
    /// They are left to others.
    Skip,
}

struct OpenFolder {
    name: Name,
    entries: ReadDir,
    /// From before it was read.
    metadata: Metadata,
    ignored: u64,
    /// Whether nothing in it is to be taken, so far.
    is_at_rest: bool,
}

impl Walk {
    /// A walk that keeps about `open_folders_max` folders open at a time.
    pub fn new(waits: Waits, open_folders_max: usize) -> Walk {
        let open_turns_max = (open_folders_max / OPEN_LEVELS_MAX).clamp(2, OPEN_TURNS_MAX);
        let (open, next, parked) = Default::default();
        Walk { waits, open, next, parked, open_turns_max }
    }

    /// Ends the walk.
    pub fn clear(&mut self) {
        self.open.clear();
        self.next.clear();
        self.parked.clear();
    }

    /// Adds the whole inbox to the walk.
    pub fn add_inbox(&mut self) {
        self.next.push_front(Turn::new(Name::from_bytes(*b""), Subfolders::Spread));
    }

    /// Adds one folder, with all below it.
    pub fn add_folder(&mut self, folder: Name) {
        self.next.push_back(Turn::new(folder, Subfolders::Enter));
    }

    /// Adds the folder with this name, at the top, which holds more files than there was room for; or the files that
    /// are in no folder, if it is empty.
    pub fn add_backlog(&mut self, folder: &[u8]) {
        let subfolders = if folder.is_empty() { Subfolders::Skip } else { Subfolders::Enter };
        let turn = Turn::new(Name::from_bytes(folder), subfolders);
        self.next.push_back(Turn { is_backlog: true, ..turn });
    }

    /// Whether the walk has come to its end.
    pub fn is_over(&self) -> bool {
        self.open.is_empty() && self.next.is_empty() && self.parked.is_empty()
    }

    /// Whether there is a folder that need not wait for room.
    pub fn can_step(&mut self, guide: &impl Guide) -> bool {
        let parked = std::mem::take(&mut self.parked).into_iter();
        let (free, parked): (VecDeque<Turn>, VecDeque<Turn>) =
            parked.partition(|turn| turn.has_room(guide));
        self.next.extend(free);
        self.parked = parked;
        self.waits == Waits::Never && !self.is_over()
            || self.open.iter().chain(&self.next).any(|turn| turn.has_room(guide))
    }

    /// The next step; `None` at the end, or if every folder waits for room.
    pub fn step(&mut self, guide: &mut impl Guide) -> Option<Step> {
        let waits = self.waits;
        let turn = self.choose(guide)?;
        turn.steps += 1;
        let is_slice_over = turn.steps % STEPS_A_TURN == 0;
        let found = turn.step(guide, waits);
        let is_over = matches!(found, Found::End);
        let (step, found) = match found {
            Found::Step(step) => (step, None),
            Found::Folder(folder) => (Step::Nothing, Some(folder)),
            Found::End if turn.is_backlog => (Step::Emptied(turn.start.as_bytes().to_vec()), None),
            Found::End => (Step::Nothing, None),
        };
        if is_over {
            self.open.pop_front();
        } else if is_slice_over {
            self.open.rotate_left(1);
        }
        if let Some(folder) = found {
            self.add_folder(folder);
        }
        Some(step)
    }

    /// Makes the first of the open turns one that has room.
    fn choose(&mut self, guide: &impl Guide) -> Option<&mut Turn> {
        let mut left = self.open.len();
        loop {
            while self.open.len() < self.open_turns_max
                && let Some(turn) = self.next.pop_front()
            {
                if self.waits == Waits::Never || turn.has_room(guide) {
                    self.open.push_back(turn);
                    left += 1;
                } else {
                    self.parked.push_back(Turn { is_full: true, ..turn });
                }
            }
            if left == 0 {
                return None;
            }
            left -= 1;
            let first = self.open.front_mut()?;
            first.is_full = self.waits == Waits::ForRoom && !first.has_room(guide);
            if !first.is_full {
                return self.open.front_mut();
            }
            match self.open.pop_front() {
                // Others wait for its place.
                Some(full) if !self.next.is_empty() => self.parked.push_back(full.closed()),
                full => self.open.extend(full),
            }
        }
    }
}

enum Found {
    Step(Step),
    Folder(Name),
    /// There is nothing more.
    End,
}

impl Turn {
    fn new(start: Name, subfolders: Subfolders) -> Turn {
        let deeper = vec![start.clone()];
        let open = Vec::new();
        Turn { start, open, deeper, subfolders, is_backlog: false, steps: 0, is_full: false }
    }

    /// The turn from its start.
    fn closed(self) -> Turn {
        let Turn { start, subfolders, is_backlog, is_full, .. } = self;
        Turn { is_backlog, is_full, ..Turn::new(start, subfolders) }
    }

    /// The folder at the top.
    fn top(&self) -> &[u8] {
        self.start.folder().unwrap_or(self.start.as_bytes())
    }

    /// Whether there is room for its files: for many, if there was none before.
    fn has_room(&self, guide: &impl Guide) -> bool {
        match guide.room(self.top()) {
            Room::None => false,
            Room::Some => !self.is_full,
            Room::Half => true,
        }
    }

    fn step(&mut self, guide: &mut impl Guide, waits: Waits) -> Found {
        let can_open = self.open.len() < OPEN_LEVELS_MAX;
        if can_open && let Some(folder) = self.deeper.pop() {
            return self.enter(folder, guide, waits);
        }
        let Some(folder) = self.open.last_mut() else { return Found::End };
        match folder.entries.next() {
            Some(Ok(entry)) => self.found(&entry, guide, waits),
            Some(Err(error)) => self.fail(error),
            None => {
                if let Some(OpenFolder { name, metadata, ignored, is_at_rest: true, .. }) =
                    self.open.pop()
                {
                    guide.found_at_rest(&name, &metadata, ignored);
                }
                Found::Step(Step::Nothing)
            }
        }
    }

    /// Gives up the folder that is being read.
    fn fail(&mut self, error: io::Error) -> Found {
        Found::Step(match self.open.pop() {
            Some(folder) => Step::Failed(folder.name, error),
            None => Step::Nothing,
        })
    }

    fn enter(&mut self, folder: Name, guide: &mut impl Guide, waits: Waits) -> Found {
        if waits == Waits::Never
            && let Some(ignored) = guide.at_rest(&folder)
        {
            return Found::Step(Step::AtRest(ignored));
        }
        Found::Step(match open(&folder, guide) {
            Ok((entries, metadata)) => {
                let is_at_rest = guide.may_rest(&metadata);
                self.open.push(OpenFolder {
                    name: folder,
                    entries,
                    metadata,
                    ignored: 0,
                    is_at_rest,
                });
                Step::Opened
            }
            // It was moved or removed; a move causes an event at its new place.
            Err(error) if is_no_folder(&error) && self.subfolders != Subfolders::Spread => {
                Step::Nothing
            }
            Err(error) => Step::Failed(folder, error),
        })
    }

    fn found(&mut self, entry: &DirEntry, guide: &mut impl Guide, waits: Waits) -> Found {
        let top = self.start.folder().unwrap_or(self.start.as_bytes());
        let Some(folder) = self.open.last_mut() else { return Found::End };
        let by_name = || waits == Waits::Never && guide.room(top) == Room::None;
        let classified = classify(folder.name.join(&entry.file_name()), entry, guide, by_name);
        match &classified {
            Classified::LeftAlone(..) => folder.ignored += 1,
            _ => folder.is_at_rest = false,
        }
        match classified {
            Classified::LeftAlone(name, reason) => Found::Step(Step::Ignored(name, reason)),
            Classified::File(name, metadata) => Found::Step(Step::File(name, metadata)),
            Classified::Passed => {
                guide.passed(top);
                Found::Step(Step::Passed)
            }
            Classified::Denied(error) => self.fail(error),
            Classified::Gone => Found::Step(Step::Nothing),
            Classified::Folder(folder) => match self.subfolders {
                Subfolders::Spread => Found::Folder(folder),
                Subfolders::Skip => Found::Step(Step::Nothing),
                Subfolders::Enter => {
                    self.deeper.push(folder);
                    Found::Step(Step::Nothing)
                }
            },
        }
    }
}

/// Opens a folder for reading and follows no link on the way; the inbox itself may be one.
fn open(folder: &Name, guide: &mut impl Guide) -> io::Result<(ReadDir, Metadata)> {
    let path = guide.inbox().join(folder.as_path());
    if folder.as_bytes().is_empty() {
        return open_by_path(&path, guide);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, guide.inbox(), flags, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(&root, folder.as_path(), flags, Mode::empty(), resolve) {
        Ok(opened) => {
            let opened = File::from(opened);
            let metadata = opened.metadata()?;
            let descriptor = format!("/proc/self/fd/{}", opened.as_raw_fd());
            let descriptor = Path::new(&descriptor);
            guide.entering(&path, &metadata);
            let entries = match descriptor.read_dir() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => path.read_dir(),
                read => read,
            };
            Ok((entries?, metadata))
        }
        // The system has no `openat2`.
        Err(Errno::NOSYS | Errno::PERM) => open_by_path(&path, guide),
        Err(error) => Err(error.into()),
    }
}

fn open_by_path(path: &Path, guide: &mut impl Guide) -> io::Result<(ReadDir, Metadata)> {
    let metadata = path.metadata()?;
    guide.entering(path, &metadata);
    Ok((path.read_dir()?, metadata))
}

enum Classified {
    LeftAlone(Name, LeftAlone),
    Folder(Name),
    File(Name, Metadata),
    /// The folder that is being read may be listed and not entered.
    Denied(io::Error),
    /// A file that was not looked at.
    Passed,
    Gone,
}

/// What one entry of a folder is; of a file `by_name`, only that.
fn classify(
    name: Name,
    entry: &DirEntry,
    guide: &impl Guide,
    by_name: impl FnOnce() -> bool,
) -> Classified {
    if name.as_bytes() == LOCK_NAME.as_bytes() {
        return Classified::Gone;
    }
    let rules = guide.rules();
    if let Some(reason) = rules.by_name(name.split().1) {
        return Classified::LeftAlone(name, reason);
    }
    let Ok(kind) = entry.file_type() else {
        return Classified::Gone;
    };
    if let Some(reason) = rules.by_type(kind).or_else(|| rules.by_path(&name, kind.is_dir())) {
        return Classified::LeftAlone(name, reason);
    }
    if kind.is_dir() {
        return Classified::Folder(name);
    }
    if by_name() {
        return Classified::Passed;
    }
    // It may have been replaced since the folder was read.
    match entry.metadata() {
        Ok(found) if found.is_file() => Classified::File(name, found),
        Ok(found) => match rules.by_type(found.file_type()) {
            Some(reason) => Classified::LeftAlone(name, reason),
            None => Classified::Gone,
        },
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Classified::Denied(error),
        Err(_) => Classified::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Intake;
    use std::collections::{BTreeSet, HashMap};
    use std::fs;
    use std::path::PathBuf;

    #[derive(Default)]
    struct TestGuide {
        inbox: PathBuf,
        settings: Intake,
        rooms: HashMap<&'static [u8], Room>,
        passed: Vec<String>,
        at_rest: HashMap<Name, u64>,
    }

    impl TestGuide {
        fn new(inbox: &Path, depth_max: usize) -> TestGuide {
            let settings = Intake { depth_max, ..Intake::default() };
            TestGuide { inbox: inbox.to_owned(), settings, ..TestGuide::default() }
        }
    }

    impl Guide for TestGuide {
        fn inbox(&self) -> &Path {
            &self.inbox
        }

        fn rules(&self) -> Rules<'_> {
            Rules(&self.settings)
        }

        fn room(&self, folder: &[u8]) -> Room {
            self.rooms.get(folder).copied().unwrap_or(Room::Half)
        }

        fn passed(&mut self, folder: &[u8]) {
            self.passed.push(String::from_utf8(folder.to_vec()).expect("a name of a test"));
        }

        fn at_rest(&mut self, folder: &Name) -> Option<u64> {
            self.at_rest.get(folder).copied()
        }

        fn may_rest(&self, _metadata: &Metadata) -> bool {
            true
        }

        fn entering(&mut self, _folder: &Path, _metadata: &Metadata) {}

        fn found_at_rest(&mut self, folder: &Name, _metadata: &Metadata, ignored: u64) {
            self.at_rest.insert(folder.clone(), ignored);
        }
    }

    fn write(inbox: &Path, name: &str) {
        let path = inbox.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, "").expect("a file");
    }

    fn files(walk: &mut Walk, inbox: &Path, depth_max: usize) -> Vec<String> {
        files_by(walk, &mut TestGuide::new(inbox, depth_max))
    }

    /// The files that are found until the walk is over or waits.
    fn files_by(walk: &mut Walk, guide: &mut TestGuide) -> Vec<String> {
        let mut files = Vec::new();
        walk.can_step(guide);
        while let Some(step) = walk.step(guide) {
            if let Step::File(name, _) = step {
                files.push(name.to_string());
            }
        }
        files
    }

    #[test]
    fn every_file_is_found_once_and_other_entries_are_left_alone() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        for name in ["a", "f/b", "f/g/h/c", "f/.hidden", ".git/config", "i/d"] {
            write(inbox.path(), name);
        }
        std::os::unix::fs::symlink("/", inbox.path().join("link")).expect("a link");
        let mut walk = Walk::new(Waits::Never, 64);
        walk.add_inbox();
        let found: BTreeSet<String> = files(&mut walk, inbox.path(), 64).into_iter().collect();
        assert_eq!(found, ["a", "f/b", "f/g/h/c", "i/d"].map(String::from).into());
        assert!(walk.is_over());
    }

    #[test]
    fn folders_that_are_too_deep_are_not_entered() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        write(inbox.path(), "f/g/c");
        write(inbox.path(), "f/b");
        let mut walk = Walk::new(Waits::Never, 64);
        walk.add_inbox();
        assert_eq!(files(&mut walk, inbox.path(), 1), ["f/b"]);
    }

    #[test]
    fn few_folders_are_open_at_a_time_at_any_depth() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        for top in 0..20 {
            write(inbox.path(), &format!("{top}/{}p", "d/".repeat(30)));
            write(inbox.path(), &format!("{top}/{}e/p", "d/".repeat(9)));
        }
        let mut walk = Walk::new(Waits::Never, 8);
        walk.add_inbox();
        let mut guide = TestGuide::new(inbox.path(), 64);
        let mut files = 0;
        while let Some(step) = walk.step(&mut guide) {
            files += usize::from(matches!(step, Step::File(..)));
            let open: usize = walk.open.iter().map(|turn| turn.open.len()).sum();
            assert!(open <= 8 + 1, "{open} folders are open");
        }
        assert_eq!(files, 40);
    }

    #[test]
    fn a_link_that_replaced_a_folder_is_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path(), "outside/deep/secret");
        write(folder.path(), "inbox/p");
        let inbox = folder.path().join("inbox");
        let to = folder.path().join("outside");
        std::os::unix::fs::symlink(to, inbox.join("swapped")).expect("a link");
        let mut walk = Walk::new(Waits::Never, 64);
        walk.add_folder(Name::from_bytes(*b"swapped"));
        walk.add_folder(Name::from_bytes(*b"swapped/deep"));
        assert_eq!(files(&mut walk, &inbox, 64), [""; 0]);
    }

    #[test]
    fn a_link_that_replaced_a_file_since_its_folder_was_read_is_left_alone() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        write(inbox.path(), "p");
        let mut entries = inbox.path().read_dir().expect("the inbox");
        let entry = entries.next().expect("an entry").expect("an entry");
        std::fs::remove_file(entry.path()).expect("a file");
        std::os::unix::fs::symlink("/", entry.path()).expect("a link");
        let guide = TestGuide::new(inbox.path(), 64);
        let classified = classify(Name::from_bytes(*b"p"), &entry, &guide, || false);
        let link = LeftAlone::NotAFile("a symbolic link");
        assert!(matches!(classified, Classified::LeftAlone(_, reason) if reason == link));
    }

    #[test]
    fn folders_take_turns() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        for i in 0..200 {
            write(inbox.path(), &format!("huge/{i}"));
        }
        write(inbox.path(), "small/p");
        let mut walk = Walk::new(Waits::Never, 64);
        walk.add_inbox();
        let found = files(&mut walk, inbox.path(), 64);
        let small = found.iter().position(|name| name == "small/p").expect("the small one");
        assert!(small <= STEPS_A_TURN, "{small} files came first");
        assert_eq!(found.len(), 201);
    }

    #[test]
    fn a_missing_folder_is_no_failure_but_a_missing_inbox_is() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        let mut walk = Walk::new(Waits::Never, 64);
        walk.add_folder(Name::from_bytes(*b"gone"));
        assert_eq!(files(&mut walk, inbox.path(), 64), [""; 0]);
        walk.add_inbox();
        let missing = inbox.path().join("missing");
        let step = walk.step(&mut TestGuide::new(&missing, 64));
        assert!(matches!(step, Some(Step::Failed(..))));
    }

    #[test]
    fn a_scan_reads_only_names_where_there_is_no_room() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        for name in ["full/1", "full/deep/2", "other/3", "loose"] {
            write(inbox.path(), name);
        }
        let mut guide = TestGuide::new(inbox.path(), 64);
        guide.rooms = HashMap::from([(&b"full"[..], Room::None), (b"", Room::None)]);
        let mut walk = Walk::new(Waits::Never, 64);
        walk.add_inbox();
        assert_eq!(files_by(&mut walk, &mut guide), ["other/3"]);
        guide.passed.sort();
        assert_eq!(guide.passed, ["", "full", "full"]);
        assert!(walk.is_over());
    }

    #[test]
    fn a_walk_that_waits_for_room_in_many_folders_walks_through_the_others_meanwhile() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        let letters = b"abcdefghijklmnopqrstuvw".chunks(1);
        assert!(letters.len() > OPEN_TURNS_MAX);
        let mut guide = TestGuide::new(inbox.path(), 64);
        let mut walk = Walk::new(Waits::ForRoom, 64);
        for folder in letters {
            write(inbox.path(), &format!("{}/p", folder.escape_ascii()));
            guide.rooms.insert(folder, Room::None);
            walk.add_backlog(folder);
        }
        write(inbox.path(), "other/p");
        write(inbox.path(), "loose");
        write(inbox.path(), "not-loose/p");
        walk.add_folder(Name::from_bytes(*b"other"));
        walk.add_backlog(b"");
        assert_eq!(files_by(&mut walk, &mut guide), ["other/p", "loose"]);
        assert!(!walk.is_over() && !walk.can_step(&guide));
        // One that was full goes on only when it is half empty.
        guide.rooms.insert(b"v", Room::Some);
        assert_eq!(files_by(&mut walk, &mut guide), [""; 0]);
        guide.rooms.insert(b"v", Room::Half);
        assert_eq!(files_by(&mut walk, &mut guide), ["v/p"]);
        guide.rooms.clear();
        assert_eq!(files_by(&mut walk, &mut guide).len(), 22);
        assert!(walk.is_over() && guide.passed.is_empty());
    }

    #[test]
    fn a_folder_at_rest_is_opened_once() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        write(inbox.path(), "empty/.hidden");
        write(inbox.path(), "held/p");
        write(inbox.path(), "nested/empty/.hidden");
        let mut guide = TestGuide::new(inbox.path(), 64);
        let mut walk = Walk::new(Waits::Never, 64);
        let mut opened = || {
            walk.add_inbox();
            let (mut opened, mut at_rest) = (0, 0);
            while let Some(step) = walk.step(&mut guide) {
                opened += usize::from(matches!(step, Step::Opened));
                at_rest += if let Step::AtRest(ignored) = step { ignored } else { 0 };
            }
            (opened, at_rest)
        };
        assert_eq!([opened(), opened()], [(5, 0), (3, 2)]);
        // A hint is followed into any folder.
        let mut walk = Walk::new(Waits::ForRoom, 64);
        walk.add_folder(Name::from_bytes(*b"empty"));
        assert!(matches!(walk.step(&mut guide), Some(Step::Opened)));
    }
}
