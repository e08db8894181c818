//! Which files and folders that are left alone are in the log: each once, as long as it is there. Where there are
//! very many, the rest are summed up.

use crate::model::submission::Name;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How many names are remembered, and so logged one by one.
const NAMED_MAX: usize = 4_096;
/// The least time between two lines about the rest.
const PERIOD: Duration = Duration::from_secs(60);

/// The names in the log.
#[derive(Default)]
pub(super) struct Reported {
    /// By name: the number of the scan that found it last.
    named: HashMap<Name, u64>,
    scan: u64,
    /// How many others this scan has found.
    more: u64,
    /// The last line about others: how many they were, and when.
    last_more: Option<(u64, Instant)>,
}

impl Reported {
    /// Whether this name is to be logged.
    pub(super) fn is_new(&mut self, name: &Name) -> bool {
        if let Some(found) = self.named.get_mut(name) {
            *found = self.scan;
            return false;
        }
        if self.named.len() >= NAMED_MAX {
            self.more += 1;
            return false;
        }
        self.named.insert(name.clone(), self.scan);
        true
    }

    /// Ends a scan of the whole inbox. Returns how many names it has found beyond those that are logged, if that is
    /// to be logged.
    pub(super) fn end_scan(&mut self, now: Instant) -> Option<u64> {
        // Names that are gone make room for others.
        if self.named.len() >= NAMED_MAX {
            let scan = self.scan;
            self.named.retain(|_, found| *found == scan);
        }
        self.scan += 1;
        let more = std::mem::take(&mut self.more);
        let is_news = match self.last_more {
            Some((last, at)) => more != last && now.saturating_duration_since(at) >= PERIOD,
            None => true,
        };
        (more > 0 && is_news).then(|| {
            self.last_more = Some((more, now));
            more
        })
    }

    /// Forgets all names.
    pub(super) fn clear(&mut self) {
        *self = Reported::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(reported: &mut Reported, names: std::ops::Range<usize>) -> usize {
        let name = |number| Name::from_bytes(format!("{number}.bak"));
        names.filter(|&number| reported.is_new(&name(number))).count()
    }

    #[test]
    fn each_name_is_new_once_and_many_more_are_summed_up_once_a_minute() {
        let (mut reported, start) = (Reported::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(find(&mut reported, 0..3), 3);
        assert_eq!(reported.end_scan(at(0)), None);
        assert_eq!(find(&mut reported, 0..3), 0);
        assert_eq!(reported.end_scan(at(2)), None);
        assert_eq!(find(&mut reported, 0..NAMED_MAX + 10), NAMED_MAX - 3);
        assert_eq!(reported.end_scan(at(4)), Some(10));
        assert_eq!(find(&mut reported, 0..NAMED_MAX + 11), 0);
        assert_eq!(reported.end_scan(at(6)), None);
        assert_eq!(find(&mut reported, 0..NAMED_MAX + 11), 0);
        assert_eq!(reported.end_scan(at(64)), Some(11));
        assert_eq!(find(&mut reported, 0..NAMED_MAX + 11), 0);
        assert_eq!(reported.end_scan(at(200)), None);
    }

    #[test]
    fn names_that_are_gone_make_room_for_others() {
        let mut reported = Reported::default();
        for round in 0..10 {
            let first = round * NAMED_MAX;
            find(&mut reported, first..first + NAMED_MAX);
            reported.end_scan(Instant::now());
            assert!(reported.named.len() <= NAMED_MAX);
        }
        find(&mut reported, 0..0);
        reported.end_scan(Instant::now());
        assert_eq!(find(&mut reported, 0..1), 1);
        assert_eq!(find(&mut reported, 0..1), 0);
    }
}
