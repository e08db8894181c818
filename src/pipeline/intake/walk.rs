//! A walk through the inbox, one entry at a time.
//!
//! Top-level folders take turns, so that a huge one does not delay the others. Between two entries the
//! walk can pause for any time; it holds open folders and a few names in memory, never a whole listing.

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

/// How many entries a top-level folder yields before it is the next one's turn.
const ENTRIES_A_TURN: usize = 64;

/// How many top-level folders are open at a time, where descriptors are plenty.
const OPEN_TURNS_MAX: usize = 16;

/// How many levels of a top-level folder are open at a time, each of which holds a descriptor. The
/// names of deeper folders are remembered.
const OPEN_LEVELS_MAX: usize = 4;

/// What a walk finds.
pub enum Entry {
    /// A regular file.
    File(Name, Metadata),
    /// Something that is left alone, and why.
    Ignored(Name, LeftAlone),
    /// A folder that could not be read.
    Failed(Name, io::Error),
}

/// What the walk asks its owner.
pub trait Guide {
    /// The inbox.
    fn inbox(&self) -> &Path;
    /// The rules by which files and folders are left alone.
    fn rules(&self) -> Rules<'_>;
    /// Called before a folder is read.
    fn entering(&mut self, folder: &Path, metadata: &Metadata);
}

/// A walk in progress.
pub struct Walk {
    turns: VecDeque<Turn>,
    open_turns_max: usize,
}

/// One top-level folder, or the inbox itself: a stack of folders that are being read.
struct Turn {
    /// The folder at its top, until it is opened.
    start: Option<Name>,
    open: Vec<(Name, ReadDir)>,
    /// Folders found at the deepest level that is kept open.
    deeper: Vec<Name>,
    /// Whether folders found in it get turns of their own, as those of the inbox do.
    spreads: bool,
    found: usize,
}

impl Walk {
    /// A walk that keeps about `open_folders_max` folders open at a time.
    pub fn new(open_folders_max: usize) -> Walk {
        let open_turns_max = (open_folders_max / OPEN_LEVELS_MAX).clamp(2, OPEN_TURNS_MAX);
        Walk { turns: VecDeque::new(), open_turns_max }
    }

    /// Ends the walk.
    pub fn clear(&mut self) {
        self.turns.clear();
    }

    /// Adds the whole inbox to the walk.
    pub fn add_inbox(&mut self) {
        self.turns.push_front(Turn::new(Name::from_bytes(*b""), true));
    }

    /// Adds one folder, with all below it.
    pub fn add_folder(&mut self, folder: Name) {
        self.turns.push_back(Turn::new(folder, false));
    }

    /// Whether the walk has come to its end.
    pub fn is_over(&self) -> bool {
        self.turns.is_empty()
    }

    /// The next entry; `None` at the end.
    pub fn next(&mut self, guide: &mut impl Guide) -> Option<Entry> {
        loop {
            let turn = self.turns.front_mut()?;
            match turn.step(guide) {
                Step::Found(entry) => {
                    turn.found += 1;
                    if turn.found % ENTRIES_A_TURN == 0 {
                        self.end_turn();
                    }
                    return Some(entry);
                }
                Step::Folder(folder) => self.add_folder(folder),
                Step::Denied(_) | Step::Nothing => {}
                Step::Over => drop(self.turns.pop_front()),
            }
        }
    }

    /// Ends a turn. The next one comes soon enough that few folders are open at a time.
    fn end_turn(&mut self) {
        if let Some(turn) = self.turns.pop_front() {
            self.turns.insert(self.turns.len().min(self.open_turns_max - 1), turn);
        }
    }
}

enum Step {
    Found(Entry),
    Folder(Name),
    /// The folder that is being read may be listed and not entered.
    Denied(io::Error),
    Nothing,
    Over,
}

impl Turn {
    fn new(start: Name, spreads: bool) -> Turn {
        Turn { start: Some(start), open: Vec::new(), deeper: Vec::new(), spreads, found: 0 }
    }

    fn step(&mut self, guide: &mut impl Guide) -> Step {
        if let Some(folder) = self.start.take() {
            return self.enter(folder, guide);
        }
        let Some((folder, entries)) = self.open.last_mut() else {
            return Step::Over;
        };
        match entries.next() {
            Some(Ok(entry)) => {
                let name = folder.join(&entry.file_name());
                match classify(name, &entry, guide) {
                    Step::Folder(folder) if self.spreads => Step::Folder(folder),
                    Step::Folder(folder) if self.open.len() >= OPEN_LEVELS_MAX => {
                        self.deeper.push(folder);
                        Step::Nothing
                    }
                    Step::Folder(folder) => self.enter(folder, guide),
                    Step::Denied(error) => self.fail(error),
                    step => step,
                }
            }
            Some(Err(error)) => self.fail(error),
            None => {
                self.open.pop();
                match self.deeper.pop() {
                    Some(folder) => self.enter(folder, guide),
                    None => Step::Nothing,
                }
            }
        }
    }

    /// Gives up the folder that is being read.
    fn fail(&mut self, error: io::Error) -> Step {
        match self.open.pop() {
            Some((folder, _)) => Step::Found(Entry::Failed(folder, error)),
            None => Step::Nothing,
        }
    }

    fn enter(&mut self, folder: Name, guide: &mut impl Guide) -> Step {
        match open(&folder, guide) {
            Ok(entries) => {
                self.open.push((folder, entries));
                Step::Nothing
            }
            // It was moved or removed; a move causes an event at its new place.
            Err(error) if is_no_folder(&error) && !self.spreads => Step::Nothing,
            Err(error) => Step::Found(Entry::Failed(folder, error)),
        }
    }
}

/// Opens a folder for reading and follows no link on the way; the inbox itself may be one.
fn open(folder: &Name, guide: &mut impl Guide) -> io::Result<ReadDir> {
    let path = guide.inbox().join(folder.as_path());
    if folder.as_bytes().is_empty() {
        guide.entering(&path, &path.metadata()?);
        return path.read_dir();
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, guide.inbox(), flags, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(&root, folder.as_path(), flags, Mode::empty(), resolve) {
        Ok(opened) => {
            let opened = File::from(opened);
            guide.entering(&path, &opened.metadata()?);
            match Path::new(&format!("/proc/self/fd/{}", opened.as_raw_fd())).read_dir() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => path.read_dir(),
                read => read,
            }
        }
        // The system has no `openat2`.
        Err(Errno::NOSYS | Errno::PERM) => {
            guide.entering(&path, &path.metadata()?);
            path.read_dir()
        }
        Err(error) => Err(error.into()),
    }
}

/// What one entry of a folder is.
fn classify(name: Name, entry: &DirEntry, guide: &impl Guide) -> Step {
    if name.as_bytes() == LOCK_NAME.as_bytes() {
        return Step::Nothing;
    }
    let rules = guide.rules();
    let ignored = |name, reason| Step::Found(Entry::Ignored(name, reason));
    if let Some(reason) = rules.by_name(name.split().1) {
        return ignored(name, reason);
    }
    let Ok(kind) = entry.file_type() else {
        return Step::Nothing;
    };
    if let Some(reason) = rules.by_type(kind).or_else(|| rules.by_path(&name, kind.is_dir())) {
        return ignored(name, reason);
    }
    if kind.is_dir() {
        return Step::Folder(name);
    }
    // It may have been replaced since the folder was read.
    match entry.metadata() {
        Ok(found) if found.is_file() => Step::Found(Entry::File(name, found)),
        Ok(found) => match rules.by_type(found.file_type()) {
            Some(reason) => ignored(name, reason),
            None => Step::Nothing,
        },
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Step::Denied(error),
        Err(_) => Step::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Intake;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::PathBuf;

    struct OnlyRules {
        inbox: PathBuf,
        settings: Intake,
    }

    impl OnlyRules {
        fn new(inbox: &Path, depth_max: usize) -> OnlyRules {
            let settings = Intake { depth_max, ..Intake::default() };
            OnlyRules { inbox: inbox.to_owned(), settings }
        }
    }

    impl Guide for OnlyRules {
        fn inbox(&self) -> &Path {
            &self.inbox
        }

        fn rules(&self) -> Rules<'_> {
            Rules(&self.settings)
        }

        fn entering(&mut self, _folder: &Path, _metadata: &Metadata) {}
    }

    fn write(inbox: &Path, name: &str) {
        let path = inbox.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, "").expect("a file");
    }

    fn files(walk: &mut Walk, inbox: &Path, depth_max: usize) -> Vec<String> {
        let mut guide = OnlyRules::new(inbox, depth_max);
        let mut files = Vec::new();
        while let Some(entry) = walk.next(&mut guide) {
            if let Entry::File(name, _) = entry {
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
        let mut walk = Walk::new(64);
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
        let mut walk = Walk::new(64);
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
        let mut walk = Walk::new(8);
        walk.add_inbox();
        let mut guide = OnlyRules::new(inbox.path(), 64);
        let mut files = 0;
        while let Some(entry) = walk.next(&mut guide) {
            files += usize::from(matches!(entry, Entry::File(..)));
            let open: usize = walk.turns.iter().map(|turn| turn.open.len()).sum();
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
        let mut walk = Walk::new(64);
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
        let step = classify(Name::from_bytes(*b"p"), &entry, &OnlyRules::new(inbox.path(), 64));
        assert!(matches!(
            step,
            Step::Found(Entry::Ignored(_, LeftAlone::NotAFile("a symbolic link")))
        ));
    }

    #[test]
    fn folders_take_turns() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        for i in 0..200 {
            write(inbox.path(), &format!("huge/{i}"));
        }
        write(inbox.path(), "small/p");
        let mut walk = Walk::new(64);
        walk.add_inbox();
        let found = files(&mut walk, inbox.path(), 64);
        let small = found.iter().position(|name| name == "small/p").expect("the small one");
        assert!(small <= ENTRIES_A_TURN, "{small} files came first");
        assert_eq!(found.len(), 201);
    }

    #[test]
    fn a_missing_folder_is_no_failure_but_a_missing_inbox_is() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        let mut walk = Walk::new(64);
        walk.add_folder(Name::from_bytes(*b"gone"));
        assert!(walk.next(&mut OnlyRules::new(inbox.path(), 64)).is_none());
        walk.add_inbox();
        let missing = inbox.path().join("missing");
        let entry = walk.next(&mut OnlyRules::new(&missing, 64));
        assert!(matches!(entry, Some(Entry::Failed(..))));
    }
}
