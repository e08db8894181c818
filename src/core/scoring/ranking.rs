//! Ranks: from totals to an order, with ties that are shared.

use super::Points;
use super::round::{Gain, RoundScore};
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::fmt;
use core::str::FromStr;

/// What decides between entrants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TieBreak {
    /// More points.
    Points,
    /// Less time until the last gain; no gain comes last.
    LastGain,
    /// The better best rank in a round, then the better second best, and so on.
    BestRound,
}

impl TieBreak {
    /// All of them.
    pub const ALL: [TieBreak; 3] = [TieBreak::Points, TieBreak::LastGain, TieBreak::BestRound];

    /// The word, as it stands in the definition of an event.
    pub const fn word(self) -> &'static str {
        match self {
            TieBreak::Points => "points",
            TieBreak::LastGain => "last-gain",
            TieBreak::BestRound => "best-round",
        }
    }
}

/// The word is not that of a [`TieBreak`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTieBreak;

impl fmt::Display for UnknownTieBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of points, last-gain and best-round")
    }
}

impl core::error::Error for UnknownTieBreak {}

impl FromStr for TieBreak {
    type Err = UnknownTieBreak;

    fn from_str(word: &str) -> Result<TieBreak, UnknownTieBreak> {
        TieBreak::ALL.into_iter().find(|known| known.word() == word).ok_or(UnknownTieBreak)
    }
}

/// Where an entrant stands in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listing {
    /// With a rank.
    Ranked,
    /// At the place of their points, but without a rank, which goes to the next one.
    Unofficial,
    /// At the end, without a rank: who did not start, withdrew or was disqualified.
    Out,
}

/// What an entrant is ranked by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Where they stand.
    pub listing: Listing,
    /// Their category, if they have one.
    pub group: Option<u32>,
    /// Their total.
    pub total: Points,
    /// Time until the last gain, in milliseconds; over several rounds added up.
    pub gain_ms: Option<i64>,
    /// Their ranks in rounds, best first.
    pub round_ranks: Vec<u32>,
}

/// The place of an entrant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which contender, as an index.
    pub contender: usize,
    /// The rank, from 1, if they have one.
    pub rank: Option<u32>,
    /// The rank among those of the same category.
    pub group_rank: Option<u32>,
    /// The total that they are ranked by.
    pub total: Points,
}

/// Puts contenders in their order. What is equal by all of `break_by` shares a rank, and the next one skips as
/// many: 1, 2, 2, 4. Equal contenders keep the order in which they are given.
///
/// ```
/// use gridmark_core::scoring::{Contender, Listing, Points, TieBreak, rank};
/// let contender = |total| Contender {
///     listing: Listing::Ranked, group: None, total: Points::whole(total), gain_ms: None,
///     round_ranks: vec![],
/// };
/// let places = rank(&[7, 9, 5, 7].map(contender), &[TieBreak::Points]);
/// let ranks: Vec<_> = places.iter().map(|place| (place.contender, place.rank)).collect();
/// assert_eq!(ranks, [(1, Some(1)), (0, Some(2)), (3, Some(2)), (2, Some(4))]);
/// ```
pub fn rank(contenders: &[Contender], break_by: &[TieBreak]) -> Vec<Place> {
    rank_again(contenders, break_by, &[])
}

/// The same, where `before` holds the places of the same contenders at an earlier time: since then little has
/// changed, so it takes little time.
pub fn rank_again(contenders: &[Contender], break_by: &[TieBreak], before: &[Place]) -> Vec<Place> {
    let compare = |a: &Contender, b: &Contender| {
        break_by.iter().fold(Ordering::Equal, |known, by| known.then_with(|| by.compare(a, b)))
    };
    let mut order: Vec<usize> = match before.len() == contenders.len() {
        true => before.iter().map(|place| place.contender).collect(),
        false => (0..contenders.len()).collect(),
    };
    order.sort_by(|i, j| {
        let [a, b] = [&contenders[*i], &contenders[*j]];
        let is_out = |one: &Contender| one.listing == Listing::Out;
        is_out(a).cmp(&is_out(b)).then_with(|| compare(a, b)).then_with(|| i.cmp(j))
    });
    let mut places: Vec<Place> = order
        .into_iter()
        .map(|contender| {
            let total = contenders[contender].total;
            Place { contender, rank: None, group_rank: None, total }
        })
        .collect();
    let ranked: Vec<usize> = (0..places.len())
        .filter(|i| contenders[places[*i].contender].listing == Listing::Ranked)
        .collect();
    let is_tied = |a: usize, b: usize| compare(&contenders[a], &contenders[b]).is_eq();
    let mut last: Option<usize> = None;
    for (number, &i) in (1..).zip(&ranked) {
        let before = last.filter(|before| is_tied(places[*before].contender, places[i].contender));
        places[i].rank = before.map_or(Some(number), |before| places[before].rank);
        last = Some(i);
    }
    let mut of_group: Vec<(u32, usize)> =
        ranked.iter().filter_map(|i| Some((contenders[places[*i].contender].group?, *i))).collect();
    of_group.sort_by_key(|(group, _)| *group);
    for mates in of_group.chunk_by(|(a, _), (b, _)| a == b) {
        let mut last: Option<usize> = None;
        for (number, &(_, i)) in (1..).zip(mates) {
            let before =
                last.filter(|before| is_tied(places[*before].contender, places[i].contender));
            places[i].group_rank = before.map_or(Some(number), |before| places[before].group_rank);
            last = Some(i);
        }
    }
    places
}

impl TieBreak {
    /// The better one is less.
    fn compare(self, a: &Contender, b: &Contender) -> Ordering {
        match self {
            TieBreak::Points => Reverse(a.total).cmp(&Reverse(b.total)),
            TieBreak::LastGain => {
                let key = |contender: &Contender| (contender.gain_ms.is_none(), contender.gain_ms);
                key(a).cmp(&key(b))
            }
            // Somebody with a further rank is better than somebody with none.
            TieBreak::BestRound => {
                let [mut a, mut b] = [&a.round_ranks, &b.round_ranks].map(|ranks| ranks.iter());
                loop {
                    match (a.next(), b.next()) {
                        (None, None) => return Ordering::Equal,
                        (Some(_), None) => return Ordering::Less,
                        (None, Some(_)) => return Ordering::Greater,
                        (Some(a), Some(b)) if a == b => {}
                        (Some(a), Some(b)) => return a.cmp(b),
                    }
                }
            }
        }
    }
}

/// How rounds make up the result of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overall {
    /// Their totals are added up.
    Sum,
    /// Ranks earn points, and the best results are added up.
    Season {
        /// What the first rank earns.
        first: Points,
        /// How much less each further rank earns, down to nothing.
        step: Points,
        /// How many results are added up; all if it is `None`.
        take_best: Option<usize>,
    },
}

/// An entrant's result in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundResult {
    /// The total.
    pub total: Points,
    /// The rank, if there is one.
    pub rank: Option<u32>,
    /// The last time at which the score grew.
    pub last_gain: Option<Gain>,
}

impl RoundResult {
    /// The result of this score with this rank.
    pub fn of(score: &RoundScore, rank: Option<u32>) -> RoundResult {
        RoundResult { total: score.total, rank, last_gain: score.last_gain }
    }
}

impl Overall {
    /// The total of an entrant over these rounds.
    ///
    /// ```
    /// use gridmark_core::scoring::{Overall, Points, RoundResult};
    /// let season = Overall::Season {
    ///     first: Points::whole(200), step: Points::whole(1), take_best: Some(2),
    /// };
    /// let results = [Some(3), None, Some(1), Some(10)].map(|rank| RoundResult {
    ///     total: Points::ZERO, rank, last_gain: None,
    /// });
    /// assert_eq!(season.total(&results), Points::whole(200 + 198));
    /// ```
    pub fn total(self, results: &[RoundResult]) -> Points {
        match self {
            Overall::Sum => results.iter().map(|result| result.total).sum(),
            Overall::Season { first, step, take_best } => {
                let ranks = results.iter().filter_map(|result| result.rank);
                let mut earned: Vec<Points> = ranks
                    .map(|rank| (first - step.times(u64::from(rank) - 1)).max(Points::ZERO))
                    .collect();
                earned.sort_unstable_by_key(|points| Reverse(*points));
                earned.into_iter().take(take_best.unwrap_or(usize::MAX)).sum()
            }
        }
    }

    /// What an entrant with these results is ranked by in the event.
    pub fn contender(
        self,
        listing: Listing,
        group: Option<u32>,
        results: &[RoundResult],
    ) -> Contender {
        let gains = results.iter().filter_map(|result| result.last_gain);
        let gain_ms = gains.map(|gain| gain.elapsed_ms).reduce(i64::saturating_add);
        let mut round_ranks: Vec<u32> = results.iter().filter_map(|result| result.rank).collect();
        round_ranks.sort_unstable();
        Contender { listing, group, total: self.total(results), gain_ms, round_ranks }
    }
}
