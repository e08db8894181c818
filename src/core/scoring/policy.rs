//! Policies: what a try is worth, which try counts, and what time costs or earns.

use super::Points;
use alloc::vec::Vec;

/// How the puzzles of a round are scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What a try is worth.
    pub credit: Credit,
    /// Which of an entrant's tries counts.
    pub which: Which,
    /// What each wrong try costs: one that stands and is not correct.
    pub wrong_penalty: Points,
    /// What time that is left earns.
    pub bonus: Option<Bonus>,
    /// All credits and bonuses are rounded down to a multiple of this.
    pub round_to: Points,
}

/// What a try is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credit {
    /// The puzzle's points if the try is correct.
    AllOrNothing,
    /// As all or nothing, but the value shrinks with each wrong try before the correct one: this many percent
    /// after none, one, two ... of them. The last number holds for all further ones; an empty list is worth
    /// nothing.
    Ladder(Vec<u32>),
    /// The share of the cells to be filled that are right.
    PerCell,
    /// The share of the weights of the houses that are right.
    PerHouse(HouseWeights),
}

/// What houses weigh against each other.
///
/// With weights of 5, 5, 10 and 20, and a 9x9 puzzle worth 200 points, each is what a house earns in points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HouseWeights {
    /// A row.
    pub row: u32,
    /// A column.
    pub column: u32,
    /// A box.
    pub in_box: u32,
    /// All of them, in addition.
    pub full: u32,
}

/// Which of an entrant's tries for a puzzle counts, of those that [stand](super::Standing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first.
    First,
    /// The last.
    Last,
    /// The one that is worth most, and of equals the first.
    Best,
    /// The first correct one; the last, if none is correct.
    FirstCorrect,
}

/// What time that is left earns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bonus {
    /// Points for each full minute between the last hand-in that counts and the end of the round.
    pub per_full_minute: Points,
    /// Whether every puzzle has to be correct, apart from void ones.
    pub needs_all_correct: bool,
    /// What is left of the bonus if nearly everything is correct.
    pub near_miss: Option<NearMiss>,
}

/// When nearly everything is correct, and what is left of the bonus then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// In how many puzzles there may be wrong or blank cells.
    pub puzzles_max: u32,
    /// How many of them in each.
    pub wrong_cells_max: u32,
    /// What is left of the bonus.
    pub bonus_percent: u32,
}

/// What overtime costs. It is charged once for a round, by the last hand-in that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// How long after the end files are accepted, in milliseconds.
    pub ms: u64,
    /// Points for each minute that was started.
    pub penalty_per_started_minute: Points,
}
