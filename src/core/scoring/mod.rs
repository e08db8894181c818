//! Scoring: from marks and rulings to points and ranks.
//!
//! Everything here is a pure function of its arguments, in integers: thousandths of points, milliseconds. So
//! the same marks and rulings give the same standings on every machine, in any order of arrival, computed at
//! once or piece by piece. Who is who, where definitions come from and what rulings are is the caller's
//! business: here are only tries, clocks, policies and totals.
//!
//! The way of a point:
//!
//! 1. A [`Clock`] says whether a [`Try`] is in time, and that with its mark whether it *stands*
//!    ([`Standing`]). What could not be read, is for another puzzle, is blank, the same as before, or was lost by
//!    a failure of the service does not stand: it never counts and never costs anything.
//! 2. The [`Policy`] says what each try that stands is worth, and which one counts.
//! 3. [`score_round`] adds up a round: points, bonus, penalty, total.
//! 4. [`rank`] puts entrants in order; [`Overall`] adds rounds up.

mod clock;
mod points;
mod policy;
mod ranking;
mod round;
#[cfg(test)]
mod tests;
mod tries;

pub use clock::{Clock, InTime, Interval};
pub use points::Points;
pub use policy::{Bonus, Credit, Grace, HouseWeights, NearMiss, Policy, Which};
pub use ranking::{
    Contender, Listing, Overall, Place, RoundResult, TieBreak, UnknownTieBreak, rank, rank_again,
};
pub use round::{
    Adjustment, Gain, PuzzleScore, RoundScore, Tries, TryScore, Void, Worth, score_round,
};
pub use tries::{Judged, LateRuling, Standing, Try, TryMark};

/// What follows from a hand-in after the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateRule {
    /// It does not count.
    Refuse,
    /// It counts as any other.
    Accept,
    /// It counts within the time of grace, and costs something.
    Grace(Grace),
}
