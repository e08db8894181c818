//! Claiming: one ledger transaction for the files that are about to be taken, then a rename each.

use super::{Intake, Look, Ready, event};
use crate::archive::Taken;
use crate::event::Via;
use crate::ledger::Candidate;
use crate::submission::{Claimed, Name};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

/// How long a file that could not be taken is left alone before the second try; with each further
/// failure it is longer.
const RETRY_AFTER: Duration = Duration::from_millis(500);

impl Intake {
    /// Takes as many of the ready files as the queue has room for; whether that was any.
    pub(super) fn claim(&mut self) -> bool {
        if self.ready.is_empty() {
            return false;
        }
        if let Some(why) = self.parts.health.reason("disk") {
            if self.parts.once {
                self.leave_ready(&why);
            }
            return false;
        }
        let most = self.parts.settings.claim_files_max;
        take_turns(&mut self.ready);
        let looked_at = self.ready.iter().take(most);
        let admitted = self
            .parts
            .queue
            .admit(looked_at.map(|ready| (&ready.name, ready.look.signature.bytes)));
        let mut batch = Vec::with_capacity(admitted.len());
        let mut left = VecDeque::new();
        for (i, ready) in std::mem::take(&mut self.ready).into_iter().enumerate() {
            if admitted.get(i) == Some(&true) { batch.push(ready) } else { left.push_back(ready) }
        }
        self.ready = left;
        let any = !batch.is_empty();
        // Folders hold their entries in no order; people look for rows by name.
        batch.sort_by(|a, b| a.name.cmp(&b.name));
        if any {
            self.claim_batch(batch);
        }
        any
    }

    /// A run that is to end does not wait for room on the disk for ever.
    fn leave_ready(&mut self, why: &str) {
        for ready in std::mem::take(&mut self.ready) {
            event::claim_failed(&ready.name, &why);
            self.waiting.settle_again(&ready.name, Instant::now(), RETRY_AFTER);
        }
    }

    fn claim_batch(&mut self, batch: Vec<Ready>) {
        let candidates: Vec<Candidate> = batch
            .iter()
            .map(|ready| Candidate {
                name: ready.name.clone(),
                signature: ready.look.signature,
                ready: ready.since,
            })
            .collect();
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let archive = std::sync::Arc::clone(&self.parts.archive);
        let places = archive.places();
        match self.parts.ledger.claim(&candidates, now_ms, |name| places.place(name)) {
            Ok(claims) => {
                self.parts.health.well("claims");
                self.take_all(batch, claims);
            }
            Err(error) => {
                self.parts.health.unwell("claims", format!("cannot take files: {error}"));
                for ready in batch {
                    event::claim_failed(&ready.name, &error);
                    self.waiting.settle_again(&ready.name, Instant::now(), RETRY_AFTER);
                }
            }
        }
    }

    fn take_all(&mut self, batch: Vec<Ready>, claims: Vec<Claimed>) {
        let mut released = Vec::new();
        let (mut by_event, mut by_scan) = (0, 0);
        let mut failed = None;
        let archive = std::sync::Arc::clone(&self.parts.archive);
        let mut taker = archive.taker();
        let mut taken = Vec::with_capacity(batch.len());
        for (ready, claimed) in batch.iter().zip(claims) {
            match taker.take(&claimed) {
                Ok(Taken::Yes) => {
                    match ready.via {
                        Via::Event => by_event += 1,
                        Via::Scan => by_scan += 1,
                    }
                    self.waiting.forget(&ready.name);
                    taken.push(claimed);
                }
                Ok(Taken::Gone) => {
                    released.push(claimed.id);
                    self.waiting.forget(&ready.name);
                }
                Ok(Taken::Occupied) => {
                    released.push(claimed.id);
                    self.waiting.settle_again(&ready.name, Instant::now(), Duration::ZERO);
                }
                Err(error) => {
                    event::claim_failed(&ready.name, &error);
                    if !self.parts.archive.is_hidden(claimed.id) {
                        released.push(claimed.id);
                    }
                    self.waiting.settle_again(&ready.name, Instant::now(), RETRY_AFTER);
                    failed = worse(failed, error);
                }
            }
        }
        self.parts.queue.push_all(taken);
        // What is wrong with one file or folder of the inbox keeps nobody else from being graded.
        match failed {
            Some(error) if is_of_the_disk(&error) => self.archive_is_unwell(&error),
            Some(_) => self.probe_archive(),
            None => self.parts.health.well("archive"),
        }
        event::claimed(by_event + by_scan);
        event::found(Via::Event, by_event);
        event::found(Via::Scan, by_scan);
        if let Err(error) = self.parts.ledger.release(&released) {
            // The next start finds these claims without files and releases them.
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
                event::put_back(&claimed.name, &why);
                self.forget_claim(&claimed);
                self.wait_for_closing(&claimed.name);
                self.parts.queue.done([claimed.id]);
            }
            // Something newer lies there by now. A link or a FIFO that was swapped in between look
            // and taking is no submission: it goes back as soon as there is room for it.
            Ok(false) if !self.parts.archive.holds_file(&claimed.archived_as) => {
                event::put_back_failed(&claimed.name, &"something newer lies in its place");
                self.returned.push((Instant::now() + RETRY_AFTER * 16, claimed, why));
            }
            // What we have is what was handed in before it, so
            // that is graded as it is.
            Ok(false) => {
                self.parts.queue.done([claimed.id]);
                let seen = self.parts.archive.signature(&claimed.archived_as);
                let bytes = seen.map_or(claimed.bytes, |seen| seen.bytes);
                self.parts.queue.push_all([Claimed { seen, bytes, ..claimed }]);
            }
            Err(error) => {
                event::put_back_failed(&claimed.name, &error);
                self.returned.push((Instant::now() + RETRY_AFTER, claimed, why));
            }
        }
    }

    fn forget_claim(&mut self, claimed: &Claimed) {
        if let Err(error) = self.parts.ledger.release(&[claimed.id]) {
            // The next start sees that the file lies in the inbox again and releases the claim.
            self.parts.health.unwell("claims", format!("cannot release claims: {error}"));
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
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}

/// The error that says more of the disk.
fn worse(known: Option<io::Error>, error: io::Error) -> Option<io::Error> {
    Some(known.filter(is_of_the_disk).unwrap_or(error))
}

/// Puts ready files in an order in which folders take turns.
fn take_turns(ready: &mut VecDeque<Ready>) {
    let mut turns: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut turn_of = |ready: &Ready| {
        let turn = turns.entry(ready.name.folder().unwrap_or_default().to_owned()).or_default();
        *turn += 1;
        *turn
    };
    let turns: Vec<usize> = ready.iter().map(&mut turn_of).collect();
    let mut with_turns: Vec<(usize, Ready)> = turns.into_iter().zip(ready.drain(..)).collect();
    with_turns.sort_by_key(|(turn, _)| *turn);
    ready.extend(with_turns.into_iter().map(|(_, ready)| ready));
}
