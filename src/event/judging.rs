//! Entries are judged while they are graded: whose they are, by their names, and what they are worth, against the
//! registered puzzle. Whatever a file itself claims to be a puzzle never scores.
//!
//! A submission whose name does not say whose it is, or that holds several grids, is marked as any other file is,
//! and held for staff. So is one that is larger than an entry can be: it is streamed in chunks, and a grid is
//! small.

use super::definition::{Event, RoundPuzzle};
use super::names::Owner;
use super::problem::Problem;
use super::source::Source;
use crate::model::marking::limits;
use crate::model::submission::{Entry, Judgement, Marked, Name, Outcome, Rules, Tally};
use crate::model::words::counted;
use gridmark_core::Kind;
use gridmark_core::board::{Fault, Mark, Verdict};
use gridmark_core::judge::{self, Against};
use gridmark_core::puzzle::{Puzzle, Task};
use gridmark_core::scoring::{Judged, TryMark};
use std::sync::Arc;

/// The largest entry, in bytes. It is no setting, since rows depend on it.
pub const ENTRY_BYTES_MAX: u64 = 64 << 10;

/// The definitions of an event, prepared for judging.
#[derive(Debug)]
pub struct Definitions {
    number: i64,
    event: Arc<Event>,
    /// By round and puzzle.
    against: Vec<Vec<Against>>,
}

/// A judged file.
#[derive(Debug)]
pub struct Judging {
    /// The kind of its puzzle.
    pub kind: Kind,
    /// The marks of its grids.
    pub tally: Tally,
    /// What it is worth.
    pub judgement: Judgement,
}

impl Definitions {
    /// The definitions with this number.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with their folder.
    pub fn new(number: i64, source: &Source) -> Result<Definitions, Vec<Problem>> {
        Ok(Definitions::of(number, source.event()?))
    }

    /// The definitions with this number, which define this event.
    pub fn of(number: i64, event: Event) -> Definitions {
        let prepare = |puzzle: &RoundPuzzle| Against::new(puzzle.puzzle.clone());
        let against = event.rounds.iter().map(|round| round.puzzles.iter().map(prepare).collect());
        Definitions { number, against: against.collect(), event: Arc::new(event) }
    }

    /// Their number in the ledger.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// The event that they define.
    pub fn event(&self) -> &Arc<Event> {
        &self.event
    }

    /// Whether a submission of this name and size is judged as an entry, whole and against its puzzle.
    pub fn takes(&self, name: &Name, bytes: u64) -> bool {
        bytes <= ENTRY_BYTES_MAX && self.event.names.owner(name).is_ok()
    }

    /// Judges the file of an entry against its puzzle, and calls `row` with the number, from 1, the kind and the
    /// mark of each of its grids. `None` if its name does not say whose it is, or it is larger than an entry can
    /// be.
    pub fn judge(
        &self,
        name: &Name,
        text: &[u8],
        rules: &Rules,
        mut row: impl FnMut(u64, Kind, &Mark),
    ) -> Option<Judging> {
        let owner = self.event.names.owner(name).ok()?;
        if text.len() as u64 > ENTRY_BYTES_MAX {
            return None;
        }
        let against = self.against_of(owner);
        let kind = against.puzzle().kind();
        let entries = self.entries(owner, text, rules);
        let mut tally = Tally::default();
        for (number, entry) in (1..).zip(&entries) {
            tally.count(&entry.mark);
            row(number, kind, &entry.mark);
        }
        let outcome = match &entries[..] {
            [only] => Outcome::Marked(self.marked(owner, only, 1, (text, rules))),
            several => Outcome::Held {
                why: format!("it holds {}, and an entry is one", counted(several.len(), "grid")),
                nearest: None,
            },
        };
        let judgement =
            Judgement { definitions: self.number, entry: Some(self.entry(owner)), outcome };
        Some(Judging { kind, tally, judgement })
    }

    /// Judges the grid with this number, from 1, of a file as an entry of this owner. `None` if the file has no
    /// such grid.
    pub fn judge_as(
        &self,
        owner: Owner,
        text: &[u8],
        case: u64,
        rules: &Rules,
    ) -> Option<Judgement> {
        let entries = self.entries(owner, text, rules);
        let index = usize::try_from(case.checked_sub(1)?).ok()?;
        let marked = self.marked(owner, entries.get(index)?, case, (text, rules));
        let outcome = Outcome::Marked(marked);
        Some(Judgement { definitions: self.number, entry: Some(self.entry(owner)), outcome })
    }

    /// The judgement of a submission that is not judged as an entry, since its name does not say whose it is, or
    /// it is too large; or, if it `failed`, since grading it has.
    pub fn unjudged(&self, name: &Name, failed: bool) -> Option<Judgement> {
        let (entry, outcome) = match self.event.names.owner(name) {
            Ok(owner) if failed => {
                let failed = Marked {
                    case: 1,
                    mark: TryMark::Failed,
                    fault: String::new(),
                    at: String::new(),
                    faults: 0,
                    detail: String::new(),
                };
                (Some(self.entry(owner)), Outcome::Marked(failed))
            }
            // It is nobody's, and is handed in again.
            Err(_) if failed => return None,
            Ok(owner) => {
                let why = format!("it has more than {} KiB", ENTRY_BYTES_MAX >> 10);
                (Some(self.entry(owner)), Outcome::Held { why, nearest: None })
            }
            Err(why) => {
                let nearest = self.event.names.nearest(&why);
                (None, Outcome::Held { why: why.to_string(), nearest })
            }
        };
        Some(Judgement { definitions: self.number, entry, outcome })
    }

    /// The ids of an owner.
    pub fn entry(&self, owner: Owner) -> Entry {
        let round = &self.event.rounds[owner.round];
        Entry {
            entrant: self.event.entrants[owner.entrant].id.clone(),
            round: round.id.clone(),
            puzzle: round.puzzles[owner.puzzle].id.clone(),
        }
    }

    /// The registered puzzle with these ids.
    pub fn puzzle(&self, round: &str, puzzle: &str) -> Option<&Puzzle> {
        let round = self.event.rounds.iter().find(|known| known.id == round)?;
        round.puzzles.iter().find(|known| known.id == puzzle).map(|known| &known.puzzle)
    }

    /// How an entry is marked. Of one for another puzzle it is said which, if it is another one of this event.
    fn marked(
        &self,
        owner: Owner,
        entry: &judge::Entry,
        case: u64,
        (text, rules): (&[u8], &Rules),
    ) -> Marked {
        let mut marked = marked(self.against_of(owner), entry, case);
        if marked.mark == TryMark::Foreign
            && let Some(id) = self.puzzle_of(entry.line, text, rules)
        {
            marked.detail.push_str(&format!("; it is {id}"));
        }
        marked
    }

    /// The registered puzzle whose givens or cages the entry at this line of a file has: `puzzle p3 of round r1`.
    fn puzzle_of(&self, line: u64, text: &[u8], rules: &Rules) -> Option<String> {
        let rounds = self.event.rounds.iter().zip(&self.against);
        let mut puzzles = rounds.flat_map(|(round, against)| {
            round.puzzles.iter().zip(against).map(move |(puzzle, against)| (round, puzzle, against))
        });
        let is_it = |against: &Against| {
            let puzzle = against.puzzle();
            let entries = against.entries(text, limits(rules));
            let entry = entries.into_iter().find(|entry| entry.line == line);
            let judged = |mark: &Mark| match mark {
                Mark::Correct => true,
                Mark::Wrong(faults) => !matches!(faults[..], [Fault::ForeignPuzzle(_)]),
                _ => false,
            };
            // A list of marked cells says nothing of its puzzle.
            puzzle.marked().is_empty()
                && puzzle.task() == Task::Solve
                && entry.is_some_and(|entry| judged(&entry.mark))
        };
        let (round, puzzle, _) = puzzles.find(|(_, _, against)| is_it(against))?;
        Some(format!("puzzle {} of round {}", puzzle.id, round.id))
    }

    fn against_of(&self, owner: Owner) -> &Against {
        &self.against[owner.round][owner.puzzle]
    }

    /// The grids of a file, at least one.
    fn entries(&self, owner: Owner, text: &[u8], rules: &Rules) -> Vec<judge::Entry> {
        self.against_of(owner).entries(text, limits(rules))
    }
}

fn marked(against: &Against, entry: &judge::Entry, case: u64) -> Marked {
    let faults = match &entry.mark {
        Mark::Wrong(faults) => &faults[..],
        _ => &[],
    };
    let fault = match (&entry.mark, faults.first()) {
        (Mark::Unreadable(why), _) => why.code.code(),
        (_, Some(first)) => first.code(),
        _ => "",
    };
    let at = faults.first().and_then(Fault::at);
    Marked {
        case,
        mark: mark_of(against, entry, faults),
        fault: fault.to_owned(),
        at: at.map_or_else(String::new, |cell| cell.to_string()),
        faults: faults.len() as u64,
        detail: entry.mark.detail(),
    }
}

fn mark_of(against: &Against, entry: &judge::Entry, faults: &[Fault]) -> TryMark {
    let correct = match entry.mark.verdict() {
        Verdict::Unreadable => return TryMark::Unreadable,
        _ if matches!(faults, [Fault::ForeignPuzzle(_)]) => return TryMark::Foreign,
        verdict => verdict == Verdict::Correct,
    };
    let puzzle = against.puzzle();
    let side = puzzle.size().side() as u32;
    if puzzle.task() == Task::Larry {
        return TryMark::Judged(Judged { correct, ..Judged::default() });
    }
    if !puzzle.marked().is_empty() {
        let count = |code: fn(&Fault) -> bool| faults.iter().filter(|fault| code(fault)).count();
        return TryMark::Judged(Judged {
            correct,
            cells: puzzle.marked().len() as u32,
            blank_cells: count(|fault| matches!(fault, Fault::NotADigit { .. })) as u32,
            wrong_cells: Some(count(|fault| matches!(fault, Fault::WrongDigit { .. })) as u32),
            right_houses: None,
            side,
        });
    }
    if correct {
        return TryMark::Judged(Judged::correct(puzzle.open_cells(), side));
    }
    let compared = entry.digits.as_ref().map(|digits| against.compare(digits)).unwrap_or_default();
    TryMark::Judged(Judged {
        correct,
        cells: compared.cells,
        blank_cells: compared.blank_cells,
        wrong_cells: compared.wrong_cells,
        right_houses: compared.right_houses,
        side,
    })
}
