//! Files that wait, by folder; folders take turns.

use crate::model::submission::Claimed;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// A lane of the queue.
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

    /// Whether the file of this number waits.
    pub(super) fn has(&self, id: i64) -> bool {
        self.files.values().flatten().any(|claimed| claimed.id == id)
    }

    /// How many files of one folder wait.
    pub(super) fn len_of_folder(&self, folder: &[u8]) -> usize {
        self.files.get(folder).map_or(0, VecDeque::len)
    }

    /// What the files of one folder that wait weigh together.
    pub(super) fn weight_of_folder(&self, folder: &[u8], weight: impl Fn(&Claimed) -> u64) -> u64 {
        self.files.get(folder).into_iter().flatten().map(weight).sum()
    }

    /// Since when the file that has been ready for longest is ready, as far as the first of each
    /// folder tells.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.files.values().filter_map(VecDeque::front).map(|claimed| claimed.ready).min()
    }

    pub(super) fn push(&mut self, claimed: Claimed) {
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

    /// Takes out at most so many files and bytes, but at least one file if there is one: one of
    /// each folder in turn.
    pub(super) fn take_batch(&mut self, files_max: usize, bytes_max: u64) -> Vec<Claimed> {
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
