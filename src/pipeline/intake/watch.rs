//! Watches on folders, and the hints that their events give.
//!
//! Each folder gets a watch of its own, set before the folder is read: what is there is read, and what
//! comes later causes an event. A hint only says where to look again, never what is there.

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind, RenameMode};
use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
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
    armed: BTreeMap<PathBuf, Watched>,
    /// How many scans have begun.
    scans: u32,
    limited: bool,
}

/// A watched folder.
struct Watched {
    identity: (u64, u64),
    /// The last scan that came by.
    scan: u32,
    at_rest: Option<AtRest>,
}

/// What was found when a folder was read in which nothing was to be taken.
#[derive(Clone, Copy)]
struct AtRest {
    /// When the folder was changed last, in seconds and nanoseconds.
    changed: (i64, i64),
    /// How many entries are left alone.
    ignored: u64,
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn changed(metadata: &Metadata) -> (i64, i64) {
    (metadata.ctime(), metadata.ctime_nsec())
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
            .map(|watcher| Watches { watcher, armed: BTreeMap::new(), scans: 0, limited: false })
            .map_err(|error| error.to_string())
    }

    /// A scan begins: folders that it does not come by are gone when it ends.
    pub(super) fn begin_scan(&mut self) {
        self.scans = self.scans.wrapping_add(1);
    }

    /// A scan has ended: drops the watches of folders that are gone, and allows [`arm`](Self::arm) to ask the system
    /// for more again.
    pub(super) fn end_scan(&mut self) {
        let Watches { watcher, armed, scans, .. } = self;
        for (gone, _) in armed.extract_if(.., |_, folder| folder.scan != *scans) {
            // The system may have dropped the watch with the folder.
            let _ = watcher.unwatch(&gone);
        }
        self.limited = false;
    }

    /// Watches the folder, unless it is watched already.
    pub(super) fn arm(&mut self, folder: &Path, metadata: &Metadata) -> Armed {
        let identity = identity(metadata);
        match self.armed.get_mut(folder) {
            Some(known) if known.identity == identity => {
                known.scan = self.scans;
                return Armed::Yes;
            }
            Some(_) => self.disarm(folder),
            None if self.limited => return Armed::Limit,
            None => {}
        }
        match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                let watched = Watched { identity, scan: self.scans, at_rest: None };
                self.armed.insert(folder.to_owned(), watched);
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
        let below = self.armed.range::<Path, _>((Bound::Included(folder), Bound::Unbounded));
        let below = below.map(|(path, _)| path).take_while(|path| path.starts_with(folder));
        for path in below.cloned().collect::<Vec<_>>() {
            self.armed.remove(&path);
            let _ = self.watcher.unwatch(&path);
            self.limited = false;
        }
    }

    /// Drops all watches.
    pub(super) fn disarm_all(&mut self) {
        for (path, _) in std::mem::take(&mut self.armed) {
            let _ = self.watcher.unwatch(&path);
        }
        self.limited = false;
    }

    /// Whether this folder is watched.
    pub(super) fn has(&self, folder: &Path) -> bool {
        self.armed.contains_key(folder)
    }

    /// A folder was read in which nothing was to be taken: it has no folder, and `ignored` other entries that are left
    /// alone. `metadata` is from before it was read.
    pub(super) fn found_at_rest(&mut self, folder: &Path, metadata: &Metadata, ignored: u64) {
        let watched = self.armed.get_mut(folder);
        if let Some(watched) = watched.filter(|it| it.identity == identity(metadata)) {
            watched.at_rest = Some(AtRest { changed: changed(metadata), ignored });
        }
    }

    /// How many entries are left alone in this folder, if nothing was to be taken when it was read and it has not
    /// changed since.
    ///
    /// Its times are asked for by each scan, since the event of a change may be lost.
    pub(super) fn at_rest(&mut self, folder: &Path) -> Option<u64> {
        let watched = self.armed.get_mut(folder)?;
        let at_rest = watched.at_rest?;
        let found = folder.symlink_metadata().ok()?;
        let is_same = identity(&found) == watched.identity && changed(&found) == at_rest.changed;
        is_same.then(|| {
            watched.scan = self.scans;
            at_rest.ignored
        })
    }

    /// Every folder has to be read again, since what is left alone may have changed.
    pub(super) fn none_is_at_rest(&mut self) {
        self.armed.values_mut().for_each(|watched| watched.at_rest = None);
    }

    /// Whether some folder is not watched because the system grants no more watches.
    pub(super) fn is_limited(&self) -> bool {
        self.limited
    }
}
