//! Watch events as hints: where to look again, never what is true.
//!
//! The callback of the watcher does no I/O and never waits: it drops a hint into a bounded channel,
//! and if that is full it only says that hints were lost.

use super::waiting::Seen;
use crate::model::submission::{Claimed, Name};
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind, RenameMode};
use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// How many hints wait at the most; what is beyond is made up for by a scan.
const HINTS_MAX: usize = 8_192;

/// What an event says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// It was renamed or moved there, whole.
    Moved,
    /// Somebody closed it after writing.
    Closed,
    /// Somebody writes to it.
    Written,
    /// It is, or may be, a new folder.
    Folder,
    /// A folder that was there is gone.
    FolderGone,
}

/// What reaches the intake thread from outside.
pub struct Mailbox {
    hints: SyncSender<Option<(PathBuf, Hint)>>,
    lost: AtomicBool,
    error: Mutex<Option<String>>,
    overflowed: AtomicBool,
    returned: Mutex<Vec<(Claimed, String)>>,
    questions: Mutex<Vec<(Name, oneshot::Sender<Option<Seen>>)>>,
    stop: AtomicBool,
}

impl Mailbox {
    /// A mailbox, and the end from which intake reads hints.
    pub fn new() -> (Arc<Mailbox>, Receiver<Option<(PathBuf, Hint)>>) {
        let (hints, receiver) = sync_channel(HINTS_MAX);
        let mailbox = Mailbox {
            hints,
            lost: AtomicBool::new(false),
            error: Mutex::default(),
            overflowed: AtomicBool::new(false),
            returned: Mutex::default(),
            questions: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        (Arc::new(mailbox), receiver)
    }

    /// Wakes the intake thread. If its hints are full it is awake anyway.
    pub fn wake(&self) {
        let _ = self.hints.try_send(None);
    }

    /// Gives a taken file back, with the reason.
    pub fn give_back(&self, claimed: Claimed, why: String) {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner).push((claimed, why));
        self.wake();
    }

    /// Asks what is known of a file in the inbox; the answer comes when intake looks at its mail.
    pub fn ask(&self, name: Name) -> oneshot::Receiver<Option<Seen>> {
        let (reply, answer) = oneshot::channel();
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has given up needs no answer.
        questions.retain(|(_, reply)| !reply.is_closed());
        questions.push((name, reply));
        drop(questions);
        self.wake();
        answer
    }

    pub(super) fn take_questions(&self) -> Vec<(Name, oneshot::Sender<Option<Seen>>)> {
        std::mem::take(&mut *self.questions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks intake to take no more files and to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(super) fn take_returned(&self) -> Vec<(Claimed, String)> {
        std::mem::take(&mut *self.returned.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn take_error(&self) -> Option<String> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Which queue lost events since the last call, if any did.
    pub(super) fn take_lost(&self) -> Option<&'static str> {
        let kernel = self.overflowed.swap(false, Ordering::AcqRel);
        let ours = self.lost.swap(false, Ordering::AcqRel);
        if kernel { Some("kernel") } else { ours.then_some("hints") }
    }

    fn receive(&self, event: notify::Result<Event>) {
        match event {
            // The rescan event has no path, so it is looked for before any path is.
            Ok(event) if event.need_rescan() => {
                self.overflowed.store(true, Ordering::Release);
                self.wake();
            }
            Ok(event) => {
                if let (Some(hint), Some(path)) =
                    (hint(&event.kind), event.paths.into_iter().last())
                    && self.hints.try_send(Some((path, hint))).is_err()
                {
                    self.lost.store(true, Ordering::Release);
                }
            }
            Err(error) => {
                let mut slot = self.error.lock().unwrap_or_else(PoisonError::into_inner);
                *slot = Some(error.to_string());
                drop(slot);
                self.wake();
            }
        }
    }
}

fn hint(kind: &EventKind) -> Option<Hint> {
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

/// The watches on the inbox, one a folder, so that each is set before its folder is read: what
/// comes later makes an event, what was there is read.
pub struct Watches {
    watcher: RecommendedWatcher,
    /// Watched folders with their inodes.
    armed: HashMap<PathBuf, u64>,
    limited: bool,
}

/// Whether a folder is watched.
#[derive(Debug, PartialEq, Eq)]
pub enum Armed {
    /// It is.
    Yes,
    /// It is not, because the system gives no more watches.
    Limit,
    /// It is not, for this reason.
    No(String),
}

impl Watches {
    /// Watches that drop their hints into `mailbox`.
    ///
    /// # Errors
    ///
    /// Why there can be no watcher on this system, in words.
    pub fn new(mailbox: &Arc<Mailbox>) -> Result<Watches, String> {
        let mailbox = Arc::clone(mailbox);
        let config = Config::default().with_follow_symlinks(false);
        RecommendedWatcher::new(move |event| mailbox.receive(event), config)
            .map(|watcher| Watches { watcher, armed: HashMap::new(), limited: false })
            .map_err(|error| error.to_string())
    }

    /// Watches a folder that has this inode, unless it is watched already.
    pub fn arm(&mut self, folder: &Path, inode: u64) -> Armed {
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

    /// Forgets a folder that is gone or moved, with all below it.
    pub fn disarm(&mut self, folder: &Path) {
        if self.armed.contains_key(folder) {
            self.retain(|path| !path.starts_with(folder));
        }
    }

    /// Forgets all folders but those for which `keep` says yes.
    pub fn retain(&mut self, keep: impl Fn(&Path) -> bool) {
        let gone: Vec<PathBuf> = self.armed.keys().filter(|path| !keep(path)).cloned().collect();
        for path in gone {
            self.armed.remove(&path);
            // The system may have dropped the watch together with the folder already.
            let _ = self.watcher.unwatch(&path);
            self.limited = false;
        }
    }

    /// Whether this folder is watched.
    pub fn has(&self, folder: &Path) -> bool {
        self.armed.contains_key(folder)
    }

    /// Asks the system for watches again, though it gave no more.
    pub fn try_again(&mut self) {
        self.limited = false;
    }

    /// Whether some folder is not watched because the system gives no more watches.
    pub fn is_limited(&self) -> bool {
        self.limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::Flag;

    fn mailbox() -> (Arc<Mailbox>, Receiver<Option<(PathBuf, Hint)>>) {
        Mailbox::new()
    }

    #[test]
    fn an_overflow_is_seen_though_it_has_no_path() {
        let (mailbox, _hints) = mailbox();
        mailbox.receive(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        assert_eq!(mailbox.take_lost(), Some("kernel"));
        assert_eq!(mailbox.take_lost(), None);
    }

    #[test]
    fn hints_beyond_the_bound_are_lost_and_that_is_known() {
        let (mailbox, hints) = mailbox();
        let event = Event::new(EventKind::Access(AccessKind::Close(AccessMode::Write)));
        for _ in 0..HINTS_MAX {
            mailbox.receive(Ok(event.clone().add_path("p".into())));
        }
        assert_eq!(mailbox.take_lost(), None);
        mailbox.receive(Ok(event.add_path("p".into())));
        assert_eq!(mailbox.take_lost(), Some("hints"));
        assert_eq!(hints.try_recv(), Ok(Some(("p".into(), Hint::Closed))));
    }

    #[test]
    fn a_rename_within_the_inbox_points_to_the_new_name() {
        let (mailbox, hints) = mailbox();
        let kind = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        mailbox.receive(Ok(Event::new(kind).add_path("p.part".into()).add_path("p".into())));
        assert_eq!(hints.try_recv(), Ok(Some(("p".into(), Hint::Moved))));
    }

    #[test]
    fn an_error_of_the_watcher_is_kept() {
        let (mailbox, _hints) = mailbox();
        mailbox.receive(Err(notify::Error::generic("broken")));
        assert_eq!(mailbox.take_error().as_deref(), Some("broken"));
    }
}
