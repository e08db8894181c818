//! Takes files that are ready: one ledger transaction claims a batch, then each file is renamed into
//! the archive and goes into the queue. Also the way back, for files that changed after they were taken.
//!
//! A claim is recorded before its file is moved, so that a crash in between leaves a claim whose file
//! lies in the inbox, which the next start releases. While one batch is moved the next one is claimed,
//! since both wait for the disk.

use super::ready::{ReadyFiles, ReadyLimits, Room};
use super::settling::{Failing, FileState, Ready, Settling};
use crate::model::submission::{Claimed, Name, Place};
use crate::pipeline::queue::Queue;
use crate::store::archive::{Archive, Obstacle, Taken};
use crate::store::fail_point::Point;
use crate::store::ledger::{self, Candidate, Ledger};
use crate::store::recovery::boot_id;
use crate::telemetry::emit::{self, Via};
use crate::telemetry::health::{Concern, Health};
use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The pause before the second try to take a file; it grows with each failure.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The pause before a file that is open for writing is checked again, unless it is closed before.
const CHECK_OPEN_AFTER: Duration = Duration::from_millis(250);

/// Why a file is not taken whose place in the archive was free when it was claimed.
const OCCUPIED: &str = "another program has put a file into its place in the archive";

/// How many moved files go into the queue together.
const FILES_A_PUSH: usize = 64;

/// Files that the ledger has claimed and that are still to be moved, with their claims in the same
/// order.
#[derive(Default)]
pub(super) struct Batch {
    files: Vec<Ready>,
    claims: Vec<Claimed>,
}

impl Batch {
    /// Whether it has no files.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Moves the files into the archive, and puts those that were moved into the queue.
    pub(super) fn take(&self, archive: &Archive, queue: &Queue) -> Vec<io::Result<Taken>> {
        let mut taker = archive.taker();
        let mut done = Vec::with_capacity(self.claims.len());
        for claims in self.claims.chunks(FILES_A_PUSH) {
            let from = done.len();
            done.extend(claims.iter().map(|claimed| {
                let taken = taker.take(claimed);
                Point::FileMoved.pass();
                taken
            }));
            Point::FilesMoved.pass();
            let moved = claims.iter().zip(&done[from..]);
            queue.push_all(moved.filter_map(|(claimed, taken)| in_archive(claimed, taken)));
            Point::Queued.pass();
        }
        done
    }
}

/// The claim of a file as it lies in the archive, if it does.
fn in_archive(claimed: &Claimed, taken: &io::Result<Taken>) -> Option<Claimed> {
    match taken {
        Ok(Taken::Moved) => Some(claimed.clone()),
        Ok(Taken::Copied(copy)) => {
            Some(Claimed { seen: Some(*copy), bytes: copy.bytes, ..claimed.clone() })
        }
        _ => None,
    }
}

/// A file that has its hidden name in the inbox, and could neither be copied into the archive nor get its name
/// back, since a newer file has that.
struct Hidden {
    /// When to try again.
    at: Instant,
    failures: u32,
    claimed: Claimed,
    why: String,
}

/// A file that is to be put back into the inbox.
struct Returned {
    /// When to try again.
    at: Instant,
    claimed: Claimed,
    why: String,
}

/// Files on their way from the inbox into the queue, and back.
pub(super) struct Claiming {
    archive: Arc<Archive>,
    ledger: Arc<Ledger>,
    queue: Arc<Queue>,
    health: Arc<Health>,
    /// Whether the run ends by itself, so that it cannot wait for room on the disk.
    once: bool,
    boot_id: String,
    ready: ReadyFiles,
    /// What is claimed and is moved next.
    claimed: Batch,
    /// Files that are to be copied once that is possible.
    hidden: Vec<Hidden>,
    /// Files that could not be put back yet.
    returned: Vec<Returned>,
    /// Files that were put back and whose claims are not released yet.
    unreleased: Vec<ledger::Returned>,
}

impl Claiming {
    /// Nothing is ready yet.
    pub(super) fn new(
        archive: Arc<Archive>,
        ledger: Arc<Ledger>,
        queue: Arc<Queue>,
        health: Arc<Health>,
        once: bool,
    ) -> Claiming {
        Claiming {
            archive,
            ledger,
            queue,
            health,
            once,
            boot_id: boot_id(),
            ready: ReadyFiles::default(),
            claimed: Batch::default(),
            hidden: Vec::new(),
            returned: Vec::new(),
            unreleased: Vec::new(),
        }
    }

    /// Adds a file that is ready; returns whether it did, for which a large one needs room.
    pub(super) fn add(&mut self, ready: Ready, limits: ReadyLimits) -> bool {
        let is_large = self.queue.is_large(ready.state.signature.bytes);
        self.ready.add(ready, is_large, limits)
    }

    /// How many more small files of this folder may be ready.
    pub(super) fn room(&self, folder: &[u8], limits: ReadyLimits) -> Room {
        self.ready.room(folder, limits)
    }

    /// The clock was set: the times of all files that are ready are in doubt.
    pub(super) fn doubt_clock(&mut self) {
        self.ready.doubt_clock();
    }

    /// How many files are ready and not claimed.
    pub(super) fn ready_files(&self) -> usize {
        self.ready.len()
    }

    /// Whether a batch is claimed and not moved yet.
    pub(super) fn has_claimed(&self) -> bool {
        !self.claimed.is_empty()
    }

    /// How many files are still to be put back.
    pub(super) fn returned_files(&self) -> usize {
        self.returned.len()
    }

    /// Since when the oldest file has been ready that is not in the archive yet.
    pub(super) fn oldest_ready(&self) -> Option<Instant> {
        let claimed = self.claimed.files.iter().map(|ready| ready.since);
        claimed.chain(self.ready.oldest()).min()
    }

    /// When to try next to put files back, or to copy hidden ones.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        let returned = self.returned.iter().map(|returned| returned.at);
        returned.chain(self.hidden.iter().map(|hidden| hidden.at)).min()
    }

    /// The hidden files that cannot be copied.
    pub(super) fn failing(&self) -> Option<Failing> {
        let oldest = self.hidden.iter().min_by_key(|hidden| hidden.claimed.ready)?;
        Some(Failing {
            files: self.hidden.len(),
            since: oldest.claimed.ready,
            name: oldest.claimed.name.clone(),
            why: oldest.why.clone(),
        })
    }

    /// Whether each hidden file could not be copied in this many tries.
    pub(super) fn hides_only_failed(&self, tries: u32) -> bool {
        self.hidden.iter().all(|hidden| hidden.failures >= tries)
    }

    /// How many files are hidden until they can be copied.
    pub(super) fn hidden_files(&self) -> usize {
        self.hidden.len()
    }

    /// The batch that is to be moved now.
    pub(super) fn next_batch(&mut self) -> Batch {
        std::mem::take(&mut self.claimed)
    }

    /// Claims as many ready files as the queue has room for beside those that are being `moved`, at
    /// most `files_max`; returns whether there were any.
    pub(super) fn claim(
        &mut self,
        moved: &Batch,
        settling: &mut Settling,
        files_max: usize,
    ) -> bool {
        if self.ready.len() == 0 {
            return false;
        }
        if let Some(why) = self.health.reason(Concern::Disk) {
            if self.once {
                for ready in self.ready.take_all() {
                    emit::claim_failed(&ready.name, &why);
                    settling.retry_later(&ready.name, Instant::now(), RETRY_AFTER, why.clone());
                }
            }
            return false;
        }
        let mut batch = self.queue.admit(|admission| {
            for ready in &moved.files {
                admission.admits(&ready.name, ready.state.signature.bytes);
            }
            self.ready.take(files_max, admission)
        });
        // Folders hold their entries in no order; people search for rows by name.
        batch.sort_by(|a, b| a.name.cmp(&b.name));
        self.leave_what_is_not_free(&mut batch, settling);
        let any = !batch.is_empty();
        if any {
            self.claim_batch(batch, moved, settling);
        }
        any
    }

    /// Files that a process has open for writing, or that we may not read, stay in the inbox.
    fn leave_what_is_not_free(&self, batch: &mut Vec<Ready>, settling: &mut Settling) {
        let mut inspector = self.archive.inspector();
        batch.retain(|ready| {
            match inspector.obstacle(&ready.name) {
                Obstacle::None => return true,
                Obstacle::Unknown if ready.seen_writing && !ready.though_open => {
                    settling.may_be_open(&ready.name);
                }
                Obstacle::Unknown => {
                    emit::writers_unknown(&ready.name);
                    return true;
                }
                Obstacle::OpenForWriting if ready.though_open => return true,
                Obstacle::OpenForWriting => {
                    emit::still_open(&ready.name);
                    settling.found_open(&ready.name, Instant::now(), CHECK_OPEN_AFTER);
                }
                Obstacle::Unreadable => {
                    let why = "it may not be read by the user as whom the service runs";
                    emit::claim_failed(&ready.name, &why);
                    settling.retry_later(&ready.name, Instant::now(), RETRY_AFTER, why.to_owned());
                }
            }
            false
        });
    }

    fn claim_batch(&mut self, batch: Vec<Ready>, moved: &Batch, settling: &mut Settling) {
        let candidates: Vec<Candidate> = batch
            .iter()
            .map(|ready| Candidate {
                name: ready.name.clone(),
                signature: ready.state.signature,
                changed: ready.state.changed,
                handed_in: ready.handed_in,
                ready: ready.since,
                though_open: ready.though_open,
            })
            .collect();
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let mut places = self.archive.places();
        let promised: HashSet<&Name> = moved.claims.iter().map(|it| &it.archived_as).collect();
        let place = |name: &Name| {
            if promised.contains(name) { Place::Taken } else { places.place(name) }
        };
        let is_gone = |archived_as: &Name| {
            let archive = &self.archive;
            archive.signature(archived_as).is_none() && !archive.is_in_quarantine(archived_as)
        };
        match self.ledger.claims().record(&candidates, now_ms, &self.boot_id, place, is_gone) {
            Ok(claims) => {
                Point::Claimed.pass();
                self.health.set_ready(Concern::Claims);
                let doubts = claims.iter().filter_map(|it| Some((&it.name, it.handed_in.doubt?)));
                doubts.for_each(|(name, doubt)| emit::arrival_in_doubt(name, doubt));
                self.claimed = Batch { files: batch, claims };
            }
            Err(error) => {
                self.health.set_not_ready(Concern::Claims, format!("cannot take files: {error}"));
                emit::claims_failed(batch.len(), &error);
                let why = error.to_string();
                for ready in batch {
                    settling.retry_later(&ready.name, Instant::now(), RETRY_AFTER, why.clone());
                }
            }
        }
    }

    /// Records the results of moving a batch.
    pub(super) fn finish_moves(
        &mut self,
        batch: &Batch,
        taken: Vec<io::Result<Taken>>,
        settling: &mut Settling,
    ) {
        let (mut gone, mut left, mut copied) = (Vec::new(), Vec::new(), Vec::new());
        let (mut by_event, mut by_scan) = (0, 0);
        let mut failed = None;
        for ((ready, claimed), taken) in batch.files.iter().zip(&batch.claims).zip(taken) {
            let (why, pause) = match taken {
                Ok(taken @ (Taken::Moved | Taken::Copied(_))) => {
                    match ready.via {
                        Via::Event => by_event += 1,
                        Via::Scan => by_scan += 1,
                    }
                    if matches!(taken, Taken::Copied(_)) {
                        copied.push(claimed.id);
                    }
                    settling.taken(ready);
                    continue;
                }
                Ok(Taken::Gone) => {
                    gone.push(claimed.id);
                    settling.taken(ready);
                    continue;
                }
                Ok(Taken::Occupied) => (OCCUPIED.to_owned(), Duration::ZERO),
                Err(error) => {
                    let why = error.to_string();
                    if is_of_the_disk(&error) {
                        emit::claims_failed(1, &why);
                    } else {
                        emit::claim_failed(&ready.name, &why);
                    }
                    failed = worse(failed, error);
                    (why, RETRY_AFTER)
                }
            };
            if self.archive.is_hidden(claimed) {
                let at = Instant::now() + RETRY_AFTER;
                self.hidden.push(Hidden { at, failures: 1, claimed: claimed.clone(), why });
                settling.taken(ready);
                continue;
            }
            // It may have been hidden meanwhile, which set its change time.
            left.push(self.returned(claimed));
            settling.retry_later(&ready.name, Instant::now(), pause, why);
        }
        // A fault of one file or folder of the inbox stops nobody else from being graded.
        match failed {
            Some(error) if is_of_the_disk(&error) => self.archive_failed(&error),
            Some(_) => self.probe_archive(),
            None => self.health.set_ready(Concern::Archive),
        }
        emit::claimed(by_event + by_scan);
        emit::found(Via::Event, by_event);
        emit::found(Via::Scan, by_scan);
        self.set_durable(&copied);
        self.release(&gone, &left);
    }

    /// Records that copies are durable. If that fails, the next start after a loss of power checks them.
    fn set_durable(&self, copied: &[i64]) {
        let _ = self.ledger.claims().set_durable(copied);
    }

    /// Adds files that are hidden, and why they could not be copied.
    pub(super) fn add_hidden(&mut self, files: Vec<(Claimed, String)>) {
        let at = Instant::now() + RETRY_AFTER;
        let hidden =
            files.into_iter().map(|(claimed, why)| Hidden { at, failures: 1, claimed, why });
        self.hidden.extend(hidden);
    }

    /// Tries again to copy the hidden files for which it is time.
    pub(super) fn complete_due(&mut self) {
        let now = Instant::now();
        let due: Vec<Hidden> = self.hidden.extract_if(.., |hidden| hidden.at <= now).collect();
        let (mut copied, mut gone, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for Hidden { failures, claimed, .. } in due {
            let modified = claimed.seen.map_or((0, 0), |seen| seen.modified);
            let taken = self.archive.complete(&claimed, modified, claimed.though_open);
            self.queue.push_all(in_archive(&claimed, &taken));
            let why = match taken {
                Ok(Taken::Moved | Taken::Copied(_)) => {
                    copied.push(claimed.id);
                    continue;
                }
                Ok(Taken::Occupied) if self.archive.is_hidden(&claimed) => OCCUPIED.to_owned(),
                Ok(Taken::Gone) => {
                    gone.push(claimed.id);
                    continue;
                }
                // It has its name in the inbox again.
                Ok(Taken::Occupied) => {
                    left.push(self.returned(&claimed));
                    continue;
                }
                Err(error) => error.to_string(),
            };
            emit::claim_failed(&claimed.name, &why);
            let at = now + RETRY_AFTER * (1 << failures.min(4));
            self.hidden.push(Hidden { at, failures: failures + 1, claimed, why });
        }
        self.set_durable(&copied);
        self.release(&gone, &left);
    }

    /// Releases the batch that is claimed and was not moved.
    pub(super) fn release_claimed(&mut self) {
        let batch = std::mem::take(&mut self.claimed);
        let left = batch.files.iter().zip(&batch.claims);
        let left: Vec<_> = left
            .map(|(ready, claimed)| {
                let FileState { signature, changed, .. } = ready.state;
                let inode = signature.identity.1;
                ledger::Returned { id: claimed.id, name: claimed.name.clone(), inode, changed }
            })
            .collect();
        self.release(&[], &left);
    }

    /// Releases claims, and keeps when the files were handed in that were `left` in the inbox.
    fn release(&self, ids: &[i64], left: &[ledger::Returned]) {
        if ids.is_empty() && left.is_empty() {
            return;
        }
        // A file that could not be copied has its name in the inbox again: that has to be durable first.
        let synced = self.sync_moves();
        let released = synced.and_then(|()| {
            let claims = self.ledger.claims();
            let released = claims.release(ids).and_then(|()| claims.release_returned(left));
            released.map_err(|error| error.to_string())
        });
        if let Err(error) = released {
            // The next start finds claims whose files are in the inbox, or nowhere, and releases them.
            self.health.set_not_ready(Concern::Claims, format!("cannot release claims: {error}"));
        }
    }

    /// Makes durable where files are, before claims on them are released.
    fn sync_moves(&self) -> Result<(), String> {
        let waiting = self.health.wait_for_disk("intake");
        let synced = self.archive.sync([]).map_err(|error| error.to_string());
        drop(waiting);
        Point::ReleasesDue.pass();
        synced
    }

    fn archive_failed(&self, error: &io::Error) {
        let reason = format!("cannot move files into the archive: {error}");
        self.health.set_not_ready(Concern::Archive, reason);
    }

    fn probe_archive(&self) {
        match self.archive.probe() {
            Err(error) => self.archive_failed(&error),
            Ok(()) => self.health.set_ready(Concern::Archive),
        }
    }

    /// Checks an archive that has failed. Called where no file waits that could show that it works again.
    pub(super) fn recheck_archive(&self) {
        if self.health.reason(Concern::Archive).is_some() {
            self.probe_archive();
        }
    }

    /// Adds files that are to be put back into the inbox, where they settle and are taken again.
    pub(super) fn add_returned(&mut self, files: impl IntoIterator<Item = (Claimed, String)>) {
        let at = Instant::now();
        let returned = files.into_iter().map(|(claimed, why)| Returned { at, claimed, why });
        self.returned.extend(returned);
    }

    /// Puts back the files for which it is time. Their claims are released together, once their way back
    /// is durable: after a loss of power a file without a claim would stay in the archive for ever.
    pub(super) fn put_back_due(&mut self, settling: &mut Settling) {
        let now = Instant::now();
        let due: Vec<Returned> =
            self.returned.extract_if(.., |returned| returned.at <= now).collect();
        let mut moved = Vec::new();
        for Returned { claimed, why, .. } in due {
            match self.archive.put_back(&claimed) {
                Ok(true) => {
                    Point::PutBack.pass();
                    emit::put_back(&claimed.name, &why);
                    moved.push(claimed);
                }
                // A newer file has its name. A link or a FIFO that was swapped in before it was taken is
                // no submission: it goes back as soon as its name is free.
                Ok(false) if !self.archive.holds_file(&claimed.archived_as) => {
                    emit::put_back_failed(&claimed.name, &"a newer file has its name");
                    self.returned.push(Returned { at: now + RETRY_AFTER * 16, claimed, why });
                }
                // The archived one was handed in before the newer one, so it is graded as it is.
                Ok(false) => {
                    self.queue.done([claimed.id]);
                    let seen = self.archive.signature(&claimed.archived_as);
                    let bytes = seen.map_or(claimed.bytes, |seen| seen.bytes);
                    self.queue.push_all([Claimed { seen, bytes, ..claimed }]);
                }
                Err(error) => {
                    emit::put_back_failed(&claimed.name, &error);
                    self.returned.push(Returned { at: now + RETRY_AFTER, claimed, why });
                }
            }
        }
        self.finish_put_backs(moved, settling);
    }

    /// A file that has its name in the inbox again, or still, though it was claimed.
    fn returned(&self, claimed: &Claimed) -> ledger::Returned {
        let (inode, changed) = self.archive.inode_in_inbox(&claimed.name);
        ledger::Returned { id: claimed.id, name: claimed.name.clone(), inode, changed }
    }

    fn finish_put_backs(&mut self, moved: Vec<Claimed>, settling: &mut Settling) {
        if moved.is_empty() && self.unreleased.is_empty() {
            return;
        }
        for claimed in &moved {
            let path = self.archive.inbox().join(claimed.name.as_path());
            // What is not a file any more is left to the next scan.
            let found = path.symlink_metadata().ok().filter(Metadata::is_file);
            let returned = self.returned(claimed);
            self.unreleased.push(returned);
            if let Some(found) = found {
                settling.put_back(claimed.name.clone(), FileState::of(&found), Instant::now());
            }
        }
        let synced = self.sync_moves();
        let released = synced.and_then(|()| {
            let released = self.ledger.claims().release_returned(&self.unreleased);
            released.map_err(|error| error.to_string())
        });
        match released {
            Ok(()) => {
                self.unreleased.clear();
                self.health.set_ready(Concern::Claims);
            }
            // The claims stand: the next round tries again, or the next start.
            Err(why) => {
                self.health.set_not_ready(Concern::Claims, format!("cannot release claims: {why}"));
            }
        }
        self.queue.done(moved.iter().map(|claimed| claimed.id));
    }
}

/// Whether the disk is full or cannot be written, so that the fault is not one file's.
fn is_of_the_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem | FileTooLarge)
}

/// The error that says more about the disk.
fn worse(known: Option<io::Error>, error: io::Error) -> Option<io::Error> {
    Some(known.filter(is_of_the_disk).unwrap_or(error))
}
