//! A walk through the inbox: the truth about what lies there.
//!
//! Folders take turns, so that a huge one does not hold up the others, and the walk can be left and
//! gone on with at any entry, so that it never holds more than a few names in memory.

use crate::model::submission::Name;
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

/// What a walk comes by.
pub enum Entry {
    /// A regular file.
    File(Name, Metadata),
    /// Something that is left alone, and why.
    Ignored(Name, &'static str),
    /// A folder that could not be read.
    Failed(Name, io::Error),
}

/// What the walk asks its owner.
pub trait Guide {
    /// Whether a file or folder of this name, one part of a path, is left alone.
    fn is_temporary(&self, part: &[u8]) -> bool;
    /// Why a file or folder is left alone that lies too deep, or has too long a path, if it does.
    fn out_of_bounds(&self, name: &Name, is_folder: bool) -> Option<&'static str>;
    /// Told before a folder is read.
    fn entering(&mut self, folder: &Path, metadata: &Metadata);
}

/// A walk under way.
pub struct Walk {
    turns: VecDeque<Turn>,
    open_turns_max: usize,
}

/// One top-level folder, or what lies loose in the inbox: a stack of folders being read.
struct Turn {
    /// The folder to begin with, while it is not open yet.
    start: Option<Name>,
    open: Vec<(Name, ReadDir)>,
    /// Folders that lie too deep to be opened on top of those.
    deeper: Vec<Name>,
    /// Whether folders met are turns of their own, as those in the inbox itself are.
    spreads: bool,
    found: usize,
}

impl Walk {
    /// A walk that keeps some so many folders open at a time, and one more.
    pub fn new(open_folders_max: usize) -> Walk {
        let open_turns_max = (open_folders_max / OPEN_LEVELS_MAX).clamp(2, OPEN_TURNS_MAX);
        Walk { turns: VecDeque::new(), open_turns_max }
    }

    /// Ends it where it is.
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

    /// The next thing the walk comes by; `None` at its end.
    pub fn next(&mut self, inbox: &Path, guide: &mut impl Guide) -> Option<Entry> {
        loop {
            let turn = self.turns.front_mut()?;
            match turn.step(inbox, guide) {
                Step::Found(entry) => {
                    turn.found += 1;
                    if turn.found % ENTRIES_A_TURN == 0 {
                        self.pass_on();
                    }
                    return Some(entry);
                }
                Step::Folder(folder) => self.add_folder(folder),
                Step::Nothing => {}
                Step::Over => drop(self.turns.pop_front()),
            }
        }
    }

    /// Lets the next folder have its turn, but keeps few folders open at a time.
    fn pass_on(&mut self) {
        if let Some(turn) = self.turns.pop_front() {
            self.turns.insert(self.turns.len().min(self.open_turns_max - 1), turn);
        }
    }
}

enum Step {
    Found(Entry),
    Folder(Name),
    Nothing,
    Over,
}

impl Turn {
    fn new(start: Name, spreads: bool) -> Turn {
        Turn { start: Some(start), open: Vec::new(), deeper: Vec::new(), spreads, found: 0 }
    }

    fn step(&mut self, inbox: &Path, guide: &mut impl Guide) -> Step {
        if let Some(folder) = self.start.take() {
            return self.enter(folder, inbox, guide);
        }
        let Some((folder, entries)) = self.open.last_mut() else {
            return Step::Over;
        };
        match entries.next() {
            Some(Ok(entry)) => {
                let name = folder.join(&entry.file_name());
                match look(name, &entry, guide) {
                    Step::Folder(folder) if self.spreads => Step::Folder(folder),
                    Step::Folder(folder) if self.open.len() >= OPEN_LEVELS_MAX => {
                        self.deeper.push(folder);
                        Step::Nothing
                    }
                    Step::Folder(folder) => self.enter(folder, inbox, guide),
                    step => step,
                }
            }
            Some(Err(error)) => {
                let folder = folder.clone();
                self.open.pop();
                Step::Found(Entry::Failed(folder, error))
            }
            None => {
                self.open.pop();
                match self.deeper.pop() {
                    Some(folder) => self.enter(folder, inbox, guide),
                    None => Step::Nothing,
                }
            }
        }
    }

    fn enter(&mut self, folder: Name, inbox: &Path, guide: &mut impl Guide) -> Step {
        match open(inbox, &folder, guide) {
            Ok(entries) => {
                self.open.push((folder, entries));
                Step::Nothing
            }
            // Whoever moved it away has caused an event for where it is now.
            Err(error) if is_no_folder(&error) && !self.spreads => Step::Nothing,
            Err(error) => Step::Found(Entry::Failed(folder, error)),
        }
    }
}

/// Opens a folder for reading, by no way that leads through a link; the inbox itself may be one.
fn open(inbox: &Path, folder: &Name, guide: &mut impl Guide) -> io::Result<ReadDir> {
    let path = inbox.join(folder.as_path());
    if folder.as_bytes().is_empty() {
        guide.entering(&path, &path.metadata()?);
        return path.read_dir();
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, inbox, flags, Mode::empty())?;
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
        // A system that cannot do it in one step.
        Err(Errno::NOSYS | Errno::PERM) => {
            guide.entering(&path, &path.metadata()?);
            path.read_dir()
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a folder is not there any more, or a link has taken its place or that of one above it.
fn is_no_folder(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| gone.contains(&code))
}

/// What one entry of a folder is.
fn look(name: Name, entry: &DirEntry, guide: &impl Guide) -> Step {
    let ignored = |name, why| Step::Found(Entry::Ignored(name, why));
    if guide.is_temporary(name.split().1.as_encoded_bytes()) {
        return ignored(name, "its name is that of a temporary file");
    }
    let Ok(kind) = entry.file_type() else {
        return Step::Nothing;
    };
    if !kind.is_file() && !kind.is_dir() {
        return ignored(name, what_it_is(kind));
    }
    if let Some(why) = guide.out_of_bounds(&name, kind.is_dir()) {
        return ignored(name, why);
    }
    if kind.is_dir() {
        return Step::Folder(name);
    }
    // By now something else may be there than when the folder was read.
    match entry.metadata() {
        Ok(found) if found.is_file() => Step::Found(Entry::File(name, found)),
        Ok(found) if !found.is_dir() => ignored(name, what_it_is(found.file_type())),
        Ok(_) | Err(_) => Step::Nothing,
    }
}

/// What something is that is neither a file nor a folder, in words.
pub fn what_it_is(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_symlink() {
        "it is a symbolic link"
    } else if kind.is_fifo() {
        "it is a FIFO"
    } else if kind.is_socket() {
        "it is a socket"
    } else {
        "it is a device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    struct Plain {
        entered: usize,
        depth_max: usize,
    }

    impl Default for Plain {
        fn default() -> Plain {
            Plain { entered: 0, depth_max: 64 }
        }
    }

    impl Guide for Plain {
        fn is_temporary(&self, part: &[u8]) -> bool {
            part.starts_with(b".")
        }

        fn out_of_bounds(&self, name: &Name, is_folder: bool) -> Option<&'static str> {
            let slashes = name.as_bytes().iter().filter(|&&byte| byte == b'/').count();
            (is_folder && slashes >= self.depth_max).then_some("too deep")
        }

        fn entering(&mut self, _folder: &Path, _metadata: &Metadata) {
            self.entered += 1;
        }
    }

    fn write(inbox: &Path, name: &str) {
        let path = inbox.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, "").expect("a file");
    }

    fn files(walk: &mut Walk, inbox: &Path, depth_max: usize) -> Vec<String> {
        let mut guide = Plain { depth_max, ..Plain::default() };
        let mut files = Vec::new();
        while let Some(entry) = walk.next(inbox, &mut guide) {
            if let Entry::File(name, _) = entry {
                files.push(name.to_string());
            }
        }
        files
    }

    #[test]
    fn it_finds_every_file_once_and_leaves_the_rest_alone() {
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
    fn few_folders_are_open_at_a_time_however_deep_they_lie() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        for top in 0..20 {
            write(inbox.path(), &format!("{top}/{}p", "d/".repeat(30)));
            write(inbox.path(), &format!("{top}/{}e/p", "d/".repeat(9)));
        }
        let mut walk = Walk::new(8);
        walk.add_inbox();
        let mut guide = Plain::default();
        let mut files = 0;
        while let Some(entry) = walk.next(inbox.path(), &mut guide) {
            files += usize::from(matches!(entry, Entry::File(..)));
            let open: usize = walk.turns.iter().map(|turn| turn.open.len()).sum();
            assert!(open <= 8 + 1, "{open} folders are open");
        }
        assert_eq!(files, 40);
    }

    #[test]
    fn no_link_that_took_the_place_of_a_folder_is_followed() {
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
    fn what_took_the_place_of_a_file_since_its_folder_was_read_is_no_file() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        write(inbox.path(), "p");
        let mut entries = inbox.path().read_dir().expect("the inbox");
        let entry = entries.next().expect("an entry").expect("an entry");
        std::fs::remove_file(entry.path()).expect("a file");
        std::os::unix::fs::symlink("/", entry.path()).expect("a link");
        let seen = look(Name::from_bytes(*b"p"), &entry, &Plain::default());
        assert!(matches!(seen, Step::Found(Entry::Ignored(_, "it is a symbolic link"))));
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
    fn a_folder_that_is_gone_is_no_failure_but_a_missing_inbox_is() {
        let inbox = tempfile::tempdir().expect("a temporary folder");
        let mut walk = Walk::new(64);
        walk.add_folder(Name::from_bytes(*b"gone"));
        assert!(walk.next(inbox.path(), &mut Plain::default()).is_none());
        walk.add_inbox();
        let missing = inbox.path().join("missing");
        let entry = walk.next(&missing, &mut Plain::default());
        assert!(matches!(entry, Some(Entry::Failed(..))));
    }
}
