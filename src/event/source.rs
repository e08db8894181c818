//! What an event is defined by: its folder, and solutions that the folder does not give.

use super::definition::Event;
use super::folder::Folder;
use super::problem::Problem;
use super::proof::prove;
use super::read::read;
use std::time::Duration;

/// A solution of a puzzle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The round.
    pub round: String,
    /// The puzzle of that round.
    pub puzzle: String,
    /// Its digits in reading order, from 1.
    pub digits: Vec<u8>,
    /// Whether a ruling accepts it; otherwise it was proved to be the only one.
    pub accepted: bool,
}

/// What defines an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Its folder.
    pub folder: Folder,
    /// Solutions that the folder does not give.
    pub keys: Vec<Key>,
}

impl Source {
    /// The source with this folder, the keys that a ruling has accepted for it, and the solutions that are
    /// proved, each within `time_limit`; and the event that it defines.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the folder.
    pub fn prove(
        folder: Folder,
        accepted: Vec<Key>,
        time_limit: Duration,
    ) -> Result<(Source, Event), Vec<Problem>> {
        let mut event = read(&folder)?;
        let problems = prove(&mut event, time_limit);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut keys = Vec::new();
        for round in &event.rounds {
            for puzzle in round.puzzles.iter().filter(|puzzle| puzzle.unique.is_some()) {
                keys.extend(puzzle.puzzle.keys().iter().map(|digits| Key {
                    round: round.id.clone(),
                    puzzle: puzzle.id.clone(),
                    digits: digits.clone(),
                    accepted: false,
                }));
            }
        }
        accepted.iter().for_each(|key| add(&mut event, key));
        keys.extend(accepted);
        Ok((Source { folder, keys }, event))
    }

    /// The event that it defines, without proving anything again.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the folder.
    pub fn event(&self) -> Result<Event, Vec<Problem>> {
        let mut event = read(&self.folder)?;
        self.keys.iter().for_each(|key| add(&mut event, key));
        Ok(event)
    }

    /// The keys that rulings have accepted.
    pub fn accepted(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(|key| key.accepted)
    }

    /// The hash of the folder and of the accepted keys. Those that are proved follow from the folder.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.folder.hash().as_bytes());
        let mut accepted: Vec<&Key> = self.accepted().collect();
        accepted.sort_unstable();
        for key in accepted {
            for part in [key.round.as_bytes(), key.puzzle.as_bytes(), &key.digits] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize()
    }
}

/// Adds a key to its puzzle. One that does not fit any more, since the puzzle was changed, is left out.
fn add(event: &mut Event, key: &Key) {
    let round = event.rounds.iter_mut().find(|round| round.id == key.round);
    let puzzle =
        round.and_then(|round| round.puzzles.iter_mut().find(|puzzle| puzzle.id == key.puzzle));
    if let Some(puzzle) = puzzle
        && !puzzle.puzzle.keys().contains(&key.digits)
    {
        let known = puzzle.puzzle.clone();
        let added =
            if key.accepted { known.accepting(&key.digits) } else { known.with_key(&key.digits) };
        if let Ok(added) = added {
            puzzle.puzzle = added;
        }
    }
}
