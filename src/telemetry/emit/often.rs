//! What happens again and again to the same file or folder for the same reason: it is counted each
//! time, and told once a minute.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the same thing is not told again.
const SILENT_FOR: Duration = Duration::from_secs(60);

/// How many things are remembered as told. When there are more, all are told once more.
const TOLD_MAX: usize = 16_384;

static TOLD: LazyLock<Mutex<Told>> = LazyLock::new(Mutex::default);

/// Whether this is to be told now: that `what` happened to `whom` for a reason in these words.
pub(super) fn is_news(what: &'static str, whom: &dyn Display, why: &dyn Display) -> bool {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    told.is_news(what, whom, why, Instant::now())
}

/// When each thing was told last.
#[derive(Default)]
struct Told {
    at: HashMap<(&'static str, String, String), Instant>,
}

impl Told {
    fn is_news(
        &mut self,
        what: &'static str,
        whom: &dyn Display,
        why: &dyn Display,
        now: Instant,
    ) -> bool {
        // Numbers in a reason change from moment to moment: bytes that are free, say.
        let why = why.to_string().replace(|letter: char| letter.is_ascii_digit(), "");
        let is_recent = |at: Instant| now.saturating_duration_since(at) < SILENT_FOR;
        let thing = (what, whom.to_string(), why);
        if self.at.get(&thing).is_some_and(|at| is_recent(*at)) {
            return false;
        }
        if self.at.len() >= TOLD_MAX {
            self.at.retain(|_, at| is_recent(*at));
        }
        if self.at.len() >= TOLD_MAX {
            self.at.clear();
        }
        self.at.insert(thing, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_told_once_a_minute_and_anything_else_at_once() {
        let (mut told, start) = (Told::default(), Instant::now());
        let mut is_news = |whom: &str, why: &str, seconds: u64| {
            told.is_news("cannot take", &whom, &why, start + Duration::from_secs(seconds))
        };
        assert!(is_news("p1", "the disk has 12 bytes free", 0));
        assert!(!is_news("p1", "the disk has 7 bytes free", 59));
        assert!(is_news("p2", "the disk has 7 bytes free", 59));
        assert!(is_news("p1", "permission denied", 59));
        assert!(is_news("p1", "the disk has 7 bytes free", 60));
        assert!(!is_news("p1", "the disk has 7 bytes free", 119));
    }

    #[test]
    fn no_more_than_some_are_remembered() {
        let mut told = Told::default();
        for i in 0..3 * TOLD_MAX {
            assert!(told.is_news("cannot take", &i, &"why", Instant::now()));
        }
        assert!(told.at.len() <= TOLD_MAX);
    }
}
