//! Files that wait for grading: small ones and large ones apart, and those that are tried again later.
//!
//! Two lanes, so that a large file never delays small ones. In each lane folders take turns, so that a
//! flood of files in one folder delays no other.

use super::Limits;
use crate::model::submission::{Claimed, Name};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Which lane a file waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// It is graded in a batch with others.
    Small,
    /// It is streamed.
    Large,
}

/// All files that wait.
#[derive(Default)]
pub(super) struct Lanes {
    pub(super) small: Lane,
    pub(super) large: Lane,
    /// Files that are tried again at a later time.
    retries: Vec<(Instant, Claimed)>,
    bytes: u64,
    large_bytes: u64,
}

impl Lanes {
    /// How many files wait.
    pub(super) fn files(&self) -> usize {
        self.small.len() + self.large.len() + self.retries.len()
    }

    /// How many bytes of work wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn push(&mut self, claimed: Claimed, size: Size, limits: &Limits) {
        let weight = limits.weight(claimed.bytes);
        self.bytes += weight;
        match size {
            Size::Small => self.small.push(claimed),
            Size::Large => {
                self.large_bytes += weight;
                self.large.push(claimed);
            }
        }
    }

    /// Keeps a file until `at`.
    pub(super) fn push_later(&mut self, claimed: Claimed, at: Instant, limits: &Limits) {
        self.bytes += limits.weight(claimed.bytes);
        self.retries.push((at, claimed));
    }

    /// Takes out a batch of small files.
    pub(super) fn take_small(
        &mut self,
        files_max: usize,
        bytes_max: u64,
        limits: &Limits,
    ) -> Vec<Claimed> {
        let batch = self.small.take_batch(files_max, bytes_max);
        self.bytes -= batch.iter().map(|claimed| limits.weight(claimed.bytes)).sum::<u64>();
        batch
    }

    /// Takes out the next large file.
    pub(super) fn take_large(&mut self, limits: &Limits) -> Option<Claimed> {
        let claimed = self.large.take_batch(1, 0).pop()?;
        let weight = limits.weight(claimed.bytes);
        self.bytes -= weight;
        self.large_bytes -= weight;
        Some(claimed)
    }

    /// Takes out the files that are due for another try.
    pub(super) fn take_due(&mut self, now: Instant, limits: &Limits) -> Vec<Claimed> {
        let due = self.retries.extract_if(.., |(at, _)| *at <= now);
        let due: Vec<Claimed> = due.map(|(_, claimed)| claimed).collect();
        self.bytes -= due.iter().map(|claimed| limits.weight(claimed.bytes)).sum::<u64>();
        due
    }

    /// When the next file is due for another try.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.retries.iter().map(|(at, _)| *at).min()
    }

    /// Drops all large files; returns how many.
    pub(super) fn drop_large(&mut self) -> usize {
        self.bytes -= std::mem::take(&mut self.large_bytes);
        std::mem::take(&mut self.large).len()
    }

    /// Since when the oldest file has been ready.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let lanes = [&self.small, &self.large].into_iter().filter_map(Lane::oldest);
        lanes.chain(self.retries.iter().map(|(_, claimed)| claimed.ready)).min()
    }

    /// When the file with this ledger number is tried again, if it waits for that.
    pub(super) fn retry_of(&self, id: i64) -> Option<Instant> {
        self.retries.iter().find(|(_, claimed)| claimed.id == id).map(|(at, _)| *at)
    }

    /// Whether the file with this ledger number waits in a lane.
    pub(super) fn has(&self, id: i64) -> bool {
        self.small.has(id) || self.large.has(id)
    }

    /// Whether each of these files, with its size in bytes, fits in together with those that wait and
    /// those admitted before it. An empty queue admits any one file. Large files may fill half of the
    /// queue, and so may the small ones of one folder; the large ones of one folder may fill a quarter.
    pub(super) fn admit<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a Name, u64)>,
        limits: &Limits,
    ) -> Vec<bool> {
        let half = limits.files_max / 2;
        let (mut all, mut bytes) = (self.files(), self.bytes);
        let (mut large_files, mut large_bytes) = (self.large.len(), self.large_bytes);
        let mut of_folder: HashMap<(&[u8], bool), (usize, u64)> = HashMap::new();
        let mut admit = |(name, size): (&'a Name, u64)| {
            let (weight, large) = (limits.weight(size), limits.is_large(size));
            let folder = name.folder().unwrap_or_default();
            let lane = if large { &self.large } else { &self.small };
            let (mates, their_bytes) = of_folder.entry((folder, large)).or_insert_with(|| {
                let weight = |claimed: &Claimed| limits.weight(claimed.bytes);
                // Only large files are bounded by their weight together.
                let bytes = if large { lane.weight_of_folder(folder, weight) } else { 0 };
                (lane.len_of_folder(folder), bytes)
            });
            let fits = all < limits.files_max && bytes + weight <= limits.bytes_max;
            let fits_mates =
                *mates == 0 || (*mates < half / 2 && *their_bytes + weight <= limits.bytes_max / 4);
            let fits_large = large_files == 0
                || (large_files < half
                    && large_bytes + weight <= limits.bytes_max / 2
                    && fits_mates);
            let fits_half = if large { fits_large } else { *mates < half.max(1) };
            let admitted = all == 0 || (fits && fits_half);
            if admitted {
                all += 1;
                bytes += weight;
                *mates += 1;
                *their_bytes += weight;
                large_files += usize::from(large);
                large_bytes += if large { weight } else { 0 };
            }
            admitted
        };
        files.into_iter().map(&mut admit).collect()
    }
}

/// One lane.
#[derive(Default)]
pub(super) struct Lane {
    files: HashMap<Vec<u8>, VecDeque<Claimed>>,
    /// Folders that have files here, in the order of their turns.
    turns: VecDeque<Vec<u8>>,
    len: usize,
}

impl Lane {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn has(&self, id: i64) -> bool {
        self.files.values().flatten().any(|claimed| claimed.id == id)
    }

    fn len_of_folder(&self, folder: &[u8]) -> usize {
        self.files.get(folder).map_or(0, VecDeque::len)
    }

    fn weight_of_folder(&self, folder: &[u8], weight: impl Fn(&Claimed) -> u64) -> u64 {
        self.files.get(folder).into_iter().flatten().map(weight).sum()
    }

    /// Since when the oldest of the first files of all folders has been ready.
    fn oldest(&self) -> Option<Instant> {
        self.files.values().filter_map(VecDeque::front).map(|claimed| claimed.ready).min()
    }

    fn push(&mut self, claimed: Claimed) {
        let folder = claimed.name.folder().unwrap_or_default();
        match self.files.get_mut(folder) {
            Some(files) => files.push_back(claimed),
            None => {
                self.turns.push_back(folder.to_owned());
                self.files.insert(folder.to_owned(), VecDeque::from([claimed]));
            }
        }
        self.len += 1;
    }

    /// Takes out at most this many files and bytes, but at least one file if there is one: one of each
    /// folder in turn.
    fn take_batch(&mut self, files_max: usize, bytes_max: u64) -> Vec<Claimed> {
        let mut batch = Vec::with_capacity(files_max.min(self.len));
        let mut bytes = 0;
        while let Some(folder) = self.turns.pop_front() {
            let next = self.files.get(&folder).and_then(VecDeque::front);
            let size = next.map_or(0, |next| next.bytes);
            if !batch.is_empty() && (batch.len() >= files_max || bytes + size > bytes_max) {
                self.turns.push_front(folder);
                break;
            }
            bytes += size;
            if let Some(files) = self.files.get_mut(&folder) {
                batch.extend(files.pop_front());
                if files.is_empty() {
                    self.files.remove(&folder);
                } else {
                    self.turns.push_back(folder);
                }
            }
        }
        self.len -= batch.len();
        batch
    }
}

impl Limits {
    pub(super) fn is_large(&self, bytes: u64) -> bool {
        bytes > self.chunk_bytes_max
    }

    /// The lane of a file: it is streamed if it is large, or if some of its chunks are committed.
    pub(super) fn size(&self, claimed: &Claimed) -> Size {
        if self.is_large(claimed.bytes) || claimed.progress.is_some() {
            Size::Large
        } else {
            Size::Small
        }
    }

    fn weight(&self, bytes: u64) -> u64 {
        bytes.min(self.chunk_bytes_max)
    }
}

/// How long until `at`; zero if it has passed.
pub(super) fn left_until(at: Instant) -> Duration {
    at.saturating_duration_since(Instant::now())
}
