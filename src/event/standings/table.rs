//! Tables: who stands where in a round and in the event, for staff and for the public.

use super::effect::Effect;
use super::{Score, Standings};
use crate::event::definition::{Event, Status};
use gridmark_core::scoring::{Contender, Listing, Overall, Place, Points, RoundResult, rank_again};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The place of an entrant in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which entrant, as an index.
    pub entrant: usize,
    /// The rank, from 1, if they have one.
    pub rank: Option<u32>,
    /// The rank among those of the same category.
    pub group_rank: Option<u32>,
    /// Whether they take part.
    pub status: Status,
    /// The total.
    pub total: Points,
    /// What time that was left earned.
    pub bonus: Points,
    /// What wrong tries and overtime cost.
    pub penalty: Points,
    /// When the total grew last, in milliseconds since 1970.
    pub last_gain_at_ms: Option<i64>,
    /// The points for each puzzle of the round, or the total of each round of the event; none for what was not
    /// handed in.
    pub parts: Vec<Option<Points>>,
}

/// A table, best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// How far the results have come.
    pub state: State,
    /// Everybody on the roster.
    pub rows: Vec<Row>,
}

/// How far results have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Somebody may still hand in.
    Running,
    /// They may change.
    Provisional,
    /// Somebody has made them official.
    Official,
}

impl State {
    /// The word, as it stands in standings.
    pub const fn word(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Provisional => "provisional",
            State::Official => "official",
        }
    }
}

/// What the public may see of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Nothing: it has not started.
    Nothing,
    /// What was handed in, and ruled, up to this moment, in milliseconds since 1970.
    Until(i64),
    /// Everything.
    All,
}

impl Standings {
    /// What the public may see of a round at a moment. Everything that is for the public asks this.
    pub fn shown(&self, round: usize, now_ms: i64) -> Shown {
        let definition = &self.event.rounds[round];
        if self.effect.is_official(round) || self.effect.is_published(round) {
            return Shown::All;
        }
        let own = definition.times.values().filter_map(|times| times.start_ms);
        if now_ms < own.fold(definition.start_ms, i64::min) {
            return Shown::Nothing;
        }
        let freeze = self
            .event
            .freeze_before_end_ms
            .map(|before| definition.end_ms().saturating_sub_unsigned(before));
        match freeze {
            Some(freeze_ms) if now_ms >= freeze_ms => Shown::Until(freeze_ms),
            _ => Shown::All,
        }
    }

    /// How far a round has come at a moment.
    pub fn state(&self, round: usize, now_ms: i64) -> State {
        if self.effect.is_official(round) {
            return State::Official;
        }
        let definition = &self.event.rounds[round];
        let grace_ms = self.grace_ms(round);
        let excluded = self.effect.excluded(round);
        let runs = |entrant: usize| {
            let clock = definition.clock(entrant, excluded);
            clock.left_ms(now_ms).saturating_add(grace_ms) >= 0
        };
        // Those who are not on the sheet of times have the clock of the round.
        let others = (0..self.event.entrants.len()).find(|one| !definition.times.contains_key(one));
        let of_sheet = definition.times.keys().copied();
        if of_sheet.chain(others).any(runs) { State::Running } else { State::Provisional }
    }

    /// How far the event has come at a moment.
    pub fn event_state(&self, now_ms: i64) -> State {
        let rounds = 0..self.event.rounds.len();
        rounds.map(|round| self.state(round, now_ms)).min().unwrap_or(State::Running)
    }

    /// The table of a round, for staff.
    pub fn round(&self, round: usize, now_ms: i64) -> Table {
        let state = self.state(round, now_ms);
        self.table(state, &self.scores[round], &self.places[round], &self.effect)
    }

    /// The table of the event, for staff.
    pub fn overall(&self, now_ms: i64) -> Table {
        let scores: Vec<_> = self.scores.iter().map(|scores| Some(&scores[..])).collect();
        self.overall_table(&scores, &self.overall, now_ms, &self.effect)
    }

    /// The table of a round, as far as the public may see it; nothing before it starts.
    pub fn public_round(&self, round: usize, now_ms: i64) -> Option<Table> {
        let scores = self.public_scores(round, now_ms)?;
        let effect = self.public_effect(round..round + 1, now_ms);
        let places = self.rank(&scores, &self.places[round], &effect);
        Some(self.table(self.state(round, now_ms), &scores, &places, &effect))
    }

    /// The table of the event, as far as the public may see it.
    pub fn public_overall(&self, now_ms: i64) -> Table {
        let rounds = 0..self.event.rounds.len();
        let effect = self.public_effect(rounds.clone(), now_ms);
        let scores: Vec<_> = rounds.map(|round| self.public_scores(round, now_ms)).collect();
        let scores: Vec<_> = scores.iter().map(Option::as_deref).collect();
        let places: Vec<Option<Vec<Place>>> = scores
            .iter()
            .zip(&self.places)
            .map(|(scores, order)| scores.map(|scores| self.rank(scores, order, &effect)))
            .collect();
        let of_rounds: Vec<_> = places.iter().map(Option::as_deref).collect();
        let places = self.rank_overall(&scores, &of_rounds, &self.overall, &effect);
        self.overall_table(&scores, &places, now_ms, &effect)
    }

    /// The scores of a round as far as the public may see them.
    fn public_scores(&self, round: usize, now_ms: i64) -> Option<Vec<Score>> {
        match self.shown(round, now_ms) {
            Shown::Nothing => None,
            Shown::All => Some(self.scores[round].clone()),
            Shown::Until(until_ms) => {
                let effect = self.effect_until(until_ms);
                let entrants = 0..self.event.entrants.len();
                let score = |entrant| self.score(round, entrant, &effect, Some(until_ms));
                Some(entrants.map(score).collect())
            }
        }
    }

    /// What rulings do, as far as the public may see it in all of these rounds.
    fn public_effect(&self, mut rounds: Range<usize>, now_ms: i64) -> Cow<'_, Effect> {
        let until = |round| match self.shown(round, now_ms) {
            Shown::Until(until_ms) => Some(until_ms),
            Shown::Nothing | Shown::All => None,
        };
        match rounds.by_ref().filter_map(until).min() {
            Some(until_ms) => Cow::Owned(self.effect_until(until_ms)),
            None => Cow::Borrowed(&self.effect),
        }
    }

    /// What rulings do that were made up to a moment.
    fn effect_until(&self, until_ms: i64) -> Effect {
        let ruled = self.rulings.iter().take_while(|ruling| ruling.at_ms <= until_ms);
        Effect::of(&ruled.cloned().collect::<Vec<_>>(), &self.event)
    }

    fn table(&self, state: State, scores: &[Score], places: &[Place], effect: &Effect) -> Table {
        let row = |place: &Place| {
            let score = &scores[place.contender];
            Row {
                entrant: place.contender,
                rank: place.rank,
                group_rank: place.group_rank,
                status: self.status(place.contender, effect),
                total: score.total,
                bonus: score.bonus,
                penalty: score.penalty,
                last_gain_at_ms: score.last_gain.map(|gain| gain.at_ms),
                parts: score.puzzles.clone(),
            }
        };
        Table { state, rows: places.iter().map(row).collect() }
    }

    /// The places of entrants with these scores in a round. `order` may hold earlier places, which are nearly in
    /// order then.
    pub(super) fn rank(&self, scores: &[Score], order: &[Place], effect: &Effect) -> Vec<Place> {
        let contenders: Vec<Contender> = (scores.iter().zip(&self.groups).enumerate())
            .map(|(entrant, (score, group))| Contender {
                listing: listing(self.status(entrant, effect)),
                group: *group,
                total: score.total,
                gain_ms: score.last_gain.map(|gain| gain.elapsed_ms),
                round_ranks: Vec::new(),
            })
            .collect();
        rank_again(&contenders, &self.event.break_by, order)
    }

    /// The places of entrants in the event, from the scores and places of its rounds, of which some may be missing.
    pub(super) fn rank_overall(
        &self,
        scores: &[Option<&[Score]>],
        places: &[Option<&[Place]>],
        order: &[Place],
        effect: &Effect,
    ) -> Vec<Place> {
        let count = self.event.entrants.len();
        let mut results: Vec<Vec<RoundResult>> = vec![Vec::with_capacity(scores.len()); count];
        let mut ranks = vec![None; count];
        for (scores, places) in scores.iter().zip(places) {
            let (Some(scores), Some(places)) = (scores, places) else { continue };
            for place in *places {
                ranks[place.contender] = place.rank;
            }
            for (entrant, score) in scores.iter().enumerate() {
                results[entrant].push(RoundResult {
                    total: score.total,
                    // Who handed in nothing has no place in the round that could earn something.
                    rank: ranks[entrant].filter(|_| score.takes_part()),
                    last_gain: score.last_gain,
                });
            }
        }
        let overall: Overall = self.event.overall;
        let contenders: Vec<Contender> = (results.iter().zip(&self.groups).enumerate())
            .map(|(entrant, (results, group))| {
                overall.contender(listing(self.status(entrant, effect)), *group, results)
            })
            .collect();
        let mut places = rank_again(&contenders, &self.event.break_by, order);
        for place in &mut places {
            place.total = contenders[place.contender].total;
        }
        places
    }

    fn overall_table(
        &self,
        scores: &[Option<&[Score]>],
        places: &[Place],
        now_ms: i64,
        effect: &Effect,
    ) -> Table {
        let row = |place: &Place| {
            let entrant = place.contender;
            let of_rounds = || scores.iter().flatten().map(|scores| &scores[entrant]);
            let part = |scores: &Option<&[Score]>| {
                let score = &scores.as_ref()?[entrant];
                score.takes_part().then_some(score.total)
            };
            Row {
                entrant,
                rank: place.rank,
                group_rank: place.group_rank,
                status: self.status(entrant, effect),
                total: place.total,
                bonus: of_rounds().map(|score| score.bonus).sum(),
                penalty: of_rounds().map(|score| score.penalty).sum(),
                last_gain_at_ms: of_rounds()
                    .filter_map(|score| score.last_gain)
                    .map(|gain| gain.at_ms)
                    .max(),
                parts: scores.iter().map(part).collect(),
            }
        };
        Table { state: self.event_state(now_ms), rows: places.iter().map(row).collect() }
    }
}

/// The category of each entrant, as a number.
pub(super) fn groups_of(event: &Event) -> Vec<Option<u32>> {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let groups = event.entrants.iter().map(|entrant| {
        if entrant.group.is_empty() {
            return None;
        }
        let next = known.len() as u32;
        Some(*known.entry(&entrant.group).or_insert(next))
    });
    groups.collect()
}

/// Where entrants of this status stand in a list.
const fn listing(status: Status) -> Listing {
    match status {
        Status::In => Listing::Ranked,
        Status::Unofficial => Listing::Unofficial,
        Status::Dns | Status::Dq | Status::Withdrawn => Listing::Out,
    }
}
