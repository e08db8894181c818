//! Worked examples: rules of real events, with the arithmetic beside each result.

use super::*;
use alloc::vec;
use alloc::vec::Vec;

const MINUTE: i64 = 60_000;

fn points(whole: i64) -> Points {
    Points::whole(whole)
}

/// A round of an hour that starts at time 0.
fn hour(late: LateRule) -> Clock {
    Clock { start_ms: 0, duration_ms: 60 * 60_000, excluded: vec![], late }
}

fn worth(whole: &[i64]) -> Vec<Worth> {
    whole.iter().map(|whole| Worth { points: points(*whole), void: None }).collect()
}

fn policy(credit: Credit, which: Which) -> Policy {
    let (wrong_penalty, bonus) = (Points::ZERO, None);
    Policy { credit, which, wrong_penalty, bonus, round_to: points(1) }
}

fn ten_a_minute(near_miss: Option<NearMiss>) -> Option<Bonus> {
    Some(Bonus { per_full_minute: points(10), needs_all_correct: true, near_miss })
}

fn at(at_ms: i64, mark: TryMark) -> Try {
    // Each with bytes of its own.
    Try { at_ms: Some(at_ms), latest_ms: None, mark, bytes: at_ms as u64, ruled: None }
}

fn correct(at_ms: i64) -> Try {
    at(at_ms, TryMark::Judged(Judged::correct(51, 9)))
}

/// One with so many wrong and blank cells of 51.
fn wrong(at_ms: i64, wrong: u32, blank: u32) -> Try {
    let judged = Judged {
        correct: false,
        cells: 51,
        blank_cells: blank,
        wrong_cells: Some(wrong),
        right_houses: None,
        side: 9,
    };
    at(at_ms, TryMark::Judged(judged))
}

fn tries<const N: usize>(tries: [Vec<Try>; N]) -> [Tries; N] {
    tries.map(|tries| Tries { tries, adjustments: vec![] })
}

/// Standings of the puzzle with this number.
fn standings(score: &RoundScore, puzzle: usize) -> Vec<Standing> {
    score.puzzles[puzzle].tries.iter().map(|entry| entry.standing).collect()
}

#[test]
fn grand_prix_the_last_try_counts_and_full_minutes_earn_ten() {
    let gp = Policy { bonus: ten_a_minute(None), ..policy(Credit::AllOrNothing, Which::Last) };
    let (clock, worth) = (hour(LateRule::Refuse), worth(&[35, 62, 18]));
    // 35 + 62 + 18 = 115. The last was handed in after 47:30; of the 12:30 left, 12 minutes are full: 120.
    let all = tries([
        vec![wrong(5 * MINUTE, 3, 0), correct(10 * MINUTE)],
        vec![correct(47 * MINUTE + 30_000)],
        vec![correct(20 * MINUTE)],
    ]);
    let score = score_round(&gp, &clock, &worth, &all, &[]);
    assert_eq!((score.points, score.bonus, score.total), (points(115), points(120), points(235)));
    let gain = score.last_gain.expect("a gain");
    assert_eq!(gain.elapsed_ms, 47 * MINUTE + 30_000);
    // A wrong one after the correct one takes its points, and with them the bonus: 62 + 18.
    let spoilt = tries([
        vec![correct(10 * MINUTE), wrong(12 * MINUTE, 1, 0)],
        vec![correct(47 * MINUTE + 30_000)],
        vec![correct(20 * MINUTE)],
    ]);
    let score = score_round(&gp, &clock, &worth, &spoilt, &[]);
    assert_eq!((score.points, score.bonus, score.total), (points(80), points(0), points(80)));
    // A file that cannot be read, one for another puzzle and a blank one take nothing.
    let blank = wrong(13 * MINUTE, 0, 51);
    let harmless = tries([
        vec![
            correct(10 * MINUTE),
            at(11 * MINUTE, TryMark::Unreadable),
            at(12 * MINUTE, TryMark::Foreign),
            blank,
            at(14 * MINUTE, TryMark::Failed),
        ],
        vec![correct(47 * MINUTE + 30_000)],
        vec![correct(20 * MINUTE)],
    ]);
    let score = score_round(&gp, &clock, &worth, &harmless, &[]);
    assert_eq!(score.total, points(235));
    let expected = [
        Standing::Stands,
        Standing::Unreadable,
        Standing::Foreign,
        Standing::Blank,
        Standing::Failed,
    ];
    assert_eq!(standings(&score, 0), expected);
}

#[test]
fn wsc_one_puzzle_with_two_wrong_cells_leaves_three_quarters_of_the_bonus() {
    let near_miss = NearMiss { puzzles_max: 1, wrong_cells_max: 2, bonus_percent: 75 };
    let wsc = Policy {
        bonus: ten_a_minute(Some(near_miss)),
        ..policy(Credit::AllOrNothing, Which::Last)
    };
    let (clock, worth) = (hour(LateRule::Refuse), worth(&[40, 60]));
    let round = |first: Try| {
        let all = tries([vec![first], vec![correct(50 * MINUTE + 20_000)]]);
        let score = score_round(&wsc, &clock, &worth, &all, &[]);
        (score.points, score.bonus)
    };
    // Everything is correct with 9:40 left: 9 full minutes, 90.
    assert_eq!(round(correct(30 * MINUTE)), (points(100), points(90)));
    // Two cells are wrong: 60 points, and 75 % of 90 is 67.5, rounded down 67.
    assert_eq!(round(wrong(30 * MINUTE, 2, 0)), (points(60), points(67)));
    // A blank cell is no less a slip than a wrong one; with three the bonus is gone.
    assert_eq!(round(wrong(30 * MINUTE, 1, 1)), (points(60), points(67)));
    assert_eq!(round(wrong(30 * MINUTE, 2, 1)), (points(60), points(0)));
    // Two such puzzles are one too many.
    let both = tries([vec![wrong(30 * MINUTE, 1, 0)], vec![wrong(31 * MINUTE, 1, 0)]]);
    assert_eq!(score_round(&wsc, &clock, &worth, &both, &[]).total, points(0));
}

#[test]
fn mahabharat_the_value_shrinks_with_every_wrong_try() {
    let ladder = policy(Credit::Ladder(vec![100, 90, 70, 40, 0]), Which::FirstCorrect);
    let (clock, worth) = (hour(LateRule::Refuse), worth(&[50]));
    for (wrong_tries, expected) in [(0, 50), (1, 45), (2, 35), (3, 20), (4, 0), (7, 0)] {
        let mut all: Vec<Try> = (0..wrong_tries).map(|i| wrong((i + 1) * MINUTE, 4, 0)).collect();
        all.push(correct(30 * MINUTE));
        // What comes after the correct one changes nothing.
        all.push(wrong(40 * MINUTE, 1, 0));
        let score = score_round(&ladder, &clock, &worth, &tries([all]), &[]);
        assert_eq!(score.total, points(expected), "after {wrong_tries} wrong tries");
    }
    // The same bytes again are no further wrong try: 90 % of 50.
    let again = Try { bytes: 1, ..wrong(2 * MINUTE, 4, 0) };
    let all = vec![Try { bytes: 1, ..wrong(MINUTE, 4, 0) }, again, correct(3 * MINUTE)];
    let score = score_round(&ladder, &clock, &worth, &tries([all]), &[]);
    assert_eq!(score.total, points(45));
    assert_eq!(standings(&score, 0)[1], Standing::SameBytes(0));
}

#[test]
fn lmg_wrong_solutions_and_overtime_cost_five_each() {
    let lmg = Policy { wrong_penalty: points(5), ..policy(Credit::AllOrNothing, Which::Best) };
    let grace = Grace { ms: 5 * 60_000, penalty_per_started_minute: points(5) };
    let (clock, worth) = (hour(LateRule::Grace(grace)), worth(&[30, 40]));
    // The last hand-in comes 2:01 after the end, so three minutes were started: 30 + 40 - 3 x 5 - 5 for the
    // wrong one = 50. Overtime is charged once, though both puzzles came after the end.
    let all = tries([
        vec![wrong(20 * MINUTE, 4, 0), correct(61 * MINUTE)],
        vec![correct(62 * MINUTE + 1_000)],
    ]);
    let score = score_round(&lmg, &clock, &worth, &all, &[]);
    assert_eq!((score.points, score.penalty, score.total), (points(70), points(20), points(50)));
    assert_eq!(score.puzzles[1].tries[0].in_time, InTime::Grace);
    // After five minutes nothing is accepted, and nothing is charged for it.
    let all = tries([vec![correct(20 * MINUTE)], vec![correct(65 * MINUTE + 1)]]);
    let score = score_round(&lmg, &clock, &worth, &all, &[]);
    assert_eq!((score.total, score.penalty), (points(30), points(0)));
    assert_eq!(standings(&score, 1), [Standing::Late]);
    // A round is never worth less than nothing.
    let all = tries([vec![wrong(1, 4, 0), wrong(2, 4, 0)], vec![]]);
    let score = score_round(&lmg, &clock, &worth, &all, &[]);
    assert_eq!((score.penalty, score.total), (points(10), points(0)));
}

#[test]
fn classroom_each_right_cell_is_worth_its_share() {
    let sheet = policy(Credit::PerCell, Which::Best);
    let (clock, worth) = (hour(LateRule::Accept), worth(&[51]));
    // Of 51 cells 4 are wrong and 7 blank: 40 points. The second has 6 faulty ones: 45, the best. It came after
    // the end, which does not matter here.
    let all =
        tries([vec![wrong(50 * MINUTE, 4, 7), wrong(70 * MINUTE, 6, 0), wrong(71 * MINUTE, 9, 0)]]);
    let score = score_round(&sheet, &clock, &worth, &all, &[]);
    assert_eq!((score.total, score.puzzles[0].counts), (points(45), Some(1)));
    // With 20 points, 45 of 51 cells are worth 17.647, rounded down 17.
    let twenty = [Worth { points: points(20), void: None }];
    assert_eq!(score_round(&sheet, &clock, &twenty, &all, &[]).total, points(17));
}

#[test]
fn houses_are_worth_five_five_and_ten_and_all_of_them_twenty_more() {
    let weights = HouseWeights { row: 5, column: 5, in_box: 10, full: 20 };
    let houses = policy(Credit::PerHouse(weights), Which::Last);
    // 9 x 5 + 9 x 5 + 9 x 10 + 20 = 200.
    let (clock, worth) = (hour(LateRule::Refuse), worth(&[200]));
    let judged = |right| Judged {
        correct: false,
        right_houses: Some(right),
        cells: 51,
        ..Judged::correct(51, 9)
    };
    // 7 rows, 6 columns and 5 boxes: 35 + 30 + 50 = 115.
    let all = tries([vec![at(1, TryMark::Judged(judged([7, 6, 5])))]]);
    assert_eq!(score_round(&houses, &clock, &worth, &all, &[]).total, points(115));
    assert_eq!(
        score_round(&houses, &clock, &worth, &tries([vec![correct(1)]]), &[]).total,
        points(200)
    );
}

#[test]
fn lazy_larry_one_number_is_right_or_wrong() {
    let larry = policy(Credit::AllOrNothing, Which::First);
    let (clock, worth) = (hour(LateRule::Refuse), worth(&[10]));
    let number = |correct| TryMark::Judged(Judged { correct, ..Judged::default() });
    // The first number counts, however many follow.
    let all = tries([vec![at(1, number(false)), at(2, number(true))]]);
    assert_eq!(score_round(&larry, &clock, &worth, &all, &[]).total, points(0));
    let all = tries([vec![at(1, number(true)), at(2, number(false))]]);
    assert_eq!(score_round(&larry, &clock, &worth, &all, &[]).total, points(10));
}

#[test]
fn a_void_puzzle_gives_everybody_the_same_and_does_not_cost_the_bonus() {
    let gp = Policy {
        bonus: ten_a_minute(None),
        wrong_penalty: points(5),
        ..policy(Credit::AllOrNothing, Which::Last)
    };
    let clock = hour(LateRule::Refuse);
    let all = tries([vec![wrong(58 * MINUTE, 9, 0)], vec![correct(50 * MINUTE)]]);
    for (void, expected) in [(Void::Zero, 60), (Void::Full, 60 + 40)] {
        let worth = [
            Worth { points: points(40), void: Some(void) },
            Worth { points: points(60), void: None },
        ];
        let score = score_round(&gp, &clock, &worth, &all, &[]);
        // Ten minutes are left after the last hand-in that counts: 100.
        assert_eq!((score.points, score.bonus), (points(expected), points(100)));
        assert_eq!(score.penalty, points(0));
    }
}

#[test]
fn rulings_change_points_times_and_what_is_late() {
    let plain = policy(Credit::AllOrNothing, Which::Last);
    let (clock, worth) = (hour(LateRule::Refuse), worth(&[40]));
    let late = || correct(61 * MINUTE);
    let total = |entry: Try, adjustments: &[Adjustment], of_round: &[Adjustment]| {
        let tries = [Tries { tries: vec![entry], adjustments: adjustments.to_vec() }];
        score_round(&plain, &clock, &worth, &tries, of_round).total
    };
    assert_eq!(total(late(), &[], &[]), points(0));
    assert_eq!(total(Try { ruled: Some(LateRuling::Accept), ..late() }, &[], &[]), points(40));
    let refused = Try { ruled: Some(LateRuling::Refuse), ..correct(MINUTE) };
    assert_eq!(total(refused, &[], &[]), points(0));
    let set_and_add = [Adjustment::Set(points(20)), Adjustment::Add(points(-3))];
    assert_eq!(total(correct(MINUTE), &set_and_add, &[]), points(17));
    assert_eq!(total(correct(MINUTE), &[], &[Adjustment::Add(points(-50))]), points(-10));
}

#[test]
fn a_time_in_doubt_is_unknown_only_where_it_makes_a_difference() {
    let plain = policy(Credit::AllOrNothing, Which::Last);
    let (clock, worth) = (hour(LateRule::Refuse), worth(&[40]));
    let in_time = |at_ms, latest_ms| {
        let entry = Try { at_ms, latest_ms, ..correct(0) };
        let score = score_round(&plain, &clock, &worth, &tries([vec![entry]]), &[]);
        (score.puzzles[0].tries[0].in_time, score.total)
    };
    let (before, after) = (Some(59 * MINUTE), Some(61 * MINUTE));
    assert_eq!(in_time(before, Some(60 * MINUTE)), (InTime::Yes, points(40)));
    assert_eq!(in_time(before, after), (InTime::Unknown, points(40)));
    assert_eq!(in_time(after, after), (InTime::Late, points(0)));
    assert_eq!(in_time(None, None), (InTime::Unknown, points(40)));
}

#[test]
fn ties_are_broken_in_the_order_that_the_event_names() {
    let contender = |total, gain_ms, round_ranks: &[u32]| Contender {
        listing: Listing::Ranked,
        group: None,
        total: points(total),
        gain_ms,
        round_ranks: round_ranks.to_vec(),
    };
    let list = [
        contender(100, Some(90), &[2, 3]),
        contender(100, Some(80), &[2, 4]),
        contender(120, None, &[1]),
        contender(100, Some(80), &[2, 4]),
    ];
    let order = |break_by: &[TieBreak]| -> Vec<(usize, u32)> {
        let places = rank(&list, break_by);
        places.iter().map(|place| (place.contender, place.rank.expect("a rank"))).collect()
    };
    let (by_points, by_gain) = (TieBreak::Points, TieBreak::LastGain);
    assert_eq!(order(&[by_points]), [(2, 1), (0, 2), (1, 2), (3, 2)]);
    assert_eq!(order(&[by_points, by_gain]), [(2, 1), (1, 2), (3, 2), (0, 4)]);
    assert_eq!(order(&[by_points, TieBreak::BestRound, by_gain]), [(2, 1), (0, 2), (1, 3), (3, 3)]);
    assert_eq!(order(&[by_gain]), [(1, 1), (3, 1), (0, 3), (2, 4)]);
}

#[test]
fn who_has_no_rank_takes_none_from_others_and_groups_are_ranked_apart() {
    let contender = |listing, group, total| Contender {
        listing,
        group: Some(group),
        total: points(total),
        gain_ms: None,
        round_ranks: vec![],
    };
    let list = [
        contender(Listing::Out, 0, 500),
        contender(Listing::Unofficial, 0, 90),
        contender(Listing::Ranked, 1, 80),
        contender(Listing::Ranked, 0, 100),
        contender(Listing::Ranked, 0, 80),
    ];
    let places = rank(&list, &[TieBreak::Points]);
    let rows: Vec<_> =
        places.iter().map(|place| (place.contender, place.rank, place.group_rank)).collect();
    assert_eq!(
        rows,
        [
            (3, Some(1), Some(1)),
            (1, None, None),
            (2, Some(2), Some(1)),
            (4, Some(2), Some(2)),
            (0, None, None),
        ]
    );
}

/// The last one counts: somebody who hands in an earlier try again has changed their mind, and one that is scanned
/// twice costs nobody anything.
#[test]
fn an_earlier_try_that_is_handed_in_again_counts_if_it_is_worth_more() {
    let policy = policy(Credit::AllOrNothing, Which::Last);
    let again = |first: &Try, minute: i64| Try { at_ms: Some(minute * MINUTE), ..first.clone() };
    let (right, bad) = (correct(10 * MINUTE), wrong(20 * MINUTE, 3, 0));
    let handed_in = tries([
        vec![right.clone(), bad.clone(), again(&right, 30)],
        vec![bad.clone(), right.clone(), again(&bad, 30)],
        vec![right.clone(), again(&right, 30)],
    ]);
    let score =
        score_round(&policy, &hour(LateRule::Refuse), &worth(&[35, 35, 35]), &handed_in, &[]);
    let counts: Vec<_> =
        score.puzzles.iter().map(|puzzle| (puzzle.counts, puzzle.points)).collect();
    assert_eq!(counts, [2, 1, 0].map(|counts| (Some(counts), points(35))));
    assert_eq!(score.puzzles.iter().map(|puzzle| puzzle.wrong_tries).sum::<u32>(), 2);
}
