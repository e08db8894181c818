//! What reaches the intake thread from other threads: hints of the watcher, files to be put back,
//! status queries, and the order to stop.
//!
//! Nothing here waits. The watcher's callback drops a hint into a bounded channel; if that is full, it
//! only notes that hints were lost, and a scan makes up for them.

use super::settling::WaitingStatus;
use super::watch::Hint;
use crate::model::submission::{Claimed, Name};
use notify::Event;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// How many hints wait at most; a scan makes up for those beyond.
const HINTS_MAX: usize = 8_192;

/// A hint with the path that it points to, or nothing but a wake-up.
pub(super) type Hints = Receiver<Option<(PathBuf, Hint)>>;

type StatusReply = oneshot::Sender<Option<WaitingStatus>>;

/// The way to the intake thread.
pub struct Mailbox {
    hints: SyncSender<Option<(PathBuf, Hint)>>,
    hints_lost: AtomicBool,
    kernel_overflowed: AtomicBool,
    watch_error: Mutex<Option<String>>,
    returned: Mutex<Vec<(Claimed, String)>>,
    queries: Mutex<Vec<(Name, StatusReply)>>,
    stop: AtomicBool,
}

impl Mailbox {
    /// A mailbox, and the end from which intake reads hints.
    pub(super) fn new() -> (Arc<Mailbox>, Hints) {
        let (hints, receiver) = sync_channel(HINTS_MAX);
        let mailbox = Mailbox {
            hints,
            hints_lost: AtomicBool::new(false),
            kernel_overflowed: AtomicBool::new(false),
            watch_error: Mutex::default(),
            returned: Mutex::default(),
            queries: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        (Arc::new(mailbox), receiver)
    }

    /// Wakes the intake thread. If the channel is full, it is awake anyway.
    pub fn wake(&self) {
        let _ = self.hints.try_send(None);
    }

    /// Returns a claimed file, which intake puts back into the inbox for this reason.
    pub fn return_file(&self, claimed: Claimed, why: String) {
        lock(&self.returned).push((claimed, why));
        self.wake();
    }

    /// Asks for the status of a file in the inbox. Intake answers when it next reads its mail.
    pub fn ask_status(&self, name: Name) -> oneshot::Receiver<Option<WaitingStatus>> {
        let (reply, answer) = oneshot::channel();
        let mut queries = lock(&self.queries);
        // Queries that timed out need no answer.
        queries.retain(|(_, reply)| !reply.is_closed());
        queries.push((name, reply));
        drop(queries);
        self.wake();
        answer
    }

    /// Orders intake to take no more files and to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(super) fn take_queries(&self) -> Vec<(Name, StatusReply)> {
        std::mem::take(&mut *lock(&self.queries))
    }

    pub(super) fn take_returned(&self) -> Vec<(Claimed, String)> {
        std::mem::take(&mut *lock(&self.returned))
    }

    pub(super) fn take_watch_error(&self) -> Option<String> {
        lock(&self.watch_error).take()
    }

    /// Which queue lost events since the last call, if one did: the kernel's or ours.
    pub(super) fn take_lost(&self) -> Option<&'static str> {
        let kernel = self.kernel_overflowed.swap(false, Ordering::AcqRel);
        let ours = self.hints_lost.swap(false, Ordering::AcqRel);
        if kernel { Some("kernel") } else { ours.then_some("hints") }
    }

    /// The watcher's callback.
    pub(super) fn receive(&self, event: notify::Result<Event>) {
        match event {
            // A rescan event has no path, so it has to be checked for first.
            Ok(event) if event.need_rescan() => {
                self.kernel_overflowed.store(true, Ordering::Release);
                self.wake();
            }
            Ok(event) => {
                if let (Some(hint), Some(path)) =
                    (Hint::of(&event.kind), event.paths.into_iter().last())
                    && self.hints.try_send(Some((path, hint))).is_err()
                {
                    self.hints_lost.store(true, Ordering::Release);
                }
            }
            Err(error) => {
                *lock(&self.watch_error) = Some(error.to_string());
                self.wake();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::EventKind;
    use notify::event::{AccessKind, AccessMode, Flag, ModifyKind, RenameMode};

    #[test]
    fn an_overflow_of_the_kernel_is_noted_though_it_has_no_path() {
        let (mailbox, _hints) = Mailbox::new();
        mailbox.receive(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        assert_eq!(mailbox.take_lost(), Some("kernel"));
        assert_eq!(mailbox.take_lost(), None);
    }

    #[test]
    fn hints_beyond_the_limit_are_noted_as_lost() {
        let (mailbox, hints) = Mailbox::new();
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
        let (mailbox, hints) = Mailbox::new();
        let kind = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        mailbox.receive(Ok(Event::new(kind).add_path("p.part".into()).add_path("p".into())));
        assert_eq!(hints.try_recv(), Ok(Some(("p".into(), Hint::Moved))));
    }

    #[test]
    fn an_error_of_the_watcher_is_kept() {
        let (mailbox, _hints) = Mailbox::new();
        mailbox.receive(Err(notify::Error::generic("broken")));
        assert_eq!(mailbox.take_watch_error().as_deref(), Some("broken"));
    }
}
