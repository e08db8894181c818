//! Files of many folders in a line: folders take turns, so that a flood of files in one of them delays no
//! other. The queue keeps claimed files so, and intake those that are ready.

use std::collections::{HashMap, VecDeque};

/// How many files of a folder come in one turn. Each folder that a batch is about costs something: it is opened
/// and synced, and has a report. So a turn is more than a file, and still over in a moment.
const FILES_A_TURN: usize = 16;

/// What becomes of the file whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is taken out.
    Take,
    /// It stays, and so do the others of its folder.
    Leave,
    /// It stays, and so do all others.
    Stop,
}

/// Files of type `T`, by folder.
#[derive(Debug)]
pub struct Turns<T> {
    files: HashMap<Vec<u8>, VecDeque<T>>,
    /// Folders that have files here, in the order of their turns.
    folders: VecDeque<Vec<u8>>,
    len: usize,
}

impl<T> Default for Turns<T> {
    fn default() -> Turns<T> {
        Turns { files: HashMap::new(), folders: VecDeque::new(), len: 0 }
    }
}

impl<T> Turns<T> {
    /// How many files there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The files of this folder, the first first.
    pub fn of_folder(&self, folder: &[u8]) -> impl ExactSizeIterator<Item = &T> {
        self.files.get(folder).map(VecDeque::iter).unwrap_or_default()
    }

    /// The first file of each folder.
    pub fn firsts(&self) -> impl Iterator<Item = &T> {
        self.files.values().filter_map(VecDeque::front)
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.files.values().flatten()
    }

    /// All files, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.files.values_mut().flatten()
    }

    /// Adds a file of this folder.
    pub fn push(&mut self, folder: &[u8], file: T) {
        match self.files.get_mut(folder) {
            Some(files) => files.push_back(file),
            None => {
                self.folders.push_back(folder.to_owned());
                self.files.insert(folder.to_owned(), VecDeque::from([file]));
            }
        }
        self.len += 1;
    }

    /// Takes out what `choose` says: some files of each folder in turn, until it stops or leaves one of each.
    pub fn take(&mut self, mut choose: impl FnMut(&T) -> Turn) -> Vec<T> {
        let mut taken = Vec::new();
        let mut left = Vec::new();
        let mut is_over = false;
        while !is_over && let Some(folder) = self.folders.pop_front() {
            let Some(files) = self.files.get_mut(&folder) else { continue };
            let before = taken.len();
            let turn = loop {
                let next = files.front().filter(|_| taken.len() - before < FILES_A_TURN);
                match next.map(&mut choose) {
                    Some(Turn::Take) => taken.extend(files.pop_front()),
                    Some(other) => break other,
                    None => break Turn::Take,
                }
            };
            if files.is_empty() {
                self.files.remove(&folder);
                continue;
            }
            match turn {
                Turn::Leave => left.push(folder),
                Turn::Stop if taken.len() == before => self.folders.push_front(folder),
                _ => self.folders.push_back(folder),
            }
            is_over = turn == Turn::Stop;
        }
        left.into_iter().rev().for_each(|folder| self.folders.push_front(folder));
        self.len -= taken.len();
        taken
    }

    /// Takes out all files.
    pub fn take_all(&mut self) -> Vec<T> {
        self.take(|_| Turn::Take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(files: &[&'static str]) -> Turns<&'static str> {
        let mut turns = Turns::default();
        for file in files {
            turns.push(&file.as_bytes()[..1], *file);
        }
        turns
    }

    /// Takes at most this many.
    fn take(turns: &mut Turns<&'static str>, mut left: usize) -> Vec<&'static str> {
        turns.take(|_| {
            if left == 0 {
                return Turn::Stop;
            }
            left -= 1;
            Turn::Take
        })
    }

    #[test]
    fn folders_take_turns_and_one_that_had_none_keeps_its_place() {
        let a = vec!["a"; FILES_A_TURN + 2];
        let mut turns = turns(&[&a[..], &["b", "b", "c", "c"]].concat());
        assert_eq!(take(&mut turns, FILES_A_TURN + 3), [&a[2..], &["b", "b", "c"]].concat());
        turns.push(b"d", "d");
        // A turn is over when not all of it can be taken, so that those that take one each take turns, too.
        assert_eq!(take(&mut turns, 1), ["a"]);
        assert_eq!(turns.take_all(), ["c", "d", "a"]);
        assert!(turns.is_empty());
    }

    #[test]
    fn a_folder_whose_file_is_left_holds_up_no_other() {
        let mut turns = turns(&["a1", "a2", "b1", "b2"]);
        let choose = |file: &&str| if file.starts_with('a') { Turn::Leave } else { Turn::Take };
        assert_eq!(turns.take(choose), ["b1", "b2"]);
        assert_eq!(turns.take(choose), [""; 0]);
        assert_eq!((turns.len(), turns.of_folder(b"a").len()), (2, 2));
        assert_eq!(turns.take_all(), ["a1", "a2"]);
    }
}
