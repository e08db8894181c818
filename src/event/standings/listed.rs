//! Lists for staff: every try with what became of it and why, what is held, what is missing, what is alike.

use super::super::definition::Status;
use super::super::names::Owner;
use super::super::ruling::Action;
use super::{Entry, Standings, doubt_word};
use crate::model::ruling::Ruling;
use crate::model::submission::{HandedIn, Name, verdict};
use gridmark_core::scoring::{InTime, Points, Standing, TryMark, Void, Which};
use std::collections::{BTreeMap, BTreeSet};

/// A submission that waits for staff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub name: Name,
    /// The n-th submission of that name.
    pub attempt: u32,
    /// When it arrived.
    pub handed_in: HandedIn,
    /// Why it waits.
    pub why: String,
    /// The nearest match, if there is one.
    pub nearest: Option<String>,
}

/// Something that was not handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// By whom, in which round, for which puzzle.
    pub owner: Owner,
    /// Whether they take part.
    pub status: Status,
}

/// Entries of several entrants for one puzzle with the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identical {
    /// The round.
    pub round: usize,
    /// The puzzle of that round.
    pub puzzle: usize,
    /// The hash of the bytes.
    pub blake3: [u8; 32],
    /// The entrants, with the name and attempt of each entry, when it arrived, and what it was marked.
    pub entries: Vec<(usize, Name, u32, HandedIn, TryMark)>,
}

/// A try, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryWords {
    /// Whose.
    pub owner: Owner,
    /// Its number among all tries of that entrant for that puzzle, from 1.
    pub number: usize,
    /// The number of its submission.
    pub submission: i64,
    /// The name of its submission.
    pub name: Name,
    /// The n-th submission of that name.
    pub attempt: u32,
    /// When it arrived.
    pub handed_in: HandedIn,
    /// When it was handed in for the score: by the sheet of times or a ruling, if there is one.
    pub at_ms: Option<i64>,
    /// Whether it was in time.
    pub in_time: InTime,
    /// What it was marked, by a ruling if there is one.
    pub mark: TryMark,
    /// Whether it counts.
    pub counts: bool,
    /// The points that the puzzle earns, if it counts.
    pub points: Option<Points>,
    /// Why.
    pub why: String,
}

impl TryWords {
    /// The verdict in one word.
    pub const fn verdict(&self) -> &'static str {
        verdict(self.mark)
    }

    /// Why its time is in doubt, in a word; empty if it is not.
    pub fn doubt(&self) -> &'static str {
        doubt_word(&self.handed_in)
    }
}

impl Standings {
    /// All submissions that wait for staff, by number: those that are nobody's for sure, those that came before
    /// the start, and those that came after the results of their round were official.
    pub fn held(&self) -> BTreeMap<i64, Held> {
        let mut held = self.held.clone();
        let mut hold = |entry: &Entry, why: String| {
            let (name, attempt, handed_in) = (entry.name.clone(), entry.attempt, entry.handed_in);
            held.insert(entry.submission, Held { name, attempt, handed_in, why, nearest: None });
        };
        let id = |round: usize| &self.event().rounds[round].id;
        for (round, entry) in self.after_official() {
            let round = id(round);
            hold(
                entry,
                format!("the results of round {round} were official when it was handed in"),
            );
        }
        for (round, scores) in self.scores.iter().enumerate() {
            for (entrant, score) in
                scores.iter().enumerate().filter(|(_, one)| !one.early.is_empty())
            {
                let entries = self.tries[round][entrant].iter().flatten();
                for entry in entries.filter(|entry| score.early.contains(&entry.submission)) {
                    hold(entry, format!("it came before the start of round {}", id(round)));
                }
            }
        }
        held
    }

    /// How many submissions wait for staff.
    pub fn held_count(&self) -> usize {
        let early = self.scores.iter().flatten().map(|score| score.early.len());
        self.held.len() + early.sum::<usize>() + self.after_official().count()
    }

    /// Entries that came after the results of their round had been made official.
    fn after_official(&self) -> impl Iterator<Item = (usize, &Entry)> {
        let rounds = self.tries.iter().enumerate();
        let official = rounds.filter_map(|(round, tries)| {
            let since = self.effect.official_since(round)?;
            let entries = tries.iter().flatten().flatten();
            Some(entries.filter(move |entry| entry.since > since).map(move |entry| (round, entry)))
        });
        official.flatten()
    }

    /// What is missing in rounds that have started: everything of which nothing was handed in.
    pub fn missing(&self, now_ms: i64) -> Vec<Listed> {
        let mut missing = Vec::new();
        for (round, definition) in self.event().rounds.iter().enumerate() {
            if now_ms < definition.start_ms {
                continue;
            }
            for puzzle in 0..definition.puzzles.len() {
                if self.effect.void.contains_key(&(round, puzzle)) {
                    continue;
                }
                for entrant in 0..self.event().entrants.len() {
                    if self.tries[round][entrant][puzzle].is_empty() {
                        let owner = Owner { entrant, round, puzzle };
                        let status = self.status(entrant, &self.effect);
                        missing.push(Listed { owner, status });
                    }
                }
            }
        }
        missing
    }

    /// Entries of several entrants for one puzzle with the same bytes.
    pub fn identical(&self) -> Vec<Identical> {
        let mut identical = Vec::new();
        for (round, definition) in self.event().rounds.iter().enumerate() {
            for puzzle in 0..definition.puzzles.len() {
                let mut by_bytes: BTreeMap<[u8; 32], Vec<(usize, &Entry)>> = BTreeMap::new();
                for (entrant, tries) in self.tries[round].iter().enumerate() {
                    for entry in &tries[puzzle] {
                        if let Some(blake3) = entry.blake3 {
                            by_bytes.entry(blake3).or_default().push((entrant, entry));
                        }
                    }
                }
                for (blake3, entries) in by_bytes {
                    let entrants: BTreeSet<usize> = entries.iter().map(|(one, _)| *one).collect();
                    if entrants.len() < 2 {
                        continue;
                    }
                    let entries = entries.into_iter().map(|(entrant, entry)| {
                        (entrant, entry.name.clone(), entry.attempt, entry.handed_in, entry.mark)
                    });
                    identical.push(Identical { round, puzzle, blake3, entries: entries.collect() });
                }
            }
        }
        identical
    }

    /// All tries of an entrant in a round, by puzzle, with what became of each.
    pub fn tries(&self, round: usize, entrant: usize) -> Vec<TryWords> {
        let definition = &self.event().rounds[round];
        let (tries, score) = self.score_in_full(round, entrant, &self.effect, None);
        let mut words = Vec::new();
        for (puzzle, (tries, score)) in tries.iter().zip(&score.puzzles).enumerate() {
            let owner = Owner { entrant, round, puzzle };
            let entries = &self.tries[round][entrant][puzzle];
            let seen = self.seen(entries, (round, &self.effect), None);
            for (number, entry) in seen.into_iter().enumerate() {
                let (one, became) = (&tries.tries[number], &score.tries[number]);
                let counts = score.counts == Some(number);
                let mut why = match became.standing {
                    Standing::Stands if counts => {
                        format!("it counts, as {}", which_words(definition.policy.which))
                    }
                    Standing::Stands => match score.counts {
                        Some(other) => format!(
                            "try {} counts, as {}",
                            other + 1,
                            which_words(definition.policy.which)
                        ),
                        None => "it does not count".into(),
                    },
                    Standing::SameBytes(first) if counts => {
                        format!("it is the same as try {}, and counts as the last", first + 1)
                    }
                    standing => standing.to_string(),
                };
                if became.is_wrong {
                    why.push_str("; it is a wrong try");
                }
                match self.effect.void.get(&(round, puzzle)) {
                    Some(Void::Zero) => {
                        why.push_str("; the puzzle is void and gives nobody points")
                    }
                    Some(Void::Full) => {
                        why.push_str("; the puzzle is void and gives everybody its points");
                    }
                    None => {}
                }
                let about = self.rulings_about(owner, Some((&entry.name, entry.attempt)));
                let about: Vec<String> =
                    about.iter().map(|ruling| ruling.number.to_string()).collect();
                if !about.is_empty() {
                    let noun = if about.len() == 1 { "ruling" } else { "rulings" };
                    why.push_str(&format!("; see {noun} {}", about.join(", ")));
                }
                words.push(TryWords {
                    owner,
                    number: number + 1,
                    submission: entry.submission,
                    name: entry.name.clone(),
                    attempt: entry.attempt,
                    handed_in: entry.handed_in,
                    at_ms: one.at_ms,
                    in_time: became.in_time,
                    mark: one.mark,
                    counts,
                    points: counts.then_some(score.points),
                    why,
                });
            }
        }
        words
    }

    /// The rulings in force about an entrant's puzzle, or about a submission.
    pub fn rulings_about(&self, owner: Owner, place: Option<(&Name, u32)>) -> Vec<&Ruling> {
        let concerns = |action: &Action| {
            if let (Some((name, attempt)), Some(submission)) = (place, action.submission()) {
                return submission.0 == *name && submission.1 == attempt;
            }
            match action {
                Action::Points { entrant, round, puzzle, .. } => {
                    *entrant == owner.entrant
                        && *round == owner.round
                        && puzzle.is_none_or(|puzzle| puzzle == owner.puzzle)
                }
                Action::Void { round, puzzle, .. } | Action::Accept { round, puzzle, .. } => {
                    (*round, *puzzle) == (owner.round, owner.puzzle)
                }
                Action::Status { entrant, .. } => *entrant == owner.entrant,
                Action::Exclude { round, .. } => *round == owner.round,
                _ => false,
            }
        };
        let about = self.effect.actions.iter().filter(|(_, action)| concerns(action));
        about.filter_map(|(place, _)| self.rulings.get(*place)).collect()
    }
}

/// Which try counts, in words.
const fn which_words(which: Which) -> &'static str {
    match which {
        Which::First => "the first that stands",
        Which::Last => "the last that stands",
        Which::Best => "the best",
        Which::FirstCorrect => "the first correct one, or the last",
    }
}
