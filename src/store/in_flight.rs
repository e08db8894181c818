//! Which submissions are being graded, in a file that tells it when the process has died.
//!
//! Each batch has a slot in it, which is written when grading begins and wiped when it ends. It is
//! never synced: what a process has written outlives the process, though not a loss of power, and
//! that is nobody's fault.

use crate::telemetry::emit;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The file begins with this, the size of a slot, and which run of the system it was written in.
const MAGIC: &[u8; 16] = b"gridmark grading";
const HEADER_BYTES: usize = 64;
/// The size of a number in the file.
const WORD: usize = 8;

/// What is being graded.
pub struct UnderWay {
    file: File,
    slot_bytes: usize,
    slots: Mutex<Slots>,
    /// Whether it is told that the file cannot be written.
    is_told: AtomicBool,
}

#[derive(Default)]
struct Slots {
    free: Vec<u64>,
    made: u64,
    /// When each slot that is in use, and does not wait for others, got on last.
    got_on: HashMap<u64, Instant>,
    /// How often any of them got on.
    moves: u64,
}

/// What one batch holds in the file until it is dropped.
pub struct Slot<'a> {
    under_way: &'a UnderWay,
    number: u64,
    files: usize,
}

impl UnderWay {
    /// Begins the file at `path` anew, for batches of at most so many submissions; and tells, by
    /// number, which ones were being graded when an earlier process died.
    ///
    /// # Errors
    ///
    /// If the file cannot be made.
    pub fn open(path: &Path, batch_files_max: usize) -> io::Result<(UnderWay, Vec<i64>)> {
        let boot = boot();
        let earlier = match std::fs::read(path) {
            Ok(bytes) => numbers(&bytes, &boot),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let slot_bytes = (batch_files_max + 1) * WORD;
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(true).open(path)?;
        let mut header = [0; HEADER_BYTES];
        header[..16].copy_from_slice(MAGIC);
        header[16..24].copy_from_slice(&(slot_bytes as u64).to_le_bytes());
        header[24..].copy_from_slice(&boot);
        file.write_all_at(&header, 0)?;
        let slots = Mutex::default();
        Ok((UnderWay { file, slot_bytes, slots, is_told: AtomicBool::new(false) }, earlier))
    }

    /// These are being graded from now on, until what is returned is dropped.
    pub fn begin(&self, ids: &[i64]) -> Slot<'_> {
        let number = {
            let mut slots = self.slots();
            let number = slots.free.pop().unwrap_or_else(|| {
                slots.made += 1;
                slots.made - 1
            });
            slots.get_on(number);
            number
        };
        let files = ids.len().min(self.slot_bytes / WORD - 1);
        let mut bytes = Vec::with_capacity(self.slot_bytes);
        bytes.extend_from_slice(&(files as u64).to_le_bytes());
        ids[..files].iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
        self.write(number, &bytes);
        Slot { under_way: self, number, files }
    }

    /// How often grading got on since the start.
    pub fn moves(&self) -> u64 {
        self.slots().moves
    }

    /// For how long the batch that got on least has not; waiting for others does not count.
    pub fn longest_stand(&self) -> Duration {
        let slots = self.slots();
        slots.got_on.values().map(Instant::elapsed).max().unwrap_or_default()
    }

    /// Nothing that is being graded is to be held responsible for the end that comes now.
    pub fn forget(&self) {
        // Without a header the file says nothing, whatever is written to it.
        if let Err(error) = self.file.set_len(0) {
            self.tell(&error);
        }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, slot: u64, bytes: &[u8]) {
        let at = HEADER_BYTES as u64 + slot * self.slot_bytes as u64;
        if let Err(error) = self.file.write_all_at(bytes, at) {
            self.tell(&error);
        }
    }

    fn tell(&self, error: &io::Error) {
        if !self.is_told.swap(true, Ordering::Relaxed) {
            emit::journal_failed(error);
        }
    }
}

impl Slots {
    fn get_on(&mut self, number: u64) {
        self.got_on.insert(number, Instant::now());
        self.moves += 1;
    }
}

impl Slot<'_> {
    /// Grading gets on: a file, or a part of one, is done with.
    pub fn get_on(&self) {
        self.under_way.slots().get_on(self.number);
    }

    /// Does something that waits for others, during which nothing is graded.
    pub fn pause<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.under_way.write(self.number, &[0; WORD]);
        self.under_way.slots().got_on.remove(&self.number);
        let done = wait();
        self.get_on();
        self.under_way.write(self.number, &(self.files as u64).to_le_bytes());
        done
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.under_way.write(self.number, &[0; WORD]);
        let mut slots = self.under_way.slots();
        slots.get_on(self.number);
        slots.got_on.remove(&self.number);
        slots.free.push(self.number);
    }
}

/// What tells this run of the system from others; zeros where the system does not say.
fn boot() -> [u8; HEADER_BYTES - 24] {
    let mut boot = [0; HEADER_BYTES - 24];
    let said = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let length = said.len().min(boot.len());
    boot[..length].copy_from_slice(&said[..length]);
    boot
}

/// The numbers in a file that was written in this run of the system.
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

    const NOBODY: [i64; 0] = [];

    #[test]
    fn it_tells_what_was_begun_and_not_ended() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("grading");
        let (under_way, earlier) = UnderWay::open(&path, 3).expect("a new file");
        assert_eq!(earlier, NOBODY);
        let ended = under_way.begin(&[1, 2, 3]);
        let begun = under_way.begin(&[4, 5]);
        let waiting = under_way.begin(&[6]);
        drop(ended);
        let again = under_way.begin(&[7]);
        waiting.pause(|| {
            assert_eq!(under_way.slots().got_on.len(), 2);
            let (_, earlier) = reopened(&path);
            assert_eq!(earlier, [4, 5, 7]);
        });
        let (_, earlier) = reopened(&path);
        assert_eq!(earlier, [4, 5, 6, 7]);
        assert_eq!(under_way.slots().got_on.len(), 3);
        let moves = under_way.moves();
        begun.get_on();
        drop((begun, waiting, again));
        assert_eq!(under_way.moves(), moves + 4);
        assert_eq!(under_way.longest_stand(), Duration::ZERO);
        assert_eq!(reopened(&path).1, NOBODY);
    }

    /// A copy of the file, as the next process finds it.
    fn reopened(path: &Path) -> (UnderWay, Vec<i64>) {
        let copy = path.with_extension("copy");
        std::fs::copy(path, &copy).expect("a copy");
        UnderWay::open(&copy, 9).expect("an earlier file")
    }

    #[test]
    fn neither_another_run_of_the_system_nor_noise_nor_an_end_in_order_says_anything() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("grading");
        let (under_way, _) = UnderWay::open(&path, 3).expect("a new file");
        let begun = under_way.begin(&[1]);
        let written = std::fs::read(&path).expect("the file");
        assert_eq!(numbers(&written, &boot()), [1]);
        let mut other_boot = written.clone();
        other_boot[30] ^= 1;
        let mut other_size = written.clone();
        other_size[16..24].copy_from_slice(&[0; 8]);
        for bytes in [&other_boot, &other_size, &b"noise".repeat(50), &Vec::new()] {
            assert_eq!(numbers(bytes, &boot()), NOBODY);
        }
        for length in 0..written.len() {
            assert!(numbers(&written[..length], &boot()).len() <= 1);
        }
        under_way.forget();
        drop(begun);
        let _begun = under_way.begin(&[2]);
        assert_eq!(reopened(&path).1, NOBODY);
    }
}
