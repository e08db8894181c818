//! The score of one entrant in one round.

use super::clock::{Clock, InTime};
use super::policy::{Bonus, Credit, HouseWeights, NearMiss, Policy, Which};
use super::tries::{Judged, LateRuling, Standing, Try, TryMark};
use super::{LateRule, Points};
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

/// A puzzle of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// What it is worth.
    pub points: Points,
    /// Whether it was withdrawn, and what everybody gets for it then.
    pub void: Option<Void>,
}

/// What everybody gets for a puzzle that was withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Void {
    /// Nothing.
    Zero,
    /// All of its points.
    Full,
}

/// A change of points by a ruling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustment {
    /// So many more, or fewer.
    Add(Points),
    /// Exactly so many.
    Set(Points),
}

impl Adjustment {
    /// What these points become by all `adjustments`, one after the other.
    pub fn all(points: Points, adjustments: &[Adjustment]) -> Points {
        adjustments.iter().fold(points, |points, adjustment| match adjustment {
            Adjustment::Add(more) => points + *more,
            Adjustment::Set(exactly) => *exactly,
        })
    }
}

/// What an entrant did for one puzzle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// In their order.
    pub tries: Vec<Try>,
    /// What rulings change, in their order.
    pub adjustments: Vec<Adjustment>,
}

/// The score of an entrant in a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundScore {
    /// By puzzle.
    pub puzzles: Vec<PuzzleScore>,
    /// The points for puzzles.
    pub points: Points,
    /// What time that was left earned.
    pub bonus: Points,
    /// What wrong tries and overtime cost.
    pub penalty: Points,
    /// Points, bonus and penalty together, never below zero, and then what rulings change.
    pub total: Points,
    /// The last time at which the score grew.
    pub last_gain: Option<Gain>,
}

/// A time at which a score grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    /// In milliseconds since 1970.
    pub at_ms: i64,
    /// How much time of the round had passed for that entrant, in milliseconds.
    pub elapsed_ms: i64,
}

/// The score of an entrant for a puzzle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PuzzleScore {
    /// By try.
    pub tries: Vec<TryScore>,
    /// Which try counts, if any does.
    pub counts: Option<usize>,
    /// The points, with what rulings change.
    pub points: Points,
    /// How many wrong tries there were.
    pub wrong_tries: u32,
}

/// What becomes of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryScore {
    /// Whether it is in time.
    pub in_time: InTime,
    /// Whether it stands.
    pub standing: Standing,
    /// Whether it is a wrong try, which may cost something.
    pub is_wrong: bool,
    /// What it is worth.
    pub credit: Points,
}

/// The score of an entrant in a round: `puzzles` says what the puzzles are worth, and `tries` holds what the
/// entrant did for each, in the same order.
///
/// ```
/// use gridmark_core::scoring::*;
/// let policy = Policy {
///     credit: Credit::AllOrNothing,
///     which: Which::Last,
///     wrong_penalty: Points::ZERO,
///     bonus: Some(Bonus {
///         per_full_minute: Points::whole(10), needs_all_correct: true, near_miss: None,
///     }),
///     round_to: Points::whole(1),
/// };
/// let clock = Clock {
///     start_ms: 0, duration_ms: 60 * 60_000, excluded: vec![], late: LateRule::Refuse,
/// };
/// let worth = [Worth { points: Points::whole(35), void: None }];
/// let handed_in = Try {
///     at_ms: Some(50 * 60_000 + 1),
///     latest_ms: None,
///     mark: TryMark::Judged(Judged::correct(51, 9)),
///     bytes: 1,
///     ruled: None,
/// };
/// let tries = [Tries { tries: vec![handed_in], adjustments: vec![] }];
/// let score = score_round(&policy, &clock, &worth, &tries, &[]);
/// // Nine full minutes are left.
/// assert_eq!((score.points, score.bonus), (Points::whole(35), Points::whole(90)));
/// assert_eq!(score.total, Points::whole(125));
/// ```
pub fn score_round(
    policy: &Policy,
    clock: &Clock,
    puzzles: &[Worth],
    tries: &[Tries],
    adjustments: &[Adjustment],
) -> RoundScore {
    let nothing = Tries::default();
    let tries_of = |puzzle: usize| tries.get(puzzle).unwrap_or(&nothing);
    let scores = puzzles.iter().enumerate();
    let scores: Vec<PuzzleScore> = scores
        .map(|(puzzle, worth)| score_puzzle(policy, clock, worth, tries_of(puzzle)))
        .collect();
    let points: Points = scores.iter().map(|score| score.points).sum();
    let bonus = match &policy.bonus {
        Some(bonus) => {
            bonus_of(bonus, clock, puzzles, &scores, tries).rounded_down(policy.round_to)
        }
        None => Points::ZERO,
    };
    let wrong_tries = scores.iter().map(|score| u64::from(score.wrong_tries)).sum();
    let penalty =
        policy.wrong_penalty.times(wrong_tries) + overtime_penalty(clock, puzzles, &scores, tries);
    let total = (points + bonus - penalty).max(Points::ZERO);
    let gains = puzzles.iter().zip(&scores).enumerate().filter_map(|(puzzle, (worth, score))| {
        let counts =
            score.counts.filter(|_| worth.void.is_none() && score.points > Points::ZERO)?;
        let at_ms = tries_of(puzzle).tries[counts].at_ms?;
        Some(Gain { at_ms, elapsed_ms: clock.elapsed_ms(at_ms) })
    });
    RoundScore {
        points,
        bonus,
        penalty,
        total: Adjustment::all(total, adjustments),
        last_gain: gains.max_by_key(|gain| gain.at_ms),
        puzzles: scores,
    }
}

fn score_puzzle(policy: &Policy, clock: &Clock, worth: &Worth, tries: &Tries) -> PuzzleScore {
    let mut scores: Vec<TryScore> = Vec::with_capacity(tries.tries.len());
    // By their bytes, the tries that stand.
    let mut first_with = BTreeMap::new();
    let mut wrong_tries = 0u32;
    for entry in &tries.tries {
        let in_time = in_time(clock, entry);
        let mut standing = entry.standing(in_time, clock.late == LateRule::Accept);
        if standing == Standing::Stands {
            match first_with.entry(entry.bytes) {
                Entry::Occupied(first) => standing = Standing::SameBytes(*first.get()),
                Entry::Vacant(vacant) => _ = vacant.insert(scores.len()),
            }
        }
        let judged = match (standing, entry.mark) {
            (Standing::Stands, TryMark::Judged(judged)) => Some(judged),
            _ => None,
        };
        let is_wrong = judged.is_some_and(|judged| !judged.correct) && worth.void.is_none();
        let credit = match (standing, judged) {
            (Standing::SameBytes(first), _) => scores[first].credit,
            (_, Some(judged)) => credit(&policy.credit, worth.points, &judged, wrong_tries)
                .rounded_down(policy.round_to),
            (_, None) => Points::ZERO,
        };
        wrong_tries += u32::from(is_wrong);
        scores.push(TryScore { in_time, standing, is_wrong, credit });
    }
    let counts = counting(policy.which, &tries.tries, &scores);
    let points = match (worth.void, counts) {
        (Some(Void::Full), _) => worth.points,
        (Some(Void::Zero), _) | (None, None) => Points::ZERO,
        (None, Some(counts)) => scores[counts].credit,
    };
    let points = Adjustment::all(points, &tries.adjustments);
    PuzzleScore { tries: scores, counts, points, wrong_tries }
}

/// Whether a try is in time. If its time is in doubt, and that makes a difference, nobody knows.
fn in_time(clock: &Clock, entry: &Try) -> InTime {
    let Some(at_ms) = entry.at_ms else {
        return InTime::Unknown;
    };
    let in_time = clock.in_time(at_ms);
    match entry.latest_ms {
        Some(latest_ms) if clock.in_time(latest_ms.max(at_ms)) != in_time => InTime::Unknown,
        _ => in_time,
    }
}

/// What a try is worth that stands, after so many wrong tries.
fn credit(credit: &Credit, points: Points, judged: &Judged, wrong_tries: u32) -> Points {
    match credit {
        Credit::AllOrNothing if judged.correct => points,
        Credit::Ladder(percent) if judged.correct => {
            let step = percent.get(wrong_tries as usize).or(percent.last());
            step.map_or(Points::ZERO, |percent| points.percent(*percent))
        }
        Credit::AllOrNothing | Credit::Ladder(_) => Points::ZERO,
        Credit::PerCell | Credit::PerHouse(_) if judged.correct => points,
        Credit::PerCell => {
            let right =
                judged.faulty_cells().map_or(0, |faulty| judged.cells.saturating_sub(faulty));
            points.share(right.into(), judged.cells.into())
        }
        Credit::PerHouse(weights) => {
            let HouseWeights { row, column, in_box, full } = *weights;
            let weigh = |houses: [u32; 3]| {
                let weighted = houses.iter().zip([row, column, in_box]);
                weighted.map(|(houses, weight)| u64::from(*houses) * u64::from(weight)).sum::<u64>()
            };
            let all = weigh([judged.side; 3]) + u64::from(full);
            judged.right_houses.map_or(Points::ZERO, |right| points.share(weigh(right), all))
        }
    }
}

/// Which try counts.
fn counting(which: Which, tries: &[Try], scores: &[TryScore]) -> Option<usize> {
    let standing = || (0..scores.len()).filter(|i| scores[*i].standing == Standing::Stands);
    match which {
        Which::First => standing().next(),
        // An earlier one that is handed in again takes the place of one that is worth less; so it never costs.
        Which::Last => (0..scores.len()).fold(None, |counts, i| match scores[i].standing {
            Standing::Stands => Some(i),
            Standing::SameBytes(_)
                if counts.is_some_and(|counts: usize| scores[i].credit > scores[counts].credit) =>
            {
                Some(i)
            }
            _ => counts,
        }),
        Which::Best => standing().rev().max_by_key(|i| scores[*i].credit),
        Which::FirstCorrect => {
            let mut correct = standing().filter(|i| is_correct(&tries[*i]));
            correct.next().or_else(|| standing().next_back())
        }
    }
}

fn is_correct(entry: &Try) -> bool {
    matches!(entry.mark, TryMark::Judged(judged) if judged.correct)
}

/// The bonus for the time between the last hand-in that counts and the end.
fn bonus_of(
    bonus: &Bonus,
    clock: &Clock,
    puzzles: &[Worth],
    scores: &[PuzzleScore],
    tries: &[Tries],
) -> Points {
    let (mut missed, mut near, mut last_ms) = (0, true, None);
    for (puzzle, score) in scores.iter().enumerate() {
        if puzzles[puzzle].void.is_some() {
            continue;
        }
        let counts = score.counts.and_then(|counts| tries.get(puzzle)?.tries.get(counts));
        match counts {
            Some(entry) => {
                if !is_correct(entry) {
                    missed += 1;
                    near &= is_near(bonus.near_miss.as_ref(), entry);
                }
                // Where nobody knows when it was, nothing was left.
                let Some(at_ms) = entry.at_ms else { return Points::ZERO };
                last_ms = last_ms.max(Some(at_ms));
            }
            None => {
                missed += 1;
                near = false;
            }
        }
    }
    // Somebody who hands in nothing at all has saved no time.
    let Some(last_ms) = last_ms else { return Points::ZERO };
    let minutes = u64::try_from(clock.left_ms(last_ms)).unwrap_or(0) / 60_000;
    let whole = bonus.per_full_minute.times(minutes);
    match &bonus.near_miss {
        _ if missed == 0 || !bonus.needs_all_correct => whole,
        Some(near_miss) if near && missed <= near_miss.puzzles_max => {
            whole.percent(near_miss.bonus_percent)
        }
        _ => Points::ZERO,
    }
}

fn is_near(near_miss: Option<&NearMiss>, entry: &Try) -> bool {
    match (near_miss, entry.mark) {
        (Some(near_miss), TryMark::Judged(judged)) => {
            judged.faulty_cells().is_some_and(|faulty| faulty <= near_miss.wrong_cells_max)
        }
        _ => false,
    }
}

/// What overtime costs: once, by the last hand-in that stands in the time of grace. One that a ruling accepts
/// costs nothing.
fn overtime_penalty(
    clock: &Clock,
    puzzles: &[Worth],
    scores: &[PuzzleScore],
    tries: &[Tries],
) -> Points {
    let LateRule::Grace(grace) = clock.late else { return Points::ZERO };
    let mut over_ms = 0;
    for ((worth, score), tries) in puzzles.iter().zip(scores).zip(tries) {
        for (entry, score) in tries.tries.iter().zip(&score.tries) {
            let costs = score.standing == Standing::Stands
                && score.in_time == InTime::Grace
                && entry.ruled != Some(LateRuling::Accept)
                && worth.void.is_none();
            if let Some(at_ms) = entry.at_ms.filter(|_| costs) {
                over_ms = over_ms.max(clock.left_ms(at_ms).saturating_neg());
            }
        }
    }
    let minutes = u64::try_from(over_ms).unwrap_or(0).div_ceil(60_000);
    grace.penalty_per_started_minute.times(minutes)
}
