//! Judging submissions again, from their files in the archive, by other definitions or as somebody else's entry.

use crate::event::{Definitions, ENTRY_BYTES_MAX, Owner};
use crate::model::submission::{Judged, Judgement, Name, Outcome, Rules, Status};
use crate::store::archive::Archive;
use crate::store::ledger::{Ledger, Record};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

/// The largest file of which a grid can be assigned, in bytes.
const ASSIGNED_BYTES_MAX: u64 = 64 << 20;

/// How many submissions are judged side by side.
const TOGETHER_MAX: usize = 4_096;

/// Why a submission cannot be judged again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] crate::store::ledger::Error),
    /// Its file cannot be read.
    #[error("cannot read the file of {name}, attempt {attempt}, in the archive: {why}")]
    File {
        /// Its name.
        name: Name,
        /// The n-th submission of that name.
        attempt: u32,
        /// Why.
        why: String,
    },
    /// Its file has no such grid.
    #[error("{name}, attempt {attempt}, has no grid {case}")]
    NoCase {
        /// Its name.
        name: Name,
        /// The n-th submission of that name.
        attempt: u32,
        /// The number of the grid, from 1.
        case: u64,
    },
}

/// Whose entry a submission is by rulings, instead of by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// Somebody's, and which grid of the file it is.
    To(Owner, u64),
    /// Nobody's.
    Nobody,
}

/// What rulings say about whose entries submissions are, by the event that they are judged by.
pub type Assignments = HashMap<(Name, u32), Assigned>;

/// What judging again changes.
#[derive(Default)]
pub struct Effect {
    /// The judgements before; none where submissions had none.
    pub before: Vec<Judged>,
    /// The new ones in the same order, by submission.
    pub after: Vec<(i64, Judgement)>,
}

impl Effect {
    /// Adds what changes besides.
    pub fn extend(&mut self, other: Effect) {
        self.before.extend(other.before);
        self.after.extend(other.after);
    }
}

/// What submissions are judged again from.
#[derive(Clone)]
pub struct Rejudge {
    /// The ledger.
    pub ledger: Arc<Ledger>,
    /// Where their files are.
    pub archive: Arc<Archive>,
    /// The rules that the settings give.
    pub rules: Rules,
}

impl Rejudge {
    /// What changes if these submissions are judged by these definitions.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not what was graded: then nothing can be said for sure.
    pub fn changed(
        &self,
        mut judged: Vec<Judged>,
        definitions: &Definitions,
        assignments: &Assignments,
    ) -> Result<Effect, Error> {
        let mut effect = Effect::default();
        while !judged.is_empty() {
            let rest = judged.split_off(judged.len().min(TOGETHER_MAX));
            let part = std::mem::replace(&mut judged, rest);
            let ids: Vec<i64> = part.iter().map(|judged| judged.submission).collect();
            let records = self.ledger.records().with_ids(&ids)?;
            let again = records.par_iter().map(|record| self.one(record, definitions, assignments));
            let again = again.collect::<Result<Vec<_>, Error>>()?;
            for (before, after) in part.into_iter().zip(again) {
                let Some(after) = after else { continue };
                let (old, new) = (&before.judgement.outcome, &after.outcome);
                // Why one is held, and what is nearest, is as it was when it was held.
                let is_held = |outcome: &Outcome| matches!(outcome, Outcome::Held { .. });
                let is_same = before.judgement.entry == after.entry
                    && (old == new || is_held(old) && is_held(new));
                if !is_same {
                    effect.after.push((before.submission, after));
                    effect.before.push(before);
                }
            }
        }
        Ok(effect)
    }

    /// The judgement of a submission by these definitions. `None` if there is none: grading it failed, and it is
    /// nobody's.
    ///
    /// # Errors
    ///
    /// Its file cannot be read, or is not what was graded.
    pub fn one(
        &self,
        record: &Record,
        definitions: &Definitions,
        assignments: &Assignments,
    ) -> Result<Option<Judgement>, Error> {
        let claimed = &record.claimed;
        let place = (claimed.name.clone(), claimed.attempt);
        match assignments.get(&place) {
            Some(Assigned::Nobody) => {
                let (definitions, outcome) = (definitions.number(), Outcome::Dismissed);
                return Ok(Some(Judgement { definitions, entry: None, outcome }));
            }
            Some(Assigned::To(owner, case)) => {
                return self.assigned(record, definitions, *owner, *case).map(Some);
            }
            None => {}
        }
        let failed = record.finished.as_ref().is_some_and(|done| done.status == Status::Failed);
        if failed || !definitions.takes(&claimed.name, claimed.bytes) {
            return Ok(definitions.unjudged(&claimed.name, failed));
        }
        let text = self.text(record, ENTRY_BYTES_MAX)?;
        let judging = definitions.judge(&claimed.name, &text, &self.rules_of(record), |_, _, _| {});
        Ok(judging.map(|judging| judging.judgement))
    }

    /// The judgement of a grid of a submission as the entry of this owner.
    ///
    /// # Errors
    ///
    /// Its file cannot be read, is not what was graded, or has no such grid.
    pub fn assigned(
        &self,
        record: &Record,
        definitions: &Definitions,
        owner: Owner,
        case: u64,
    ) -> Result<Judgement, Error> {
        let text = self.text(record, ASSIGNED_BYTES_MAX)?;
        let judgement = definitions.judge_as(owner, &text, case, &self.rules_of(record));
        let (name, attempt) = (record.claimed.name.clone(), record.claimed.attempt);
        judgement.ok_or(Error::NoCase { name, attempt, case })
    }

    /// The limits by which it was read when it was graded.
    fn rules_of(&self, record: &Record) -> Rules {
        record.rules().unwrap_or(self.rules)
    }

    /// The bytes of a submission, which are those that were graded.
    fn text(&self, record: &Record, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let claimed = &record.claimed;
        let failed =
            |why: String| Error::File { name: claimed.name.clone(), attempt: claimed.attempt, why };
        let read = || -> io::Result<Vec<u8>> {
            let file: File = self.archive.read(&claimed.archived_as)?;
            let mut text = Vec::new();
            file.take(bytes_max + 1).read_to_end(&mut text)?;
            Ok(text)
        };
        let text = read().map_err(|error| failed(error.to_string()))?;
        if text.len() as u64 > bytes_max {
            return Err(failed(format!("it has more than {} MiB", bytes_max >> 20)));
        }
        let graded = record.finished.as_ref().and_then(|done| done.blake3);
        if graded.is_some_and(|blake3| blake3 != *blake3::hash(&text).as_bytes()) {
            return Err(failed("it holds other bytes than those that were graded".into()));
        }
        Ok(text)
    }
}

/// Those of these judgements that other definitions may change: their puzzle is another one, or their name says
/// something else.
pub fn outdated(
    mut judged: Vec<Judged>,
    before: &Definitions,
    after: &Definitions,
    assignments: &Assignments,
) -> Vec<Judged> {
    let rounds = after.event().rounds.iter().enumerate();
    let changed: HashSet<(usize, usize)> = rounds
        .flat_map(|(number, round)| {
            let puzzles = round.puzzles.iter().enumerate();
            let changed = puzzles
                .filter(|(_, puzzle)| before.puzzle(&round.id, &puzzle.id) != Some(&puzzle.puzzle));
            changed.map(move |(puzzle, _)| (number, puzzle))
        })
        .collect();
    judged.retain(|judged| {
        let place = (judged.name.clone(), judged.attempt);
        let owner = match assignments.get(&place) {
            Some(Assigned::Nobody) => return false,
            Some(Assigned::To(owner, _)) => Some(*owner),
            None => after.event().names.owner(&judged.name).ok(),
        };
        match (&judged.judgement.entry, owner) {
            (None, None) => false,
            (Some(entry), Some(owner)) => {
                changed.contains(&(owner.round, owner.puzzle)) || after.entry(owner) != *entry
            }
            _ => true,
        }
    });
    judged
}
