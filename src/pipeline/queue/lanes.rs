//! Files that wait for grading: small ones and large ones apart, and those that are tried again later.
//!
//! Two lanes, so that a large file never delays small ones. In each lane folders take turns.

use super::Limits;
use crate::model::submission::{Claimed, Name};
use crate::pipeline::turns::{Turn, Turns};
use std::collections::HashMap;
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
            Size::Small => push(&mut self.small, claimed),
            Size::Large => {
                self.large_bytes += weight;
                push(&mut self.large, claimed);
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
        let batch = take_batch(&mut self.small, files_max, bytes_max);
        self.bytes -= batch.iter().map(|claimed| limits.weight(claimed.bytes)).sum::<u64>();
        batch
    }

    /// Takes out the next large file.
    pub(super) fn take_large(&mut self, limits: &Limits) -> Option<Claimed> {
        let claimed = take_batch(&mut self.large, 1, 0).pop()?;
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

    /// Since when the oldest of the first files of all folders has been ready.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let lanes = [&self.small, &self.large].into_iter().flat_map(Lane::firsts);
        let retries = self.retries.iter().map(|(_, claimed)| claimed);
        lanes.chain(retries).map(|claimed| claimed.ready).min()
    }

    /// When the file with this ledger number is tried again, if it waits for that.
    pub(super) fn retry_of(&self, id: i64) -> Option<Instant> {
        self.retries.iter().find(|(_, claimed)| claimed.id == id).map(|(at, _)| *at)
    }

    /// Whether the file with this ledger number waits in a lane.
    pub(super) fn has(&self, id: i64) -> bool {
        self.small.iter().chain(self.large.iter()).any(|claimed| claimed.id == id)
    }
}

/// Which files fit in together with those that wait and those admitted so far. An empty queue admits any one
/// file. Large files may fill half of the queue, and so may the small ones of one folder; the large ones of
/// one folder may fill a quarter.
pub struct Admission<'a> {
    lanes: &'a Lanes,
    limits: Limits,
    files: usize,
    bytes: u64,
    large_files: usize,
    large_bytes: u64,
    /// Files and bytes of each folder, small and large ones apart.
    of_folder: [HashMap<Vec<u8>, (usize, u64)>; 2],
}

impl<'a> Admission<'a> {
    pub(super) fn new(lanes: &'a Lanes, limits: Limits) -> Admission<'a> {
        Admission {
            lanes,
            limits,
            files: lanes.files(),
            bytes: lanes.bytes,
            large_files: lanes.large.len(),
            large_bytes: lanes.large_bytes,
            of_folder: Default::default(),
        }
    }

    /// Whether no file fits in any more.
    pub fn is_full(&self) -> bool {
        self.files > 0
            && (self.files >= self.limits.files_max || self.bytes >= self.limits.bytes_max)
    }

    /// Whether this file, with its size in bytes, fits in; then it is admitted.
    pub fn admits(&mut self, name: &Name, size: u64) -> bool {
        let Admission { lanes, limits, files, bytes, large_files, large_bytes, of_folder } = self;
        let half = limits.files_max / 2;
        let (weight, large) = (limits.weight(size), limits.is_large(size));
        let folder = name.folder().unwrap_or_default();
        let of_folder = &mut of_folder[usize::from(large)];
        if !of_folder.contains_key(folder) {
            let lane = if large { &lanes.large } else { &lanes.small };
            let mates = lane.of_folder(folder);
            let count = mates.len();
            // Only large files are bounded by their weight together.
            let bytes = if large { mates.map(|mate| limits.weight(mate.bytes)).sum() } else { 0 };
            of_folder.insert(folder.to_owned(), (count, bytes));
        }
        let Some((mates, their_bytes)) = of_folder.get_mut(folder) else { return false };
        let fits = *files < limits.files_max && *bytes + weight <= limits.bytes_max;
        let fits_mates =
            *mates == 0 || (*mates < half / 2 && *their_bytes + weight <= limits.bytes_max / 4);
        let fits_large = *large_files == 0
            || (*large_files < half && *large_bytes + weight <= limits.bytes_max / 2 && fits_mates);
        let fits_half = if large { fits_large } else { *mates < half.max(1) };
        let admitted = *files == 0 || (fits && fits_half);
        if admitted {
            *files += 1;
            *bytes += weight;
            *mates += 1;
            *their_bytes += weight;
            *large_files += usize::from(large);
            *large_bytes += if large { weight } else { 0 };
        }
        admitted
    }
}

/// One lane.
pub(super) type Lane = Turns<Claimed>;

fn push(lane: &mut Lane, claimed: Claimed) {
    let name = claimed.name.clone();
    lane.push(name.folder().unwrap_or_default(), claimed);
}

/// Takes out at most this many files and bytes, but at least one file if there is one: some of each folder in
/// turn.
fn take_batch(lane: &mut Lane, files_max: usize, bytes_max: u64) -> Vec<Claimed> {
    let (mut files, mut bytes) = (0, 0);
    lane.take(|claimed| {
        if files > 0 && (files >= files_max || bytes + claimed.bytes > bytes_max) {
            return Turn::Stop;
        }
        files += 1;
        bytes += claimed.bytes;
        Turn::Take
    })
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
