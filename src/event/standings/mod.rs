//! Standings: a fold over judgements and rulings, in the order in which they were recorded.
//!
//! Each judgement replaces the one before of its submission; each ruling stays. What they change is noted, and
//! [`Standings::refresh`] scores only that again. Scoring itself is a pure function of the event, the tries and
//! the rulings, so the order and the grouping of changes make no difference: standings that were kept up to date
//! are those that are computed from scratch.
//!
//! A million entries are in memory at once, so what is kept of one is small: words stay in the ledger.

mod effect;
mod listed;
mod table;

pub use listed::{Held, Identical, Listed, TryWords};
pub use table::{Row, Shown, State, Table};

use super::definition::{Event, Status, Timing};
use super::names::Owner;
use super::ruling::{Action, Place};
use crate::model::ruling::Ruling;
use crate::model::submission::{Doubt, HandedIn, Judged, Name, Outcome};
use effect::Effect;
use gridmark_core::scoring::{
    self, Gain, InTime, LateRule, LateRuling, Place as Ranked, Points, RoundScore, Tries, Try,
    TryMark, Worth, score_round,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The standings of an event.
#[derive(Clone, Debug)]
pub struct Standings {
    event: Arc<Event>,
    ids: Ids,
    /// The category of each entrant, as a number.
    groups: Vec<Option<u32>>,
    last_change: i64,
    /// Where the newest judgement of each submission is, by its number.
    submissions: Vec<Location>,
    /// By round, entrant and puzzle, in the order of tries.
    tries: Vec<Vec<Vec<Vec<Entry>>>>,
    /// Submissions that wait for staff, by number.
    held: BTreeMap<i64, Held>,
    rulings: Vec<Ruling>,
    effect: Effect,
    /// By round and entrant.
    scores: Vec<Vec<Score>>,
    /// The places in each round, and those in the event, best first.
    places: Vec<Vec<Ranked>>,
    overall: Vec<Ranked>,
    /// Rounds and entrants that have to be scored again.
    dirty: HashSet<(usize, usize)>,
    /// Whether everything has to be, since a ruling came.
    all_dirty: bool,
    /// The last change of each round, and the last ruling, which may change all.
    changed_at: Vec<i64>,
    ruled_at: i64,
}

/// The ids of an event as they stand in the ledger.
#[derive(Clone, Debug, Default)]
struct Ids {
    entrants: HashMap<String, usize>,
    rounds: HashMap<String, (usize, HashMap<String, usize>)>,
}

#[derive(Clone, Copy, Debug)]
enum Location {
    Entry { entrant: u32, round: u32, puzzle: u32 },
    Held,
    Nowhere,
}

impl Location {
    fn of(owner: Owner) -> Location {
        let [entrant, round, puzzle] =
            [owner.entrant, owner.round, owner.puzzle].map(|index| index as u32);
        Location::Entry { entrant, round, puzzle }
    }
}

/// What is kept of an entry.
#[derive(Clone, Debug)]
struct Entry {
    /// The change with which it was judged first.
    since: i64,
    submission: i64,
    name: Name,
    attempt: u32,
    handed_in: HandedIn,
    received_at_ms: i64,
    mark: TryMark,
    blake3: Option<[u8; 32]>,
}

/// The score of an entrant in a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Score {
    points: Points,
    bonus: Points,
    penalty: Points,
    total: Points,
    last_gain: Option<Gain>,
    /// By puzzle; none for what was not handed in.
    puzzles: Vec<Option<Points>>,
    /// Entries that came before the start, and wait for staff.
    early: Vec<i64>,
    /// Entries of which nobody knows whether they were in time.
    unknown: u32,
}

impl Score {
    /// Whether the entrant has handed in something, or has points by a ruling.
    fn takes_part(&self) -> bool {
        self.puzzles.iter().any(Option::is_some) || self.total != Points::ZERO
    }
}

impl Standings {
    /// The standings of an event in which nothing has happened.
    pub fn new(event: Arc<Event>) -> Standings {
        let mut ids = Ids::default();
        for (number, entrant) in event.entrants.iter().enumerate() {
            ids.entrants.insert(entrant.id.clone(), number);
        }
        for (number, round) in event.rounds.iter().enumerate() {
            let puzzles = round.puzzles.iter().enumerate();
            let puzzles = puzzles.map(|(place, puzzle)| (puzzle.id.clone(), place)).collect();
            ids.rounds.insert(round.id.clone(), (number, puzzles));
        }
        let per_round = |round: &super::definition::Round| {
            vec![vec![Vec::new(); round.puzzles.len()]; event.entrants.len()]
        };
        let tries = event.rounds.iter().map(per_round).collect();
        let scores = vec![vec![Score::default(); event.entrants.len()]; event.rounds.len()];
        Standings {
            ids,
            groups: table::groups_of(&event),
            last_change: 0,
            submissions: Vec::new(),
            tries,
            held: BTreeMap::new(),
            rulings: Vec::new(),
            effect: Effect::default(),
            scores,
            places: vec![Vec::new(); event.rounds.len()],
            overall: Vec::new(),
            dirty: HashSet::new(),
            all_dirty: true,
            changed_at: vec![0; event.rounds.len()],
            ruled_at: 0,
            event,
        }
    }

    /// The event.
    pub fn event(&self) -> &Arc<Event> {
        &self.event
    }

    /// The number of the last change that was added.
    pub fn last_change(&self) -> i64 {
        self.last_change
    }

    /// All rulings, oldest first.
    pub fn rulings(&self) -> &[Ruling] {
        &self.rulings
    }

    /// The last change that may have changed a round.
    pub fn changed_at(&self, round: usize) -> i64 {
        self.changed_at[round].max(self.ruled_at)
    }

    /// The numbers of the submissions of some entrants in a round.
    pub fn submissions_of(&self, round: usize, entrants: Range<usize>) -> Vec<i64> {
        let entries = self.tries[round][entrants].iter().flatten().flatten();
        entries.map(|entry| entry.submission).collect()
    }

    /// Adds a judgement, which replaces an earlier one of its submission.
    pub fn judged(&mut self, judged: &Judged) {
        self.last_change = self.last_change.max(judged.change);
        let since = self.remove(judged.submission).unwrap_or(judged.change);
        let entry = judged.judgement.entry.as_ref();
        let owner = entry.and_then(|entry| self.owner(&entry.entrant, &entry.round, &entry.puzzle));
        let place = match (&judged.judgement.outcome, owner) {
            (Outcome::Marked(marked), Some(owner)) => {
                self.insert(
                    owner,
                    Entry {
                        since,
                        submission: judged.submission,
                        name: judged.name.clone(),
                        attempt: judged.attempt,
                        handed_in: judged.handed_in,
                        received_at_ms: judged.received_at_ms,
                        mark: marked.mark,
                        blake3: judged.blake3,
                    },
                );
                Location::of(owner)
            }
            (Outcome::Dismissed, _) => Location::Nowhere,
            (Outcome::Held { why, nearest }, _) => {
                self.hold(judged, why.clone(), nearest.clone());
                Location::Held
            }
            (Outcome::Marked(_), None) => {
                let why = match entry {
                    Some(entry) => format!(
                        "the event has no entrant `{}`, round `{}` and puzzle `{}` any more",
                        entry.entrant, entry.round, entry.puzzle
                    ),
                    None => "it is nobody's".into(),
                };
                self.hold(judged, why, None);
                Location::Held
            }
        };
        if let Ok(number) = usize::try_from(judged.submission) {
            if number >= self.submissions.len() {
                self.submissions.resize(number + 1, Location::Nowhere);
            }
            self.submissions[number] = place;
        }
    }

    /// Adds a ruling.
    pub fn ruled(&mut self, ruling: Ruling) {
        self.last_change = self.last_change.max(ruling.change);
        // A card that is printed during a round must not make all points be computed again.
        if !matches!(Action::of(&ruling.draft, &self.event), Ok(Action::Access)) {
            self.ruled_at = self.last_change;
            self.all_dirty = true;
        }
        self.rulings.push(ruling);
    }

    /// Scores again what changes have touched.
    pub fn refresh(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        if std::mem::take(&mut self.all_dirty) {
            self.effect = Effect::of(&self.rulings, &self.event);
            let entrants = 0..self.event.entrants.len();
            let rounds = 0..self.event.rounds.len();
            dirty =
                rounds.flat_map(|round| entrants.clone().map(move |one| (round, one))).collect();
        }
        if dirty.is_empty() {
            return;
        }
        let mut rounds = BTreeSet::new();
        for (round, entrant) in dirty {
            self.scores[round][entrant] = self.score(round, entrant, &self.effect, None);
            rounds.insert(round);
        }
        for round in rounds {
            self.places[round] = self.rank(&self.scores[round], &self.places[round], &self.effect);
        }
        let scores: Vec<_> = self.scores.iter().map(|scores| Some(&scores[..])).collect();
        let places: Vec<_> = self.places.iter().map(|places| Some(&places[..])).collect();
        self.overall = self.rank_overall(&scores, &places, &self.overall, &self.effect);
    }

    fn owner(&self, entrant: &str, round: &str, puzzle: &str) -> Option<Owner> {
        let (round, puzzles) = self.ids.rounds.get(round)?;
        let entrant = *self.ids.entrants.get(entrant)?;
        Some(Owner { entrant, round: *round, puzzle: *puzzles.get(puzzle)? })
    }

    /// Removes what is known of a submission; returns with which change it was judged first, if it was an entry.
    fn remove(&mut self, submission: i64) -> Option<i64> {
        let known = usize::try_from(submission).ok();
        match known.and_then(|number| self.submissions.get(number)).copied() {
            Some(Location::Entry { entrant, round, puzzle }) => {
                let [entrant, round, puzzle] = [entrant, round, puzzle].map(|index| index as usize);
                let owner = Owner { entrant, round, puzzle };
                let tries = &mut self.tries[owner.round][owner.entrant][owner.puzzle];
                let place = tries.iter().position(|entry| entry.submission == submission);
                let removed = place.map(|place| tries.remove(place).since);
                self.touch(owner);
                removed
            }
            Some(Location::Held) => {
                self.held.remove(&submission);
                None
            }
            Some(Location::Nowhere) | None => None,
        }
    }

    /// The entries that are looked at: up to a moment, if there is one, and only those that were known when the
    /// results of the round were made official.
    fn seen<'a>(
        &self,
        entries: &'a [Entry],
        (round, effect): (usize, &Effect),
        until_ms: Option<i64>,
    ) -> Vec<&'a Entry> {
        let last = effect.official_since(round).unwrap_or(i64::MAX);
        let is_seen = |entry: &&Entry| {
            entry.since <= last && until_ms.is_none_or(|until| entry.handed_in.at_ms <= until)
        };
        entries.iter().filter(is_seen).collect()
    }

    fn touch(&mut self, owner: Owner) {
        self.dirty.insert((owner.round, owner.entrant));
        self.changed_at[owner.round] = self.last_change;
    }

    fn insert(&mut self, owner: Owner, entry: Entry) {
        let tries = &mut self.tries[owner.round][owner.entrant][owner.puzzle];
        let order = |entry: &Entry| (entry.handed_in.at_ms, entry.submission);
        let place = tries.partition_point(|other| order(other) < order(&entry));
        // Most have few, and there are many of them.
        tries.reserve_exact(1);
        tries.insert(place, entry);
        self.touch(owner);
    }

    fn hold(&mut self, judged: &Judged, why: String, nearest: Option<String>) {
        let held = Held {
            name: judged.name.clone(),
            attempt: judged.attempt,
            handed_in: judged.handed_in,
            why,
            nearest,
        };
        self.held.insert(judged.submission, held);
    }

    /// What an entrant did in a round, up to a moment if there is one.
    fn tries_of(
        &self,
        round: usize,
        entrant: usize,
        effect: &Effect,
        until_ms: Option<i64>,
    ) -> Vec<Tries> {
        let definition = &self.event.rounds[round];
        let clock = definition.clock(entrant, effect.excluded(round));
        let finished_ms = definition.times.get(&entrant).and_then(|times| times.finished_ms);
        let puzzles = self.tries[round][entrant].iter().enumerate();
        puzzles
            .map(|(puzzle, entries)| {
                let seen = self.seen(entries, (round, effect), until_ms);
                let has_rulings = effect.concerns_entries();
                let tries = seen.iter().enumerate().map(|(number, entry)| {
                    let place = has_rulings.then(|| (entry.name.clone(), entry.attempt));
                    let ruled = place.as_ref().map(|place| effect.of_entry(place));
                    let ruled = ruled.unwrap_or_default();
                    let (at_ms, latest_ms) = match (ruled.at_ms, definition.timing) {
                        (Some(at_ms), _) => (Some(at_ms), None),
                        (None, Timing::Sheet) => (finished_ms, None),
                        (None, Timing::File) => {
                            let doubtful = entry.handed_in.doubt.is_some();
                            let latest_ms = doubtful.then_some(entry.received_at_ms);
                            (Some(entry.handed_in.at_ms), latest_ms)
                        }
                    };
                    let is_early = || at_ms.is_some_and(|at_ms| at_ms < clock.start_ms);
                    let accepted = (ruled.assigned && is_early()).then_some(LateRuling::Accept);
                    let same =
                        |other: &&Entry| entry.blake3.is_some() && other.blake3 == entry.blake3;
                    // One whose bytes are not known is like no other.
                    let first = seen.iter().position(same).unwrap_or(number);
                    Try {
                        at_ms,
                        latest_ms,
                        mark: self.mark(round, puzzle, entry.mark, ruled.correct),
                        bytes: first as u64,
                        ruled: ruled.late.or(accepted),
                    }
                });
                let tries = tries.collect();
                let adjustments = effect.adjustments(entrant, round, Some(puzzle)).to_vec();
                Tries { tries, adjustments }
            })
            .collect()
    }

    /// A mark, with a ruling that calls it correct or wrong.
    fn mark(&self, round: usize, puzzle: usize, mark: TryMark, ruled: Option<bool>) -> TryMark {
        let Some(correct) = ruled else { return mark };
        let puzzle = &self.event.rounds[round].puzzles[puzzle].puzzle;
        let cells = puzzle.open_cells();
        let side = puzzle.size().side() as u32;
        let nothing = scoring::Judged { cells, side, ..Default::default() };
        TryMark::Judged(match mark {
            _ if correct => scoring::Judged::correct(cells, side),
            // How much of it is wrong is not known.
            TryMark::Judged(judged) if judged.correct => {
                scoring::Judged { correct: false, wrong_cells: None, right_houses: None, ..judged }
            }
            TryMark::Judged(judged) => judged,
            _ => nothing,
        })
    }

    fn worth(&self, round: usize, effect: &Effect) -> Vec<Worth> {
        let puzzles = self.event.rounds[round].puzzles.iter().enumerate();
        let worth = puzzles.map(|(number, puzzle)| Worth {
            points: puzzle.points,
            void: effect.void.get(&(round, number)).copied(),
        });
        worth.collect()
    }

    /// The score of an entrant in a round in full, by tries.
    fn score_in_full(
        &self,
        round: usize,
        entrant: usize,
        effect: &Effect,
        until_ms: Option<i64>,
    ) -> (Vec<Tries>, RoundScore) {
        let definition = &self.event.rounds[round];
        let tries = self.tries_of(round, entrant, effect, until_ms);
        let clock = definition.clock(entrant, effect.excluded(round));
        let adjustments = effect.adjustments(entrant, round, None);
        let worth = self.worth(round, effect);
        let score = score_round(&definition.policy, &clock, &worth, &tries, adjustments);
        (tries, score)
    }

    fn score(&self, round: usize, entrant: usize, effect: &Effect, until_ms: Option<i64>) -> Score {
        let entries = &self.tries[round][entrant];
        let definition = &self.event.rounds[round];
        // Most entrants have nothing yet in most rounds.
        if entries.iter().all(Vec::is_empty)
            && effect_is_none(effect, round, entrant, definition.puzzles.len())
        {
            return Score { puzzles: vec![None; definition.puzzles.len()], ..Score::default() };
        }
        let (tries, score) = self.score_in_full(round, entrant, effect, until_ms);
        let (mut early, mut unknown) = (Vec::new(), 0);
        for (score, entries) in score.puzzles.iter().zip(entries) {
            let seen = self.seen(entries, (round, effect), until_ms);
            for (one, entry) in score.tries.iter().zip(seen) {
                if one.standing == scoring::Standing::Early {
                    early.push(entry.submission);
                }
                unknown += u32::from(one.in_time == InTime::Unknown);
            }
        }
        let puzzles = score.puzzles.iter().zip(&tries).enumerate();
        let puzzles = puzzles.map(|(puzzle, (score, tries))| {
            let has_some = !tries.tries.is_empty()
                || !tries.adjustments.is_empty()
                || effect.void.contains_key(&(round, puzzle));
            has_some.then_some(score.points)
        });
        Score {
            points: score.points,
            bonus: score.bonus,
            penalty: score.penalty,
            total: score.total,
            last_gain: score.last_gain,
            puzzles: puzzles.collect(),
            early,
            unknown,
        }
    }

    /// Whether an entrant takes part, by the roster and these rulings.
    fn status(&self, entrant: usize, effect: &Effect) -> Status {
        effect.statuses.get(&entrant).copied().unwrap_or(self.event.entrants[entrant].status)
    }

    /// How long after its end files of a round are accepted, in milliseconds.
    fn grace_ms(&self, round: usize) -> i64 {
        match self.event.rounds[round].late {
            LateRule::Grace(grace) => i64::try_from(grace.ms).unwrap_or(i64::MAX),
            LateRule::Refuse | LateRule::Accept => 0,
        }
    }

    /// How many entries there are of which nobody knows whether they were in time.
    pub fn doubtful(&self) -> usize {
        self.scores.iter().flatten().map(|score| score.unknown as usize).sum()
    }

    /// Whether the results of a round are official.
    pub fn is_official(&self, round: usize) -> bool {
        self.effect.is_official(round)
    }

    /// What a ruling says about whether an entry is correct, if one does.
    pub fn ruled_correct(&self, place: &Place) -> Option<bool> {
        self.effect.of_entry(place).correct
    }

    /// The round in which this submission is an entry, if it is one.
    pub fn round_of(&self, (name, attempt): &Place) -> Option<usize> {
        let is_it = |entry: &Entry| entry.name == *name && entry.attempt == *attempt;
        let rounds = 0..self.event.rounds.len();
        rounds.into_iter().find(|round| self.tries[*round].iter().flatten().flatten().any(is_it))
    }

    /// How many protests are open.
    pub fn open_protests(&self) -> usize {
        self.effect.protests.len()
    }
}

/// Whether rulings do nothing for an entrant in a round.
fn effect_is_none(effect: &Effect, round: usize, entrant: usize, puzzles: usize) -> bool {
    effect.adjustments(entrant, round, None).is_empty()
        && (0..puzzles).all(|puzzle| {
            effect.adjustments(entrant, round, Some(puzzle)).is_empty()
                && !effect.void.contains_key(&(round, puzzle))
        })
}

/// Why a time is in doubt, in a word; empty if it is not.
fn doubt_word(handed_in: &HandedIn) -> &'static str {
    handed_in.doubt.map_or("", Doubt::word)
}
