//! Watches on folders, and the hints that their events give.
//!
//! Each folder gets a watch of its own, set before the folder is read: what is there is read, and what
//! comes later causes an event. A hint only says where to look again, never what is there.

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind, RenameMode};
use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What an event says about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// It was renamed or moved there, so it is whole.
    Moved,
    /// It was closed after writing.
    Closed,
    /// It was created or written to.
    Written,
    /// It is, or may be, a new folder.
    Folder,
    /// A folder is gone from there.
    FolderGone,
}

impl Hint {
    /// The hint of an event, if it is of interest.
    pub(super) fn of(kind: &EventKind) -> Option<Hint> {
        match kind {
            EventKind::Modify(ModifyKind::Name(RenameMode::From)) => Some(Hint::FolderGone),
            EventKind::Modify(ModifyKind::Name(_)) => Some(Hint::Moved),
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Hint::Closed),
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => None,
            EventKind::Create(CreateKind::File) | EventKind::Modify(_) => Some(Hint::Written),
            EventKind::Create(_) => Some(Hint::Folder),
            EventKind::Remove(RemoveKind::File) => None,
            EventKind::Remove(_) => Some(Hint::FolderGone),
            EventKind::Any | EventKind::Other => Some(Hint::Folder),
        }
    }
}

/// The watches on the inbox, one per folder.
pub(super) struct Watches {
    watcher: RecommendedWatcher,
    /// Watched folders with their inodes.
    armed: HashMap<PathBuf, u64>,
    limited: bool,
}

/// The result of setting a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Armed {
    /// The folder is watched.
    Yes,
    /// The system grants no more watches.
    Limit,
    /// The folder cannot be watched, for this reason.
    No(String),
}

impl Watches {
    /// Watches that call `on_event` for each event.
    ///
    /// # Errors
    ///
    /// Why this system has no watcher, in words.
    pub(super) fn new(
        on_event: impl Fn(notify::Result<Event>) + Send + 'static,
    ) -> Result<Watches, String> {
        let config = Config::default().with_follow_symlinks(false);
        RecommendedWatcher::new(on_event, config)
            .map(|watcher| Watches { watcher, armed: HashMap::new(), limited: false })
            .map_err(|error| error.to_string())
    }

    /// Watches the folder with this inode, unless it is watched already.
    pub(super) fn arm(&mut self, folder: &Path, inode: u64) -> Armed {
        match self.armed.get(folder) {
            Some(known) if *known == inode => return Armed::Yes,
            Some(_) => self.disarm(folder),
            None if self.limited => return Armed::Limit,
            None => {}
        }
        match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.armed.insert(folder.to_owned(), inode);
                Armed::Yes
            }
            Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => {
                self.limited = true;
                Armed::Limit
            }
            Err(error) => Armed::No(error.to_string()),
        }
    }

    /// Drops the watches of a folder that is gone or moved, and of all below it.
    pub(super) fn disarm(&mut self, folder: &Path) {
        if self.armed.contains_key(folder) {
            self.retain(|path| !path.starts_with(folder));
        }
    }

    /// Drops the watches of all folders that `keep` does not accept.
    pub(super) fn retain(&mut self, keep: impl Fn(&Path) -> bool) {
        let gone: Vec<PathBuf> = self.armed.keys().filter(|path| !keep(path)).cloned().collect();
        for path in gone {
            self.armed.remove(&path);
            // The system may have dropped the watch with the folder.
            let _ = self.watcher.unwatch(&path);
            self.limited = false;
        }
    }

    /// Whether this folder is watched.
    pub(super) fn has(&self, folder: &Path) -> bool {
        self.armed.contains_key(folder)
    }

    /// Allows the next [`arm`](Self::arm) to ask the system for watches again.
    pub(super) fn retry_limit(&mut self) {
        self.limited = false;
    }

    /// Whether some folder is not watched because the system grants no more watches.
    pub(super) fn is_limited(&self) -> bool {
        self.limited
    }
}
