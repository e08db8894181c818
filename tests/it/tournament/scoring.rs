//! Standings of random events, compared with a naive scorer that knows nothing of how they are computed: it goes
//! through the rules one by one, for each cell of each table, and never remembers anything.

use super::kit::LINE;
use crate::kit::random::{Random, is_long};
use gridmark::event::{Event, Folder, Source, Standings, outputs};
use gridmark::model::ruling::{CHAIN_START, Draft, Ruling};
use gridmark::model::submission::{
    Doubt, Entry, HandedIn, Judged, Judgement, Marked, Name, Outcome,
};
use gridmark_core::scoring::{self, TryMark};
use std::collections::HashMap;
use std::sync::Arc;

/// How many random events are scored.
const EVENTS: [u64; 2] = [1_000, 20_000];

const START: i64 = 1_790_000_000_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// A policy as it is written, and what the naive scorer knows of it.
#[derive(Clone, Debug)]
struct Policy {
    credit: &'static str,
    which: &'static str,
    percent: [i64; 3],
    penalty: i64,
    bonus: Option<(i64, bool, bool)>,
    late: &'static str,
    round_to: i64,
}

#[derive(Clone, Debug)]
struct Puzzle {
    points: i64,
}

#[derive(Clone, Debug)]
struct Round {
    start: i64,
    minutes: i64,
    sheet: bool,
    policy: Policy,
    puzzles: Vec<Puzzle>,
    /// By entrant: another start, extra minutes, when they finished.
    times: HashMap<usize, (Option<i64>, i64, Option<i64>)>,
}

#[derive(Clone, Debug)]
struct Naive {
    statuses: Vec<&'static str>,
    groups: Vec<&'static str>,
    rounds: Vec<Round>,
    season: bool,
    /// The newest judgement of each submission.
    tries: Vec<Try>,
    rulings: Vec<Ruled>,
}

#[derive(Clone, Debug)]
struct Try {
    submission: i64,
    entrant: usize,
    round: usize,
    puzzle: usize,
    at: i64,
    received: i64,
    doubt: bool,
    bytes: u64,
    mark: TryMark,
}

#[derive(Clone, Debug)]
enum Ruled {
    Points(usize, usize, Option<usize>, bool, i64),
    Verdict(i64, bool),
    Time(i64, i64),
    Late(i64, bool),
    Void(usize, usize, bool),
    Status(usize, &'static str),
    Exclude(usize, i64, i64),
    Undo(usize),
}

/// What the naive scorer says of an entrant.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    rank: String,
    group_rank: String,
    entrant: usize,
    status: &'static str,
    total: i64,
    bonus: i64,
    penalty: i64,
    parts: Vec<Option<i64>>,
}

fn down(points: i64, step: i64) -> i64 {
    if step > 0 { points.div_euclid(step) * step } else { points }
}

impl Naive {
    fn stands(&self, number: usize) -> bool {
        // Undone by one that itself stands.
        !(number + 1..self.rulings.len()).any(|later| {
            matches!(self.rulings[later], Ruled::Undo(of) if of == number) && self.stands(later)
        })
    }

    fn in_force(&self) -> Vec<&Ruled> {
        (0..self.rulings.len()).filter(|n| self.stands(*n)).map(|n| &self.rulings[n]).collect()
    }

    fn status(&self, entrant: usize) -> &'static str {
        let ruled = self.in_force().into_iter().rev().find_map(|ruled| match ruled {
            Ruled::Status(of, status) if *of == entrant => Some(*status),
            _ => None,
        });
        ruled.unwrap_or(self.statuses[entrant])
    }

    fn void(&self, round: usize, puzzle: usize) -> Option<bool> {
        self.in_force().into_iter().rev().find_map(|ruled| match ruled {
            Ruled::Void(r, p, full) if (*r, *p) == (round, puzzle) => Some(*full),
            _ => None,
        })
    }

    /// Minute by millisecond: how much of the round had passed at a moment.
    fn elapsed(&self, round: usize, entrant: usize, at: i64) -> i64 {
        let definition = &self.rounds[round];
        let start =
            definition.times.get(&entrant).and_then(|times| times.0).unwrap_or(definition.start);
        if at <= start {
            return at - start;
        }
        let mut cuts: Vec<(i64, i64)> = Vec::new();
        for ruled in self.in_force() {
            if let Ruled::Exclude(of, from, to) = ruled
                && *of == round
            {
                cuts.push(((*from).max(start), (*to).min(at)));
            }
        }
        // Every boundary splits the time; a piece counts if no cut holds it.
        let mut bounds = vec![start, at];
        bounds.extend(cuts.iter().flat_map(|cut| [cut.0, cut.1]).filter(|b| *b > start && *b < at));
        bounds.sort_unstable();
        bounds
            .windows(2)
            .filter(|piece| !cuts.iter().any(|cut| cut.0 <= piece[0] && piece[1] <= cut.1))
            .map(|piece| piece[1] - piece[0])
            .sum()
    }

    fn left(&self, round: usize, entrant: usize, at: i64) -> i64 {
        let definition = &self.rounds[round];
        let extra = definition.times.get(&entrant).map_or(0, |times| times.1);
        (definition.minutes + extra) * MINUTE - self.elapsed(round, entrant, at)
    }

    fn in_time_at(&self, round: usize, entrant: usize, at: i64) -> &'static str {
        let over = -self.left(round, entrant, at);
        let definition = &self.rounds[round];
        let start =
            definition.times.get(&entrant).and_then(|times| times.0).unwrap_or(definition.start);
        if at < start {
            "early"
        } else if over <= 0 {
            "yes"
        } else if definition.policy.late == "grace" && over <= 5 * MINUTE {
            "grace"
        } else {
            "late"
        }
    }

    /// When a try was handed in for the score, and how late it can have been.
    fn moment(&self, one: &Try) -> (Option<i64>, Option<i64>) {
        let ruled = self.in_force().into_iter().rev().find_map(|ruled| match ruled {
            Ruled::Time(submission, at) if *submission == one.submission => Some(*at),
            _ => None,
        });
        let definition = &self.rounds[one.round];
        match ruled {
            Some(at) => (Some(at), None),
            None if definition.sheet => {
                (definition.times.get(&one.entrant).and_then(|times| times.2), None)
            }
            None => (Some(one.at), one.doubt.then_some(one.received)),
        }
    }

    fn in_time(&self, one: &Try) -> &'static str {
        match self.moment(one) {
            (None, _) => "unknown",
            (Some(at), latest) => {
                let of = |at| self.in_time_at(one.round, one.entrant, at);
                if latest.is_some_and(|latest| of(latest.max(at)) != of(at)) {
                    "unknown"
                } else {
                    of(at)
                }
            }
        }
    }

    fn late_ruling(&self, one: &Try) -> Option<bool> {
        self.in_force().into_iter().rev().find_map(|ruled| match ruled {
            Ruled::Late(submission, accept) if *submission == one.submission => Some(*accept),
            _ => None,
        })
    }

    /// The judged mark of a try by rulings: whether correct, cells, blank, wrong.
    fn judged(&self, one: &Try) -> Option<(bool, i64, i64, Option<i64>)> {
        let ruled = self.in_force().into_iter().rev().find_map(|ruled| match ruled {
            Ruled::Verdict(submission, correct) if *submission == one.submission => Some(*correct),
            _ => None,
        });
        let own = match one.mark {
            TryMark::Judged(judged) => Some((
                judged.correct,
                i64::from(judged.cells),
                i64::from(judged.blank_cells),
                judged.wrong_cells.map(i64::from),
            )),
            _ => None,
        };
        match (ruled, own) {
            (None, own) => own,
            (Some(true), _) => Some((true, 51, 0, Some(0))),
            (Some(false), Some((true, cells, blank, _))) => Some((false, cells, blank, None)),
            (Some(false), Some(own)) => Some(own),
            (Some(false), None) => Some((false, 51, 0, None)),
        }
    }

    /// The tries of an entrant for a puzzle, in their order.
    fn tries_of(&self, round: usize, puzzle: usize, entrant: usize) -> Vec<&Try> {
        let of = |one: &&Try| (one.round, one.puzzle, one.entrant) == (round, puzzle, entrant);
        let mut tries: Vec<&Try> = self.tries.iter().filter(of).collect();
        tries.sort_by_key(|one| (one.at, one.submission));
        tries
    }

    fn standing(&self, tries: &[&Try], number: usize) -> bool {
        self.stands_alone(tries, number) && self.same_as(tries, number).is_none()
    }

    /// The earlier one that stands and has the same bytes.
    fn same_as(&self, tries: &[&Try], number: usize) -> Option<usize> {
        let is_same = |earlier: &usize| {
            tries[*earlier].bytes == tries[number].bytes && self.standing(tries, *earlier)
        };
        (0..number).find(is_same)
    }

    /// Whether it stands, whatever else was handed in.
    fn stands_alone(&self, tries: &[&Try], number: usize) -> bool {
        let one = tries[number];
        if self.late_ruling(one) == Some(false) {
            return false;
        }
        let Some((correct, cells, blank, _)) = self.judged(one) else { return false };
        if !correct && cells > 0 && blank >= cells {
            return false;
        }
        if self.late_ruling(one) != Some(true) {
            let late = self.rounds[one.round].policy.late;
            match self.in_time(one) {
                "early" => return false,
                "late" if late != "accept" => return false,
                _ => {}
            }
        }
        true
    }

    fn credit(&self, tries: &[&Try], number: usize) -> i64 {
        let one = tries[number];
        let definition = &self.rounds[one.round];
        let points = definition.puzzles[one.puzzle].points;
        if !self.stands_alone(tries, number) {
            return 0;
        }
        if let Some(first) = self.same_as(tries, number) {
            return self.credit(tries, first);
        }
        let (correct, cells, blank, wrong) = self.judged(one).unwrap();
        let wrong_before = (0..number).filter(|n| self.is_wrong(tries, *n)).count();
        let credit = match definition.policy.credit {
            "all-or-nothing" => points * i64::from(correct),
            "ladder" if correct => {
                let percent = definition.policy.percent[wrong_before.min(2)];
                (points * percent).div_euclid(100)
            }
            "ladder" => 0,
            "per-cell" if correct => points,
            "per-cell" => {
                let right = wrong.map_or(0, |wrong| cells - wrong - blank);
                if cells == 0 { 0 } else { (points * right).div_euclid(cells) }
            }
            other => panic!("{other}"),
        };
        down(credit, definition.policy.round_to)
    }

    fn is_wrong(&self, tries: &[&Try], number: usize) -> bool {
        let one = tries[number];
        self.standing(tries, number)
            && !self.judged(one).unwrap().0
            && self.void(one.round, one.puzzle).is_none()
    }

    fn counts(&self, tries: &[&Try], round: usize) -> Option<usize> {
        let standing: Vec<usize> = (0..tries.len()).filter(|n| self.standing(tries, *n)).collect();
        match self.rounds[round].policy.which {
            "first" => standing.first().copied(),
            "last" => {
                let mut counts = None;
                for n in (0..tries.len()).filter(|n| self.stands_alone(tries, *n)) {
                    let is_better = |counts| self.credit(tries, n) > self.credit(tries, counts);
                    if self.standing(tries, n) || counts.is_some_and(is_better) {
                        counts = Some(n);
                    }
                }
                counts
            }
            "best" => {
                let best = standing.iter().map(|n| self.credit(tries, *n)).max()?;
                standing.into_iter().find(|n| self.credit(tries, *n) == best)
            }
            "first-correct" => {
                let correct = |n: &&usize| self.judged(tries[**n]).unwrap().0;
                standing.iter().find(correct).or(standing.last()).copied()
            }
            other => panic!("{other}"),
        }
    }

    fn adjusted(&self, points: i64, entrant: usize, round: usize, puzzle: Option<usize>) -> i64 {
        self.in_force().into_iter().fold(points, |points, ruled| match ruled {
            Ruled::Points(e, r, p, set, value) if (*e, *r, *p) == (entrant, round, puzzle) => {
                if *set {
                    *value
                } else {
                    points + value
                }
            }
            _ => points,
        })
    }

    /// Points for a puzzle, if there are any tries, changes, or it is void.
    fn part(&self, round: usize, puzzle: usize, entrant: usize) -> (i64, bool) {
        let tries = self.tries_of(round, puzzle, entrant);
        let worth = self.rounds[round].puzzles[puzzle].points;
        let earned = match self.void(round, puzzle) {
            Some(true) => worth,
            Some(false) => 0,
            None => self.counts(&tries, round).map_or(0, |n| self.credit(&tries, n)),
        };
        let is_changed = self.in_force().into_iter().any(|ruled| {
            matches!(ruled, Ruled::Points(e, r, Some(p), ..) if (*e, *r, *p) == (entrant, round, puzzle))
        });
        let has = !tries.is_empty() || is_changed || self.void(round, puzzle).is_some();
        (self.adjusted(earned, entrant, round, Some(puzzle)), has)
    }

    fn bonus(&self, round: usize, entrant: usize) -> i64 {
        let definition = &self.rounds[round];
        let Some((per_minute, needs_all, near)) = definition.policy.bonus else { return 0 };
        let (mut missed, mut all_near, mut last, mut none) = (0, true, None, false);
        for puzzle in 0..definition.puzzles.len() {
            if self.void(round, puzzle).is_some() {
                continue;
            }
            let tries = self.tries_of(round, puzzle, entrant);
            match self.counts(&tries, round) {
                None => {
                    missed += 1;
                    all_near = false;
                }
                Some(n) => {
                    let (correct, _, blank, wrong) = self.judged(tries[n]).unwrap();
                    if !correct {
                        missed += 1;
                        all_near &= near && wrong.is_some_and(|wrong| wrong + blank <= 2);
                    }
                    match self.moment(tries[n]).0 {
                        Some(at) => last = last.max(Some(at)),
                        None => none = true,
                    }
                }
            }
        }
        let (Some(last), false) = (last, none) else { return 0 };
        let minutes = self.left(round, entrant, last).max(0) / MINUTE;
        let whole = minutes * per_minute;
        let bonus = if missed == 0 || !needs_all {
            whole
        } else if near && all_near && missed <= 1 {
            (whole * 75).div_euclid(100)
        } else {
            0
        };
        down(bonus, definition.policy.round_to)
    }

    fn penalty(&self, round: usize, entrant: usize) -> i64 {
        let definition = &self.rounds[round];
        let (mut wrong, mut over) = (0, 0);
        for puzzle in 0..definition.puzzles.len() {
            let tries = self.tries_of(round, puzzle, entrant);
            for n in 0..tries.len() {
                wrong += i64::from(self.is_wrong(&tries, n));
                let costs = definition.policy.late == "grace"
                    && self.standing(&tries, n)
                    && self.in_time(tries[n]) == "grace"
                    && self.late_ruling(tries[n]) != Some(true)
                    && self.void(round, puzzle).is_none();
                if costs && let Some(at) = self.moment(tries[n]).0 {
                    over = over.max(-self.left(round, entrant, at));
                }
            }
        }
        wrong * definition.policy.penalty + (over + MINUTE - 1) / MINUTE * 5_000
    }

    fn total(&self, round: usize, entrant: usize) -> i64 {
        let puzzles = 0..self.rounds[round].puzzles.len();
        let points: i64 = puzzles.map(|puzzle| self.part(round, puzzle, entrant).0).sum();
        let total = points + self.bonus(round, entrant) - self.penalty(round, entrant);
        self.adjusted(total.max(0), entrant, round, None)
    }

    /// Whether blank, unread or foreign ones aside, it is time that decides.
    fn is_judged(&self, one: &Try) -> bool {
        self.judged(one).is_some_and(|(correct, cells, blank, _)| correct || blank < cells)
    }

    /// The cells of a try in the file of entries.
    fn entry(&self, tries: &[&Try], number: usize) -> Vec<String> {
        let one = tries[number];
        let counts = self.counts(tries, one.round) == Some(number);
        let judged = self.judged(one);
        let verdict = match (judged, one.mark) {
            (Some((true, ..)), _) => "correct",
            (Some(_), _) | (None, TryMark::Foreign) => "wrong",
            (None, TryMark::Unreadable) => "unreadable",
            (None, _) => "failed",
        };
        let count = |count: Option<i64>| count.map_or_else(String::new, |count| count.to_string());
        vec![
            format!("e{}", one.entrant),
            format!("q{}", one.puzzle),
            (number + 1).to_string(),
            format!("s{}", one.submission),
            self.in_time(one).into(),
            verdict.into(),
            count(judged.and_then(|judged| judged.3)),
            count(judged.map(|judged| judged.2)),
            if counts { "yes" } else { "no" }.into(),
            if counts {
                shown(self.part(one.round, one.puzzle, one.entrant).0)
            } else {
                String::new()
            },
        ]
    }

    fn gain(&self, round: usize, entrant: usize) -> Option<(i64, i64)> {
        let puzzles = 0..self.rounds[round].puzzles.len();
        let gains = puzzles.filter_map(|puzzle| {
            let tries = self.tries_of(round, puzzle, entrant);
            let n = self.counts(&tries, round)?;
            let earns =
                self.void(round, puzzle).is_none() && self.part(round, puzzle, entrant).0 > 0;
            let at = self.moment(tries[n]).0.filter(|_| earns)?;
            Some((at, self.elapsed(round, entrant, at)))
        });
        gains.max_by_key(|gain| gain.0)
    }

    fn takes_part(&self, round: usize, entrant: usize) -> bool {
        let puzzles = 0..self.rounds[round].puzzles.len();
        puzzles.into_iter().any(|puzzle| self.part(round, puzzle, entrant).1)
            || self.total(round, entrant) != 0
    }

    /// By total and then time, both better is smaller; ranks of those who have one.
    fn ranks(
        &self,
        keys: &[(i64, Option<i64>)],
        among: impl Fn(usize) -> bool,
    ) -> Vec<Option<usize>> {
        let key = |e: usize| (-keys[e].0, keys[e].1.is_none(), keys[e].1);
        (0..keys.len())
            .map(|e| {
                let ranked = |other: &usize| self.status(*other) == "in" && among(*other);
                ranked(&e).then(|| {
                    1 + (0..keys.len()).filter(ranked).filter(|o| key(*o) < key(e)).count()
                })
            })
            .collect()
    }

    fn lines(&self, keys: &[(i64, Option<i64>)], line: impl Fn(usize) -> Line) -> Vec<Line> {
        let ranks = self.ranks(keys, |_| true);
        let mut order: Vec<usize> = (0..keys.len()).collect();
        let is_out = |e: usize| ["dns", "dq", "withdrawn"].contains(&self.status(e));
        order.sort_by_key(|e| (is_out(*e), -keys[*e].0, keys[*e].1.is_none(), keys[*e].1, *e));
        let shown = |rank: Option<usize>| rank.map_or_else(String::new, |rank| rank.to_string());
        let lines = order.into_iter().map(|e| {
            let group = self.groups[e];
            let mates = self.ranks(keys, |o| !group.is_empty() && self.groups[o] == group);
            Line { rank: shown(ranks[e]), group_rank: shown(mates[e]), ..line(e) }
        });
        lines.collect()
    }

    fn round(&self, round: usize) -> Vec<Line> {
        let count = self.statuses.len();
        let keys: Vec<_> = (0..count)
            .map(|e| (self.total(round, e), self.gain(round, e).map(|gain| gain.1)))
            .collect();
        self.lines(&keys, |e| Line {
            rank: String::new(),
            group_rank: String::new(),
            entrant: e,
            status: self.status(e),
            total: keys[e].0,
            bonus: self.bonus(round, e),
            penalty: self.penalty(round, e),
            parts: (0..self.rounds[round].puzzles.len())
                .map(|puzzle| {
                    let (points, has) = self.part(round, puzzle, e);
                    has.then_some(points)
                })
                .collect(),
        })
    }

    fn overall(&self) -> Vec<Line> {
        let count = self.statuses.len();
        let rounds = 0..self.rounds.len();
        let tables: Vec<Vec<Line>> = rounds.clone().map(|round| self.round(round)).collect();
        let of =
            |round: usize, e: usize| tables[round].iter().find(|line| line.entrant == e).unwrap();
        let keys: Vec<_> = (0..count)
            .map(|e| {
                let total = if self.season {
                    let mut earned: Vec<i64> = rounds
                        .clone()
                        .filter(|round| self.takes_part(*round, e))
                        .filter_map(|round| of(round, e).rank.parse::<i64>().ok())
                        .map(|rank| (10_000 - (rank - 1) * 3_000).max(0))
                        .collect();
                    earned.sort_unstable_by_key(|earned| -earned);
                    earned.into_iter().take(1).sum()
                } else {
                    rounds.clone().map(|round| of(round, e).total).sum()
                };
                let gains: Vec<i64> = rounds
                    .clone()
                    .filter_map(|round| self.gain(round, e))
                    .map(|gain| gain.1)
                    .collect();
                (total, (!gains.is_empty()).then(|| gains.iter().sum()))
            })
            .collect();
        self.lines(&keys, |e| Line {
            rank: String::new(),
            group_rank: String::new(),
            entrant: e,
            status: self.status(e),
            total: keys[e].0,
            bonus: rounds.clone().map(|round| of(round, e).bonus).sum(),
            penalty: rounds.clone().map(|round| of(round, e).penalty).sum(),
            parts: rounds
                .clone()
                .map(|round| self.takes_part(round, e).then(|| of(round, e).total))
                .collect(),
        })
    }
}

fn shown(milli: i64) -> String {
    let (sign, milli) = (if milli < 0 { "-" } else { "" }, milli.abs());
    let text = format!("{sign}{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn moment(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).unwrap().to_string()
}

/// A random event, as the naive scorer knows it.
fn random(random: &mut Random) -> Naive {
    let entrants = 1 + random.below(6) as usize;
    let statuses =
        (0..entrants).map(|_| *random.pick(&["in", "in", "in", "in", "unofficial", "dns"]));
    let statuses = statuses.collect();
    let groups = (0..entrants).map(|_| *random.pick(&["", "open", "u18"])).collect();
    let rounds: Vec<Round> = (0..1 + random.below(2))
        .map(|number| {
            let start = START + number as i64 * 10 * HOUR;
            let sheet = random.below(4) == 0;
            let mut times = HashMap::new();
            for entrant in 0..entrants {
                if random.below(3) == 0 {
                    let own =
                        (random.below(2) == 0).then(|| start + random.below(20) as i64 * MINUTE);
                    let finished = (random.below(2) == 0)
                        .then(|| start + random.below(80) as i64 * MINUTE + 500);
                    times.insert(entrant, (own, random.below(3) as i64 * 5, finished));
                }
            }
            let policy = Policy {
                credit: random.pick::<&str>(&["all-or-nothing", "ladder", "per-cell"]),
                which: random.pick::<&str>(&["first", "last", "best", "first-correct"]),
                percent: [100, 70, 33],
                penalty: *random.pick(&[0, 0, 5_000, 1_500]),
                bonus: (random.below(2) == 0).then(|| {
                    let needs_all = random.below(3) > 0;
                    (10_000, needs_all, needs_all && random.below(2) == 0)
                }),
                late: random.pick::<&str>(&["refuse", "accept", "grace"]),
                round_to: *random.pick(&[1_000, 100, 1]),
            };
            let puzzles = (0..1 + random.below(3))
                // Only what somebody could earn.
                .map(|_| down(*random.pick(&[10_000, 35_000, 42_500]), policy.round_to))
                .map(|points| Puzzle { points })
                .collect();
            Round { start, minutes: 60, sheet, policy, puzzles, times }
        })
        .collect();
    let mut tries = Vec::new();
    for submission in 1..=random.below(25) as i64 {
        let round = random.below(rounds.len() as u64) as usize;
        let puzzle = random.below(rounds[round].puzzles.len() as u64) as usize;
        let judged = |correct, blank, wrong| {
            TryMark::Judged(scoring::Judged {
                correct,
                cells: 51,
                blank_cells: blank,
                wrong_cells: wrong,
                right_houses: None,
                side: 9,
            })
        };
        let mark = match random.below(9) {
            0..4 => TryMark::Judged(scoring::Judged::correct(51, 9)),
            4 => judged(false, 0, Some(1 + random.below(4) as u32)),
            5 => judged(false, 1 + random.below(2) as u32, Some(random.below(3) as u32)),
            6 => judged(false, 51, Some(0)),
            7 => TryMark::Unreadable,
            _ => *random.pick(&[TryMark::Foreign, TryMark::Failed]),
        };
        let at = rounds[round].start
            + (random.below(90) as i64 - 10) * MINUTE
            + *random.pick(&[0, 1, 30_000, 59_999]);
        tries.push(Try {
            submission,
            entrant: random.below(entrants as u64) as usize,
            round,
            puzzle,
            at,
            received: at + random.below(20) as i64 * MINUTE,
            doubt: random.below(5) == 0,
            bytes: random.below(12),
            mark,
        });
    }
    let mut rulings = Vec::new();
    for number in 0..random.below(8) as usize {
        let round = random.below(rounds.len() as u64) as usize;
        let puzzle = random.below(rounds[round].puzzles.len() as u64) as usize;
        let entrant = random.below(entrants as u64) as usize;
        let submission = match tries.is_empty() {
            true => None,
            false => Some(random.pick(&tries).submission),
        };
        let at = rounds[round].start + random.below(70) as i64 * MINUTE;
        let ruled = match (random.below(9), submission) {
            (0, _) => Ruled::Status(
                entrant,
                random.pick::<&str>(&["in", "dq", "withdrawn", "unofficial"]),
            ),
            (1, _) => Ruled::Void(round, puzzle, random.below(2) == 0),
            (2, _) => Ruled::Exclude(round, at, at + (1 + random.below(15) as i64) * MINUTE),
            (3, _) if number > 0 => Ruled::Undo(random.below(number as u64) as usize),
            (4, Some(submission)) => Ruled::Verdict(submission, random.below(2) == 0),
            (5, Some(submission)) => Ruled::Time(submission, at),
            (6, Some(submission)) => Ruled::Late(submission, random.below(2) == 0),
            _ => {
                let of = (random.below(2) == 0).then_some(puzzle);
                let value = random.below(40) as i64 * 500 - 5_000;
                Ruled::Points(entrant, round, of, random.below(2) == 0, value)
            }
        };
        rulings.push(ruled);
    }
    Naive { statuses, groups, rounds, season: random.below(4) == 0, tries, rulings }
}

/// The same event as its folder defines it.
fn folder(naive: &Naive) -> Folder {
    let mut event = "format = 1\nid = \"e\"\nname = \"E\"\ntime_zone = \"UTC\"\n".to_owned();
    event.push_str("[[submissions.pattern]]\n");
    event.push_str("path = '^(?<round>[^/]+)/(?<puzzle>[^/]+)/(?<entrant>[^/.]+)\\.\\w+$'\n");
    event.push_str("[publish]\nfreeze_before_end = \"20m\"\n");
    event.push_str("[ranking]\nbreak_by = [\"points\", \"last-gain\"]\n");
    if naive.season {
        event.push_str("season = { first = 10, step = 3, take_best = 1 }\n");
    }
    let mut roster = "id,name,group,status\n".to_owned();
    for (number, (status, group)) in naive.statuses.iter().zip(&naive.groups).enumerate() {
        roster.push_str(&format!("e{number},Name,{group},{status}\n"));
    }
    let mut policies = String::new();
    let mut files = Vec::new();
    for (number, round) in naive.rounds.iter().enumerate() {
        let Policy { credit, which, percent, penalty, bonus, late, round_to } = &round.policy;
        policies.push_str(&format!("[p{number}]\ncredit = \"{credit}\"\nwhich = \"{which}\"\n"));
        if *credit == "ladder" {
            policies.push_str(&format!("percent = {percent:?}\n"));
        }
        policies.push_str(&format!("wrong_penalty = {}\n", shown(*penalty)));
        policies.push_str(&format!("round_to = {}\n", shown(*round_to)));
        policies.push_str("late = { grace = \"5m\", penalty = 5, per = \"started-minute\" }\n");
        if let Some((per_minute, needs_all, near)) = bonus {
            let needs = if *needs_all { "" } else { ", needs = \"nothing\"" };
            let per = shown(*per_minute);
            policies.push_str(&format!("bonus = {{ per_full_minute = {per}{needs} }}\n"));
            if *near {
                policies.push_str(
                    "near_miss = { puzzles_max = 1, wrong_cells_max = 2, bonus_percent = 75 }\n",
                );
            }
        }
        let timing = if round.sheet { "sheet" } else { "file" };
        let mut text = format!(
            "start = {}\nduration = \"{}m\"\ntiming = \"{timing}\"\npolicy = \"p{number}\"\nlate = \"{late}\"\n",
            moment(round.start),
            round.minutes
        );
        for (place, puzzle) in round.puzzles.iter().enumerate() {
            text.push_str(&format!(
                "[[puzzle]]\nid = \"q{place}\"\npoints = {}\ngivens = \"p.sdm\"\nunique = true\n",
                shown(puzzle.points)
            ));
        }
        files.push((format!("rounds/r{number}/round.toml"), text));
        files.push((format!("rounds/r{number}/p.sdm"), format!("{LINE}\n")));
        let mut times = "entrant,start,extra,finished\n".to_owned();
        let mut sheet: Vec<_> = round.times.iter().collect();
        sheet.sort_unstable_by_key(|(entrant, _)| **entrant);
        for (entrant, (start, extra, finished)) in sheet {
            let of = |at: &Option<i64>| at.map_or_else(String::new, moment);
            times.push_str(&format!("e{entrant},{},{extra}m,{}\n", of(start), of(finished)));
        }
        files.push((format!("rounds/r{number}/times.csv"), times));
    }
    files.push(("event.toml".into(), event));
    files.push(("entrants.csv".into(), roster));
    files.push(("policies.toml".into(), policies));
    Folder::of(files.into_iter().map(|(path, text)| (path, text.into_bytes())))
}

fn judged(one: &Try, change: i64, mark: TryMark) -> Judged {
    let entry = Entry {
        entrant: format!("e{}", one.entrant),
        round: format!("r{}", one.round),
        puzzle: format!("q{}", one.puzzle),
    };
    let marked = Marked {
        case: 1,
        mark,
        fault: String::new(),
        at: String::new(),
        faults: 0,
        detail: String::new(),
    };
    Judged {
        change,
        submission: one.submission,
        name: name_of(one.submission),
        attempt: 1,
        handed_in: HandedIn { at_ms: one.at, doubt: one.doubt.then_some(Doubt::Move) },
        received_at_ms: one.received,
        blake3: Some(*blake3::hash(&one.bytes.to_le_bytes()).as_bytes()),
        cause: None,
        judgement: Judgement {
            definitions: 1,
            entry: Some(entry),
            outcome: Outcome::Marked(marked),
        },
    }
}

fn name_of(submission: i64) -> Name {
    Name::from_bytes(format!("s{submission}").into_bytes())
}

fn ruling(ruled: &Ruled, number: usize, change: i64) -> Ruling {
    let mut draft = Draft { by: "x".into(), reason: "y".into(), ..Draft::default() };
    let mut set = |action: &str, value: Option<String>| {
        draft.action = action.into();
        draft.value = value;
    };
    match ruled {
        Ruled::Points(_, _, _, is_set, value) => {
            let word = if *is_set { "set" } else { "add" };
            set("points", Some(format!("{word} {}", shown(*value))));
        }
        Ruled::Verdict(_, true) => set("verdict", Some("correct".into())),
        Ruled::Verdict(_, false) => set("verdict", Some("wrong".into())),
        Ruled::Time(_, at) => set("time", Some(moment(*at))),
        Ruled::Late(_, true) => set("late", Some("accept".into())),
        Ruled::Late(_, false) => set("late", Some("refuse".into())),
        Ruled::Void(_, _, true) => set("void", Some("full".into())),
        Ruled::Void(_, _, false) => set("void", Some("zero".into())),
        Ruled::Status(_, status) => set("status", Some((*status).into())),
        Ruled::Exclude(_, from, to) => {
            set("exclude", Some(format!("{}/{}", moment(*from), moment(*to))));
        }
        Ruled::Undo(_) => set("undo", None),
    }
    match ruled {
        Ruled::Points(entrant, round, puzzle, ..) => {
            draft.entrant = Some(format!("e{entrant}"));
            draft.round = Some(format!("r{round}"));
            draft.puzzle = puzzle.map(|puzzle| format!("q{puzzle}"));
        }
        Ruled::Verdict(submission, _) | Ruled::Time(submission, _) | Ruled::Late(submission, _) => {
            draft.submission = Some(name_of(*submission));
            draft.attempt = Some(1);
        }
        Ruled::Void(round, puzzle, _) => {
            draft.round = Some(format!("r{round}"));
            draft.puzzle = Some(format!("q{puzzle}"));
        }
        Ruled::Status(entrant, _) => draft.entrant = Some(format!("e{entrant}")),
        Ruled::Exclude(round, ..) => draft.round = Some(format!("r{round}")),
        Ruled::Undo(of) => draft.undoes = Some(*of as i64 + 1),
    }
    Ruling { number: number as i64 + 1, change, at_ms: START, draft, hash: CHAIN_START }
}

/// The cells of a table that the naive scorer knows.
fn cells(csv: &[u8]) -> Vec<Vec<String>> {
    let mut rows = csv::ReaderBuilder::new().has_headers(false).from_reader(csv);
    let records = rows.records().skip(1).map(|record| record.unwrap());
    records
        .map(|record| {
            let known = [0, 1, 2, 5, 6, 7, 8];
            let parts = 11..record.len();
            known.into_iter().chain(parts).map(|place| record[place].to_owned()).collect()
        })
        .collect()
}

/// The cells of a file of entries, without a header, that the naive scorer knows.
fn entry_cells(csv: &[u8]) -> Vec<Vec<String>> {
    let mut rows = csv::ReaderBuilder::new().has_headers(false).from_reader(csv);
    let records = rows.records().map(|record| record.unwrap());
    let known = [0, 1, 2, 3, 7, 8, 9, 10, 15, 16];
    records.map(|record| known.map(|place| record[place].to_owned()).to_vec()).collect()
}

fn expected(lines: &[Line]) -> Vec<Vec<String>> {
    lines
        .iter()
        .map(|line| {
            let mut cells = vec![
                line.rank.clone(),
                line.group_rank.clone(),
                format!("e{}", line.entrant),
                line.status.into(),
                shown(line.total),
                shown(line.bonus),
                shown(line.penalty),
            ];
            cells.extend(line.parts.iter().map(|part| part.map_or_else(String::new, shown)));
            cells
        })
        .collect()
}

/// Promise P10.
#[test]
fn standings_of_random_events_are_those_of_a_naive_scorer_however_they_come_about() {
    let mut numbers = Random::new();
    let now_ms = START + 100 * HOUR;
    for _ in 0..EVENTS[usize::from(is_long())] {
        let naive = random(&mut numbers);
        let source = Source { folder: folder(&naive), keys: Vec::new() };
        let event: Arc<Event> =
            Arc::new(source.event().unwrap_or_else(|wrong| panic!("{wrong:?}")));
        // Once all at the end, and once looked at after each change, in another order, with other marks before.
        let mut scratch = Standings::new(Arc::clone(&event));
        let mut change = 0;
        let mut next = || {
            change += 1;
            change
        };
        naive.tries.iter().for_each(|one| scratch.judged(&judged(one, next(), one.mark)));
        let rulings = naive.rulings.iter().enumerate();
        rulings.clone().for_each(|(n, ruled)| scratch.ruled(ruling(ruled, n, next())));
        scratch.refresh();
        let mut kept = Standings::new(event);
        let mut order: Vec<&Try> = naive.tries.iter().collect();
        (1..order.len()).for_each(|i| order.swap(i, numbers.below(i as u64 + 1) as usize));
        for one in &order {
            kept.judged(&judged(one, next(), *numbers.pick(&[TryMark::Unreadable, one.mark])));
            kept.refresh();
        }
        let mut rulings = rulings.peekable();
        for one in &order {
            if let Some((n, ruled)) = rulings.next_if(|_| numbers.below(2) == 0) {
                kept.ruled(ruling(ruled, n, next()));
            }
            kept.judged(&judged(one, next(), one.mark));
            kept.refresh();
        }
        rulings.for_each(|(n, ruled)| kept.ruled(ruling(ruled, n, next())));
        kept.refresh();
        for standings in [&scratch, &kept] {
            for round in 0..naive.rounds.len() {
                let table = outputs::round(standings, round, &standings.round(round, now_ms));
                assert_eq!(
                    cells(&table),
                    expected(&naive.round(round)),
                    "round {round} of {naive:#?}"
                );
            }
            let table = outputs::standings(standings, &standings.overall(now_ms));
            assert_eq!(cells(&table), expected(&naive.overall()), "{naive:#?}");
        }
        let mut missing = Vec::new();
        let mut early = Vec::new();
        for (round, definition) in naive.rounds.iter().enumerate() {
            let mut entries = Vec::new();
            for entrant in 0..naive.statuses.len() {
                assert_eq!(scratch.tries(round, entrant), kept.tries(round, entrant));
                for puzzle in 0..definition.puzzles.len() {
                    let tries = naive.tries_of(round, puzzle, entrant);
                    for number in 0..tries.len() {
                        entries.push(naive.entry(&tries, number));
                        let waits = naive.in_time(tries[number]) == "early"
                            && naive.late_ruling(tries[number]).is_none()
                            && naive.is_judged(tries[number]);
                        early.extend(waits.then_some(tries[number].submission));
                    }
                }
            }
            let marks = naive.tries.iter().filter_map(|one| {
                match judged(one, 1, one.mark).judgement.outcome {
                    Outcome::Marked(marked) => Some((one.submission, marked)),
                    _ => None,
                }
            });
            let marks: HashMap<i64, Marked> = marks.collect();
            let everybody = 0..naive.statuses.len();
            let csv = outputs::entries(&kept, round, everybody, &marks);
            assert_eq!(entry_cells(&csv), entries, "{naive:#?}");
            for puzzle in 0..definition.puzzles.len() {
                for entrant in 0..naive.statuses.len() {
                    let is_missing = naive.tries_of(round, puzzle, entrant).is_empty()
                        && naive.void(round, puzzle).is_none();
                    missing.extend(is_missing.then(|| {
                        let status = naive.status(entrant);
                        format!("r{round},q{puzzle},e{entrant},Name,{status}")
                    }));
                }
            }
        }
        let found = String::from_utf8(outputs::missing(&kept, now_ms)).unwrap();
        assert_eq!(found.lines().skip(1).collect::<Vec<_>>(), missing, "{naive:#?}");
        early.sort_unstable();
        assert_eq!(kept.held().into_keys().collect::<Vec<_>>(), early, "{naive:#?}");
        assert_eq!(kept.held_count(), early.len());
    }
}

/// What the public sees of an event: the bytes of all files for it.
fn public_files(standings: &Standings, now_ms: i64) -> Vec<Vec<u8>> {
    let mut files = vec![outputs::standings(standings, &standings.public_overall(now_ms))];
    for round in 0..standings.event().rounds.len() {
        if let Some(table) = standings.public_round(round, now_ms) {
            files.push(outputs::round(standings, round, &table));
        }
    }
    files
}

/// Promise P11.
#[test]
fn nothing_that_is_handed_in_or_ruled_during_a_freeze_changes_what_the_public_sees() {
    let mut numbers = Random::new();
    let mut changed = 0;
    for _ in 0..EVENTS[usize::from(is_long())] {
        let mut naive = random(&mut numbers);
        // All rounds at the same time, so that all are frozen.
        naive.rounds.iter_mut().for_each(|round| round.start = START);
        naive.rounds.iter_mut().for_each(|round| round.times.clear());
        let frozen = START + 40 * MINUTE;
        let now_ms = frozen + numbers.below(40) as i64 * MINUTE;
        let event = Source { folder: folder(&naive), keys: Vec::new() }.event().unwrap();
        let event = Arc::new(event);
        let at: Vec<i64> =
            naive.rulings.iter().map(|_| START + numbers.below(80) as i64 * MINUTE).collect();
        let mut at = at;
        at.sort_unstable();
        let standings = |with_later: bool| {
            let mut standings = Standings::new(Arc::clone(&event));
            for one in naive.tries.iter().filter(|one| with_later || one.at <= frozen) {
                standings.judged(&judged(one, one.submission, one.mark));
            }
            for (number, (ruled, at_ms)) in naive.rulings.iter().zip(&at).enumerate() {
                let mut ruling = ruling(ruled, number, 1_000 + number as i64);
                ruling.at_ms = *at_ms;
                // How long a round is is no result.
                let is_open = matches!(ruled, Ruled::Exclude(..) | Ruled::Undo(_));
                if !with_later && *at_ms > frozen && !is_open {
                    let draft = Draft { action: "protest".into(), ..ruling.draft };
                    let (by, reason) = (draft.by, draft.reason);
                    ruling.draft = Draft { action: draft.action, by, reason, ..Draft::default() };
                }
                standings.ruled(ruling);
            }
            standings.refresh();
            standings
        };
        let [all, early] = [true, false].map(standings);
        assert_eq!(public_files(&all, now_ms), public_files(&early, now_ms), "{naive:#?}");
        let of_staff =
            |standings: &Standings| outputs::standings(standings, &standings.overall(now_ms));
        changed += usize::from(of_staff(&all) != of_staff(&early));
        // Before the start nothing is to be seen of a round.
        assert_eq!(public_files(&all, START - 1).len(), 1);
        // A ruling ends the freeze.
        let mut published = all.clone();
        let draft = Draft {
            action: "publish".into(),
            by: "x".into(),
            reason: "y".into(),
            ..Draft::default()
        };
        let (number, hash) = (naive.rulings.len() as i64 + 1, CHAIN_START);
        published.ruled(Ruling { number, change: 5_000, at_ms: now_ms, draft, hash });
        published.refresh();
        assert_eq!(public_files(&published, now_ms)[0], of_staff(&all), "{naive:#?}");
    }
    assert!(changed > 100, "there is something to hide: {changed}");
}
