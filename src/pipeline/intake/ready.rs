//! Files that are ready and wait in the inbox for room in the queue.
//!
//! Folders take turns, and each has its share of what is remembered: the walk reads the names of further files
//! and leaves them, until some of its files are taken. So memory is bounded, the walk never has to wait, and the
//! first file of a folder always has room, however many files of others wait. Small and large files are kept
//! apart, as in the queue, so that large ones that wait for long hold up no small ones.

use super::settling::Ready;
use crate::model::submission::Doubt;
use crate::pipeline::queue::Admission;
use crate::pipeline::turns::{Turn, Turns};
use std::time::Instant;

/// How many files may be ready and not claimed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadyLimits {
    /// Of one folder.
    pub(super) of_folder_max: usize,
    /// In all; each folder may have one beyond that.
    pub(super) files_max: usize,
}

/// How many more files of a folder may be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// None: it has its share.
    None,
    /// Some.
    Some,
    /// At least half of its share.
    Half,
}

/// Files that are ready.
#[derive(Default)]
pub(super) struct ReadyFiles {
    small: Turns<Ready>,
    large: Turns<Ready>,
}

impl ReadyFiles {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.small.len() + self.large.len()
    }

    /// How many more small files of this folder may be ready.
    pub(super) fn room(&self, folder: &[u8], limits: ReadyLimits) -> Room {
        self.room_in(&self.small, folder, limits)
    }

    fn room_in(&self, lane: &Turns<Ready>, folder: &[u8], limits: ReadyLimits) -> Room {
        match lane.of_folder(folder).len() {
            0 => Room::Half,
            files if files >= limits.of_folder_max || self.len() >= limits.files_max => Room::None,
            files if files * 2 <= limits.of_folder_max => Room::Half,
            _ => Room::Some,
        }
    }

    /// Adds a file; returns whether it did. A large one needs room; a small one has settled, and was remembered
    /// meanwhile.
    pub(super) fn add(&mut self, ready: Ready, is_large: bool, limits: ReadyLimits) -> bool {
        let name = ready.name.clone();
        let folder = name.folder().unwrap_or_default();
        if !is_large {
            self.small.push(folder, ready);
            return true;
        }
        let has_room = self.room_in(&self.large, folder, limits) != Room::None;
        if has_room {
            self.large.push(folder, ready);
        }
        has_room
    }

    /// The clock was set: the times of all files are in doubt.
    pub(super) fn doubt_clock(&mut self) {
        for ready in self.small.iter_mut().chain(self.large.iter_mut()) {
            ready.handed_in.doubt = ready.handed_in.doubt.or(Some(Doubt::Clock));
        }
    }

    /// Since when the oldest of the first files of all folders has been ready.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let firsts = self.small.firsts().chain(self.large.firsts());
        firsts.map(|ready| ready.since).min()
    }

    /// Takes out at most `files_max` of those that fit into the queue, folders in turn.
    pub(super) fn take(&mut self, files_max: usize, admission: &mut Admission<'_>) -> Vec<Ready> {
        let mut taken = Vec::new();
        // Large files come first, since the queue leaves half of its room to small ones.
        let lanes = [(&mut self.large, files_max.div_ceil(4)), (&mut self.small, files_max)];
        for (lane, lane_max) in lanes {
            let mut left = lane_max.min(files_max - taken.len());
            taken.extend(lane.take(|ready| {
                if left == 0 || admission.is_full() {
                    Turn::Stop
                } else if admission.admits(&ready.name, ready.state.signature.bytes) {
                    left -= 1;
                    Turn::Take
                } else {
                    Turn::Leave
                }
            }));
        }
        taken
    }

    /// Takes out all files.
    pub(super) fn take_all(&mut self) -> Vec<Ready> {
        let mut all = self.small.take_all();
        all.extend(self.large.take_all());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::submission::Name;
    use crate::pipeline::queue::{Limits, Queue};

    const LIMITS: ReadyLimits = ReadyLimits { of_folder_max: 4, files_max: 6 };

    fn ready(name: &str, bytes: u64) -> Ready {
        Ready::for_tests(Name::from_bytes(name), bytes)
    }

    fn names(files: &[Ready]) -> Vec<String> {
        files.iter().map(|ready| ready.name.to_string()).collect()
    }

    #[test]
    fn each_folder_has_its_share_and_the_first_file_of_one_has_room_always() {
        let mut files = ReadyFiles::default();
        let mut add = |name: &str| {
            assert!(files.add(ready(name, 1), false, LIMITS));
            ["a", "b", "c", ""].map(|folder| files.room(folder.as_bytes(), LIMITS))
        };
        let (none, some, half) = (Room::None, Room::Some, Room::Half);
        assert_eq!(add("a/1"), [half; 4]);
        assert_eq!(add("a/2"), [half; 4]);
        assert_eq!(add("a/3"), [some, half, half, half]);
        assert_eq!(add("a/4"), [none, half, half, half]);
        assert_eq!(add("b/1"), [none, half, half, half]);
        assert_eq!(add("loose"), [none, none, half, none]);
        assert_eq!(add("c/1"), [none; 4]);
    }

    #[test]
    fn large_files_beyond_the_share_are_left_and_hold_up_no_small_ones() {
        let mut files = ReadyFiles::default();
        let added: Vec<bool> =
            (0..6).map(|i| files.add(ready(&format!("a/large{i}"), 100), true, LIMITS)).collect();
        assert_eq!(added, [true, true, true, true, false, false]);
        assert_eq!(files.room(b"a", LIMITS), Room::Half);
        assert!(files.add(ready("a/small", 1), false, LIMITS));
        let queue = Queue::new(Limits { files_max: 8, bytes_max: 40, chunk_bytes_max: 10 });
        let taken = queue.admit(|admission| files.take(4, admission));
        assert_eq!(names(&taken), ["a/large0", "a/small"]);
        // The large ones of one folder fill a quarter of the queue, but small ones still fit in.
        assert!(files.add(ready("a/small2", 1), false, LIMITS));
        let taken = queue.admit(|admission| {
            taken.iter().for_each(|ready| {
                admission.admits(&ready.name, ready.state.signature.bytes);
            });
            files.take(4, admission)
        });
        assert_eq!(names(&taken), ["a/small2"]);
        assert_eq!(names(&files.take_all()), ["a/large1", "a/large2", "a/large3"]);
        assert_eq!(files.len(), 0);
    }
}
