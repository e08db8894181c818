//! Notices that the clock was set.

use crate::store::ledger::Reading;

/// A clock that differs by more was set; one that is only corrected slowly differs by less.
const STEP_MS: u64 = 500;

/// How much of the time that has passed a clock may be corrected by slowly: a thousandth, twice what the
/// system's own correction does.
const SLOWLY: u64 = 1_000;

/// Compares the clock, which people and time servers set, with one that nobody sets.
pub(in crate::pipeline::intake) struct Clock {
    last: Reading,
}

impl Clock {
    /// A clock that showed this when it was read last.
    pub(in crate::pipeline::intake) fn new(last: Reading) -> Clock {
        Clock { last }
    }

    /// By how many milliseconds it was put forward since it was read last, if it was set.
    pub(in crate::pipeline::intake) fn check(&mut self, now: Reading) -> Option<i64> {
        let passed_ms = now.steady_ms.saturating_sub(self.last.steady_ms);
        let expected_ms = self.last.wall_ms.saturating_add(passed_ms);
        self.last = now;
        let by_ms = now.wall_ms.saturating_sub(expected_ms);
        let slowly_ms = passed_ms.unsigned_abs() / SLOWLY;
        (by_ms.unsigned_abs() > STEP_MS + slowly_ms).then_some(by_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Reading = Reading { wall_ms: 1_000_000, steady_ms: 5_000 };

    /// Steps that are noticed by readings so many milliseconds after the start, of a clock that was put forward
    /// by so much in all.
    fn steps(readings: &[(i64, i64)]) -> Vec<Option<i64>> {
        let mut clock = Clock::new(START);
        let check = |&(passed, by): &(i64, i64)| {
            let wall_ms = START.wall_ms + passed + by;
            clock.check(Reading { wall_ms, steady_ms: START.steady_ms + passed })
        };
        readings.iter().map(check).collect()
    }

    #[test]
    fn a_clock_that_was_set_is_noticed_once() {
        let forward = steps(&[(1_000, 0), (2_000, 60_000), (3_000, 60_000)]);
        assert_eq!(forward, [None, Some(60_000), None]);
        let back = steps(&[(1_000, 0), (2_000, -60_000), (3_000, -60_000)]);
        assert_eq!(back, [None, Some(-60_000), None]);
        assert_eq!(steps(&[(1, 499), (2, 0), (3, 501)]), [None, None, Some(501)]);
    }

    #[test]
    fn a_clock_that_is_corrected_slowly_was_not_set() {
        // As a time server corrects it, half a thousandth of the time, for an hour.
        let readings: Vec<(i64, i64)> = (1..3_600).map(|s| (s * 1_000, s / 2)).collect();
        assert!(steps(&readings).iter().all(Option::is_none));
        // The same between two runs of the service, which are a day apart.
        let day_ms = 86_400_000;
        assert_eq!(steps(&[(day_ms, day_ms / 2_000)]), [None]);
        assert_eq!(steps(&[(day_ms, 100_000)]), [Some(100_000)]);
    }

    #[test]
    fn readings_beyond_all_bounds_are_no_error() {
        let mut clock = Clock::new(Reading { wall_ms: i64::MIN, steady_ms: i64::MAX });
        assert!(clock.check(Reading { wall_ms: i64::MAX, steady_ms: i64::MIN }).is_some());
        assert!(clock.check(Reading { wall_ms: i64::MIN, steady_ms: i64::MAX }).is_some());
    }
}
