//! Claiming: one ledger transaction for the files that are about to be taken, then a rename each.

use super::{Intake, Look, Ready, emit};
use crate::model::submission::{Claimed, Name, Place};
use crate::pipeline::queue::Queue;
use crate::store::archive::{Archive, Standing, Taken};
use crate::store::fail_point::Point;
use crate::store::ledger::Candidate;
use crate::telemetry::emit::Via;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// How long a file that could not be taken is left alone before the second try; with each further
/// failure it is longer.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// How long a file that somebody has open for writing is left alone, unless it is closed before.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// How many files are handed on together.
const FILES_HANDED_ON: usize = 64;

/// Files that the ledger knows as claimed, in the same order, and that are still to be moved.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) files: Vec<Ready>,
    claims: Vec<Claimed>,
}

impl Batch {
    /// Moves the files and hands those on that are in the archive now.
    fn take(&self, archive: &Archive, queue: &Queue) -> Vec<io::Result<Taken>> {
        let mut taker = archive.taker();
        let mut done = Vec::with_capacity(self.claims.len());
        for claims in self.claims.chunks(FILES_HANDED_ON) {
            let from = done.len();
            done.extend(claims.iter().map(|claimed| {
                let taken = taker.take(claimed);
                Point::FileMoved.pass();
                taken
            }));
            Point::FilesMoved.pass();
            let moved = claims.iter().zip(&done[from..]);
            let moved = moved.filter(|(_, taken)| matches!(taken, Ok(Taken::Yes)));
            queue.push_all(moved.map(|(claimed, _)| claimed.clone()));
            Point::Queued.pass();
        }
        done
    }
}

impl Intake {
    /// Looks for files and claims as many as the queue has room for; whether that was any.
    fn look_and_claim(&mut self, moving: &Batch) -> bool {
        self.go_on_walking();
        self.look_at_due();
        self.claim(moving)
    }

    /// Claims as many of the ready files as the queue has room for beside those that are on their way
    /// to it; whether that was any.
    fn claim(&mut self, moving: &Batch) -> bool {
        if self.ready.is_empty() {
            return false;
        }
        if let Some(why) = self.parts.health.reason("disk") {
            if self.parts.once {
                self.leave_ready(&why);
            }
            return false;
        }
        let most = self.settings.claim_files_max;
        take_turns(&mut self.ready);
        let looked_at = moving.files.iter().chain(self.ready.iter().take(most));
        let looked_at = looked_at.map(|ready| (&ready.name, ready.look.signature.bytes));
        let admitted = self.parts.queue.admit(looked_at).split_off(moving.files.len());
        let mut batch = Vec::with_capacity(admitted.len());
        let mut left = VecDeque::new();
        for (i, ready) in std::mem::take(&mut self.ready).into_iter().enumerate() {
            if admitted.get(i) == Some(&true) { batch.push(ready) } else { left.push_back(ready) }
        }
        self.ready = left;
        // Folders hold their entries in no order; people look for rows by name.
        batch.sort_by(|a, b| a.name.cmp(&b.name));
        self.leave_what_is_not_free(&mut batch);
        let any = !batch.is_empty();
        if any {
            self.claim_batch(batch, moving);
        }
        any
    }

    /// What somebody has open for writing, or we may not read, stays in the inbox.
    fn leave_what_is_not_free(&mut self, batch: &mut Vec<Ready>) {
        let archive = Arc::clone(&self.parts.archive);
        let mut inspector = archive.inspector();
        batch.retain(|ready| {
            let standing = inspector.standing(&ready.name);
            match standing {
                Standing::Free => return true,
                Standing::Unknown if ready.seen_writing && !ready.though_open => {
                    self.waiting.may_be_written(&ready.name);
                }
                Standing::Unknown => {
                    emit::writers_unknown(&ready.name);
                    return true;
                }
                Standing::Written if ready.though_open => return true,
                Standing::Written => {
                    emit::still_open(&ready.name);
                    self.waiting.is_written(&ready.name, Instant::now(), LOOK_AGAIN_AFTER);
                }
                Standing::Forbidden => {
                    let why = "it may not be read by the user as whom the service runs";
                    emit::claim_failed(&ready.name, &why);
                    self.waiting.settle_again(&ready.name, Instant::now(), RETRY_AFTER);
                }
            }
            false
        });
    }

    /// A run that is to end does not wait for room on the disk for ever.
    fn leave_ready(&mut self, why: &str) {
        for ready in std::mem::take(&mut self.ready) {
            emit::claim_failed(&ready.name, &why);
            self.waiting.settle_again(&ready.name, Instant::now(), RETRY_AFTER);
        }
    }

    fn claim_batch(&mut self, batch: Vec<Ready>, moving: &Batch) {
        let candidates: Vec<Candidate> = batch
            .iter()
            .map(|ready| Candidate {
                name: ready.name.clone(),
                signature: ready.look.signature,
                ready: ready.since,
                though_open: ready.though_open,
            })
            .collect();
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let archive = Arc::clone(&self.parts.archive);
        let mut places = archive.places();
        let promised: HashSet<&Name> = moving.claims.iter().map(|it| &it.archived_as).collect();
        let place = |name: &Name| {
            if promised.contains(name) { Place::Taken } else { places.place(name) }
        };
        match self.parts.ledger.claim(&candidates, now_ms, place) {
            Ok(claims) => {
                Point::Claimed.pass();
                self.parts.health.well("claims");
                self.batch = Batch { files: batch, claims };
            }
            Err(error) => {
                self.parts.health.unwell("claims", format!("cannot take files: {error}"));
                emit::claims_failed(batch.len(), &error);
                for ready in batch {
                    self.waiting.settle_again(&ready.name, Instant::now(), RETRY_AFTER);
                }
            }
        }
    }

    /// Moves the files of the batch that is claimed. If there is more to do, the next batch is
    /// looked for and claimed meanwhile, since either waits for the disk.
    pub(super) fn take_and_claim(&mut self) -> bool {
        let batch = std::mem::take(&mut self.batch);
        if batch.files.is_empty() {
            return self.look_and_claim(&batch);
        }
        let (archive, queue) = (Arc::clone(&self.parts.archive), Arc::clone(&self.parts.queue));
        let take = || batch.take(&archive, &queue);
        let taken = if self.has_work() {
            let taken = std::thread::scope(|scope| {
                let taking = Builder::new().name("take".into()).spawn_scoped(scope, take);
                self.look_and_claim(&batch);
                taking.map(ScopedJoinHandle::join)
            });
            match taken {
                Ok(Ok(taken)) => taken,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The system gives no more threads.
                Err(_) => take(),
            }
        } else {
            queue.set_more_coming(false);
            take()
        };
        self.settle_up(&batch, taken);
        true
    }

    /// Deals with what came of moving the files of a batch.
    fn settle_up(&mut self, batch: &Batch, taken: Vec<io::Result<Taken>>) {
        let mut released = Vec::new();
        let (mut by_event, mut by_scan) = (0, 0);
        let mut failed = None;
        for ((ready, claimed), taken) in batch.files.iter().zip(&batch.claims).zip(taken) {
            match taken {
                Ok(Taken::Yes) => {
                    match ready.via {
                        Via::Event => by_event += 1,
                        Via::Scan => by_scan += 1,
                    }
                    self.waiting.taken(ready);
                }
                Ok(Taken::Gone) => {
                    released.push(claimed.id);
                    self.waiting.taken(ready);
                }
                Ok(Taken::Occupied) => {
                    released.push(claimed.id);
                    self.waiting.settle_again(&ready.name, Instant::now(), Duration::ZERO);
                }
                Err(error) => {
                    if is_of_the_disk(&error) {
                        emit::claims_failed(1, &error);
                    } else {
                        emit::claim_failed(&ready.name, &error);
                    }
                    if !self.parts.archive.is_hidden(claimed.id) {
                        released.push(claimed.id);
                    }
                    self.waiting.settle_again(&ready.name, Instant::now(), RETRY_AFTER);
                    failed = worse(failed, error);
                }
            }
        }
        // What is wrong with one file or folder of the inbox keeps nobody else from being graded.
        match failed {
            Some(error) if is_of_the_disk(&error) => self.archive_is_unwell(&error),
            Some(_) => self.probe_archive(),
            None => self.parts.health.well("archive"),
        }
        emit::claimed(by_event + by_scan);
        emit::found(Via::Event, by_event);
        emit::found(Via::Scan, by_scan);
        self.release(&released);
    }

    /// Lets go of a batch that is claimed, but whose files were not moved.
    pub(super) fn let_go(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let ids: Vec<i64> = batch.claims.iter().map(|claimed| claimed.id).collect();
        self.release(&ids);
    }

    fn release(&self, ids: &[i64]) {
        if !ids.is_empty() {
            Point::ReleasesDue.pass();
        }
        if let Err(error) = self.parts.ledger.release(ids) {
            // The next start finds claims whose files lie in the inbox, or nowhere, and releases
            // them.
            self.parts.health.unwell("claims", format!("cannot release claims: {error}"));
        }
    }

    fn archive_is_unwell(&self, error: &io::Error) {
        let reason = format!("cannot move files into the archive: {error}");
        self.parts.health.unwell("archive", reason);
    }

    fn probe_archive(&self) {
        match self.parts.archive.probe() {
            Err(error) => self.archive_is_unwell(&error),
            Ok(()) => self.parts.health.well("archive"),
        }
    }

    /// Nothing waits any more that could show that the archive is well again.
    pub(super) fn look_at_archive(&self) {
        if self.waiting.len() == 0 && self.parts.health.reason("archive").is_some() {
            self.probe_archive();
        }
    }

    /// Gives a file back to the inbox, where it settles and is taken again.
    pub(super) fn put_back(&mut self, claimed: Claimed, why: String) {
        match self.parts.archive.put_back(&claimed) {
            Ok(true) => {
                Point::PutBack.pass();
                emit::put_back(&claimed.name, &why);
                self.release(&[claimed.id]);
                self.wait_for_closing(&claimed.name);
                self.parts.queue.done([claimed.id]);
            }
            // Something newer lies there by now. A link or a FIFO that was swapped in between look
            // and taking is no submission: it goes back as soon as there is room for it.
            Ok(false) if !self.parts.archive.holds_file(&claimed.archived_as) => {
                emit::put_back_failed(&claimed.name, &"something newer lies in its place");
                self.returned.push((Instant::now() + RETRY_AFTER * 16, claimed, why));
            }
            // What we have is what was handed in before it, so that is graded as it is.
            Ok(false) => {
                self.parts.queue.done([claimed.id]);
                let seen = self.parts.archive.signature(&claimed.archived_as);
                let bytes = seen.map_or(claimed.bytes, |seen| seen.bytes);
                self.parts.queue.push_all([Claimed { seen, bytes, ..claimed }]);
            }
            Err(error) => {
                emit::put_back_failed(&claimed.name, &error);
                self.returned.push((Instant::now() + RETRY_AFTER, claimed, why));
            }
        }
    }

    fn wait_for_closing(&mut self, name: &Name) {
        let path = self.parts.archive.inbox().join(name.as_path());
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => {
                self.waiting.put_back(name.clone(), Look::of(&found), Instant::now());
            }
            // The next scan says what it is.
            _ => {}
        }
    }

    pub(super) fn retry_returned(&mut self) {
        let now = Instant::now();
        let (due, later) =
            std::mem::take(&mut self.returned).into_iter().partition(|(at, ..)| *at <= now);
        self.returned = later;
        let due: Vec<(Instant, Claimed, String)> = due;
        for (_, claimed, why) in due {
            self.put_back(claimed, why);
        }
    }
}

/// Whether it is the disk that is full or cannot be written, rather than something with one file.
fn is_of_the_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem | FileTooLarge)
}

/// The error that says more of the disk.
fn worse(known: Option<io::Error>, error: io::Error) -> Option<io::Error> {
    Some(known.filter(is_of_the_disk).unwrap_or(error))
}

/// Puts ready files in an order in which folders take turns.
fn take_turns(ready: &mut VecDeque<Ready>) {
    let mut turns: HashMap<&[u8], usize> = HashMap::new();
    let mut turn_of = Vec::with_capacity(ready.len());
    for file in ready.iter() {
        let turn = turns.entry(file.name.folder().unwrap_or_default()).or_default();
        *turn += 1;
        turn_of.push(*turn);
    }
    let mut with_turns: Vec<(usize, Ready)> = turn_of.into_iter().zip(ready.drain(..)).collect();
    with_turns.sort_by_key(|(turn, _)| *turn);
    ready.extend(with_turns.into_iter().map(|(_, ready)| ready));
}
