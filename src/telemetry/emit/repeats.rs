//! Limits repeated log lines: the same event for the same reason is logged at most once a minute, and less
//! and less often while it goes on, whatever files it happens to. Its metric counts each time.

use crate::telemetry::without_numbers;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between the first two lines that say the same; it doubles with each line.
const PERIOD: Duration = Duration::from_secs(60);

/// It becomes no longer than this.
const PERIOD_MAX: Duration = Duration::from_secs(60 * 60);

/// How many lines are remembered. When there are more, all are forgotten and may be logged again.
const REMEMBERED_MAX: usize = 16_384;

static REPEATS: LazyLock<Mutex<Repeats>> = LazyLock::new(Mutex::default);

/// Whether to log now that `event` happened to `subject` for a reason in these words.
pub(super) fn is_news(event: &'static str, subject: &dyn Display, reason: &dyn Display) -> bool {
    let mut repeats = REPEATS.lock().unwrap_or_else(PoisonError::into_inner);
    repeats.is_news(event, subject, reason, Instant::now())
}

/// When each line was logged last, and how long it is not logged again.
#[derive(Default)]
struct Repeats {
    logged: HashMap<(&'static str, String, String), (Instant, Duration)>,
}

impl Repeats {
    fn is_news(
        &mut self,
        event: &'static str,
        subject: &dyn Display,
        reason: &dyn Display,
        now: Instant,
    ) -> bool {
        let reason = without_numbers(&reason.to_string());
        let age = |at: Instant| now.saturating_duration_since(at);
        let line = (event, subject.to_string(), reason);
        let period = match self.logged.get(&line) {
            Some((at, period)) if age(*at) < *period => return false,
            Some((at, period)) if age(*at) < *period * 2 => (*period * 2).min(PERIOD_MAX),
            // It has not gone on.
            _ => PERIOD,
        };
        if self.logged.len() >= REMEMBERED_MAX {
            self.logged.retain(|_, (at, period)| age(*at) < *period);
        }
        if self.logged.len() >= REMEMBERED_MAX {
            self.logged.clear();
        }
        self.logged.insert(line, (now, period));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_logged_less_and_less_often_and_anything_else_at_once() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let mut is_news = |subject: &str, reason: &str, seconds: u64| {
            let now = start + Duration::from_secs(seconds);
            repeats.is_news("cannot take", &subject, &reason, now)
        };
        assert!(is_news("p1", "the disk has 12 bytes free", 0));
        assert!(!is_news("p1", "the disk has 7 bytes free", 59));
        assert!(is_news("p2", "the disk has 7 bytes free", 59));
        assert!(is_news("p1", "permission denied", 59));
        assert!(is_news("p1", "the disk has 7 bytes free", 60));
        let mut logged = Vec::new();
        for second in 61..6 * 3_600 {
            if is_news("p1", "the disk has 7 bytes free", second) {
                logged.push(second);
            }
        }
        assert_eq!(logged[..5], [180, 420, 900, 1_860, 3_780]);
        assert!(logged[5..].windows(2).all(|pair| pair[1] - pair[0] == 3_600), "{logged:?}");
        // After a pause it is news again, and soon once more.
        assert!(is_news("p1", "the disk has 7 bytes free", 100_000));
        assert!(is_news("p1", "the disk has 7 bytes free", 100_060));
    }

    #[test]
    fn the_number_of_remembered_lines_is_bounded() {
        let mut repeats = Repeats::default();
        for i in 0..3 * REMEMBERED_MAX {
            assert!(repeats.is_news("cannot take", &i, &"why", Instant::now()));
        }
        assert!(repeats.logged.len() <= REMEMBERED_MAX);
    }
}
