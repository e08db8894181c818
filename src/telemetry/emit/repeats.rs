//! Limits repeated log lines: the same event of the same file or folder for the same reason is logged
//! once a minute. Its metric counts each time.

use crate::telemetry::without_numbers;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two lines that say the same.
const PERIOD: Duration = Duration::from_secs(60);

/// How many lines are remembered. When there are more, all are forgotten and may be logged again.
const REMEMBERED_MAX: usize = 16_384;

static REPEATS: LazyLock<Mutex<Repeats>> = LazyLock::new(Mutex::default);

/// Whether to log now that `event` happened to `subject` for a reason in these words.
pub(super) fn is_news(event: &'static str, subject: &dyn Display, reason: &dyn Display) -> bool {
    let mut repeats = REPEATS.lock().unwrap_or_else(PoisonError::into_inner);
    repeats.is_news(event, subject, reason, Instant::now())
}

/// When each line was logged last.
#[derive(Default)]
struct Repeats {
    logged_at: HashMap<(&'static str, String, String), Instant>,
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
        let is_recent = |at: Instant| now.saturating_duration_since(at) < PERIOD;
        let line = (event, subject.to_string(), reason);
        if self.logged_at.get(&line).is_some_and(|at| is_recent(*at)) {
            return false;
        }
        if self.logged_at.len() >= REMEMBERED_MAX {
            self.logged_at.retain(|_, at| is_recent(*at));
        }
        if self.logged_at.len() >= REMEMBERED_MAX {
            self.logged_at.clear();
        }
        self.logged_at.insert(line, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_logged_once_a_minute_and_anything_else_at_once() {
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
        assert!(!is_news("p1", "the disk has 7 bytes free", 119));
    }

    #[test]
    fn the_number_of_remembered_lines_is_bounded() {
        let mut repeats = Repeats::default();
        for i in 0..3 * REMEMBERED_MAX {
            assert!(repeats.is_news("cannot take", &i, &"why", Instant::now()));
        }
        assert!(repeats.logged_at.len() <= REMEMBERED_MAX);
    }
}
