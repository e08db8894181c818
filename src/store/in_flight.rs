//! The in-flight journal: a file that says which submissions are being graded, so that after a crash the
//! next start knows its suspects.
//!
//! Each batch has a slot in the file, which is written when grading begins and cleared when it ends. The
//! file is never synced: what a process wrote outlives the process, though not a power loss, and power
//! loss does not count as a failed try.

use crate::telemetry::emit;
use rustix::fs::OFlags;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The file begins with this, followed by the size of a slot and the id of the boot in which it was
/// written.
const MAGIC: &[u8; 16] = b"gridmark grading";
const HEADER_BYTES: usize = 64;
/// The size of a number in the file.
const WORD: usize = 8;

/// The journal of the submissions that are being graded.
pub struct InFlightJournal {
    file: File,
    slot_bytes: usize,
    slots: Mutex<Slots>,
    /// Whether it was reported that the file cannot be written.
    is_failure_reported: AtomicBool,
}

#[derive(Default)]
struct Slots {
    free: Vec<u64>,
    made: u64,
    /// The last progress of each slot that is in use and not paused.
    last_progress: HashMap<u64, Instant>,
    /// How often any slot made progress.
    progress_count: u64,
}

/// The entry of one batch in the file, until this is dropped.
pub struct Slot<'a> {
    journal: &'a InFlightJournal,
    number: u64,
    files: usize,
}

impl InFlightJournal {
    /// Empties the file at `path`, or creates it, for batches of at most `batch_files_max` submissions.
    /// Also returns the ledger numbers of those that were being graded when an earlier process crashed.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or created.
    pub fn open(path: &Path, batch_files_max: usize) -> io::Result<(InFlightJournal, Vec<i64>)> {
        let boot = boot();
        let slot_bytes = (batch_files_max + 1) * WORD;
        // Through a link, another program's file would be emptied.
        let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).custom_flags(flags);
        let mut file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no regular file; move it away"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let earlier = numbers(&bytes, &boot);
        file.set_len(0)?;
        let mut header = [0; HEADER_BYTES];
        header[..16].copy_from_slice(MAGIC);
        header[16..24].copy_from_slice(&(slot_bytes as u64).to_le_bytes());
        header[24..].copy_from_slice(&boot);
        file.write_all_at(&header, 0)?;
        let slots = Mutex::default();
        Ok((
            InFlightJournal {
                file,
                slot_bytes,
                slots,
                is_failure_reported: AtomicBool::new(false),
            },
            earlier,
        ))
    }

    /// Records that these submissions are being graded, until the slot is dropped.
    pub fn begin(&self, ids: &[i64]) -> Slot<'_> {
        let number = {
            let mut slots = self.slots();
            let number = slots.free.pop().unwrap_or_else(|| {
                slots.made += 1;
                slots.made - 1
            });
            slots.progress(number);
            number
        };
        let files = ids.len().min(self.slot_bytes / WORD - 1);
        let mut bytes = Vec::with_capacity(self.slot_bytes);
        bytes.extend_from_slice(&(files as u64).to_le_bytes());
        ids[..files].iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
        self.write(number, &bytes);
        Slot { journal: self, number, files }
    }

    /// How often grading made progress since the start.
    pub fn progress_count(&self) -> u64 {
        self.slots().progress_count
    }

    /// The longest time for which a batch has made no progress; paused batches do not count.
    pub fn longest_stall(&self) -> Duration {
        let slots = self.slots();
        slots.last_progress.values().map(Instant::elapsed).max().unwrap_or_default()
    }

    /// Empties the file before an intended end, so that nothing in flight becomes a suspect.
    pub fn forget(&self) {
        // Without a header the next start ignores the file, also if slots are written to it later.
        if let Err(error) = self.file.set_len(0) {
            self.report(&error);
        }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, slot: u64, bytes: &[u8]) {
        let at = HEADER_BYTES as u64 + slot * self.slot_bytes as u64;
        if let Err(error) = self.file.write_all_at(bytes, at) {
            self.report(&error);
        }
    }

    fn report(&self, error: &io::Error) {
        if !self.is_failure_reported.swap(true, Ordering::Relaxed) {
            emit::journal_failed(error);
        }
    }
}

impl Slots {
    fn progress(&mut self, number: u64) {
        self.last_progress.insert(number, Instant::now());
        self.progress_count += 1;
    }
}

impl Slot<'_> {
    /// Records progress: a file, or a chunk of one, is done.
    pub fn progress(&self) {
        self.journal.slots().progress(self.number);
    }

    /// Clears the slot while `wait` runs, which waits for another stage and grades nothing.
    pub fn pause<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.journal.write(self.number, &[0; WORD]);
        self.journal.slots().last_progress.remove(&self.number);
        let done = wait();
        self.progress();
        self.journal.write(self.number, &(self.files as u64).to_le_bytes());
        done
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.journal.write(self.number, &[0; WORD]);
        let mut slots = self.journal.slots();
        slots.progress(self.number);
        slots.last_progress.remove(&self.number);
        slots.free.push(self.number);
    }
}

/// The id of this boot; zeros where the system has none.
fn boot() -> [u8; HEADER_BYTES - 24] {
    let mut boot = [0; HEADER_BYTES - 24];
    let said = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let length = said.len().min(boot.len());
    boot[..length].copy_from_slice(&said[..length]);
    boot
}

/// The ledger numbers in a journal; none if it is from another boot.
fn numbers(bytes: &[u8], boot: &[u8]) -> Vec<i64> {
    let Some((header, slots)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Vec::new();
    };
    let slot_bytes = usize::try_from(word(&header[16..24])).unwrap_or(0);
    if &header[..16] != MAGIC || &header[24..] != boot || slot_bytes < WORD {
        return Vec::new();
    }
    let mut numbers = Vec::new();
    for slot in slots.chunks(slot_bytes) {
        let (count, ids) = slot.split_at(WORD.min(slot.len()));
        let count = usize::try_from(word(count)).unwrap_or(0);
        numbers.extend(ids.chunks_exact(WORD).take(count).map(|id| word(id) as i64));
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [i64; 0] = [];

    #[test]
    fn it_lists_what_was_begun_and_not_ended() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("grading");
        let (journal, earlier) = InFlightJournal::open(&path, 3).expect("a new file");
        assert_eq!(earlier, NONE);
        let ended = journal.begin(&[1, 2, 3]);
        let begun = journal.begin(&[4, 5]);
        let waiting = journal.begin(&[6]);
        drop(ended);
        let again = journal.begin(&[7]);
        waiting.pause(|| {
            assert_eq!(journal.slots().last_progress.len(), 2);
            let (_, earlier) = reopened(&path);
            assert_eq!(earlier, [4, 5, 7]);
        });
        let (_, earlier) = reopened(&path);
        assert_eq!(earlier, [4, 5, 6, 7]);
        assert_eq!(journal.slots().last_progress.len(), 3);
        let progress_count = journal.progress_count();
        begun.progress();
        drop((begun, waiting, again));
        assert_eq!(journal.progress_count(), progress_count + 4);
        assert_eq!(journal.longest_stall(), Duration::ZERO);
        assert_eq!(reopened(&path).1, NONE);
    }

    /// A copy of the file, as the next process finds it.
    fn reopened(path: &Path) -> (InFlightJournal, Vec<i64>) {
        let copy = path.with_extension("copy");
        std::fs::copy(path, &copy).expect("a copy");
        InFlightJournal::open(&copy, 9).expect("an earlier file")
    }

    #[test]
    fn a_journal_of_another_boot_or_noise_or_an_orderly_end_lists_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("grading");
        let (journal, _) = InFlightJournal::open(&path, 3).expect("a new file");
        let begun = journal.begin(&[1]);
        let written = std::fs::read(&path).expect("the file");
        assert_eq!(numbers(&written, &boot()), [1]);
        let mut other_boot = written.clone();
        other_boot[30] ^= 1;
        let mut other_size = written.clone();
        other_size[16..24].copy_from_slice(&[0; 8]);
        for bytes in [&other_boot, &other_size, &b"noise".repeat(50), &Vec::new()] {
            assert_eq!(numbers(bytes, &boot()), NONE);
        }
        for length in 0..written.len() {
            assert!(numbers(&written[..length], &boot()).len() <= 1);
        }
        journal.forget();
        drop(begun);
        let _begun = journal.begin(&[2]);
        assert_eq!(reopened(&path).1, NONE);
    }

    #[test]
    fn it_is_never_opened_through_a_link() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, other) = (folder.path().join("grading"), folder.path().join("other"));
        std::fs::write(&other, "another program's").expect("a file");
        std::os::unix::fs::symlink(&other, &path).expect("a link");
        assert!(InFlightJournal::open(&path, 3).is_err());
        assert_eq!(std::fs::read(&other).expect("the file"), b"another program's");
    }
}
