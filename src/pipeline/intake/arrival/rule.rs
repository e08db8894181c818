//! What the times of folders and files say about when a file arrived.

use crate::model::submission::{Doubt, HandedIn};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Times that are no further apart count as the same: the system's clock for files ticks slowly, and the parts
/// of one change get times of their own.
pub(super) const SAME_MS: i64 = 10;

/// How long a program that hands a file in may take from its last write until it has set mode and times.
pub(in crate::pipeline::intake) const FINISHING_MS: i64 = 1_000;

/// Times of a file or folder, in milliseconds since 1970 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pipeline::intake) struct Times {
    /// When its inode changed last.
    pub(in crate::pipeline::intake) changed_ms: i64,
    /// When its content, or an entry of the folder, changed last. Its owner may set it to anything.
    pub(super) modified_ms: i64,
}

impl Times {
    /// The times in `metadata`.
    pub(super) fn of(metadata: &Metadata) -> Times {
        Times::new(
            (metadata.ctime(), metadata.ctime_nsec()),
            (metadata.mtime(), metadata.mtime_nsec()),
        )
    }

    /// The times in seconds and nanoseconds.
    pub(in crate::pipeline::intake) fn new(changed: (i64, i64), modified: (i64, i64)) -> Times {
        let ms = |(seconds, nanoseconds): (i64, i64)| {
            seconds.saturating_mul(1_000).saturating_add(nanoseconds / 1_000_000)
        };
        Times { changed_ms: ms(changed), modified_ms: ms(modified) }
    }

    /// Whether the change time of this file is that of its last write.
    pub(in crate::pipeline::intake) fn is_written(self) -> bool {
        self.changed_ms.abs_diff(self.modified_ms) <= FINISHING_MS.unsigned_abs()
    }

    /// Whether the inode of this file has changed since soon after that time.
    pub(super) fn was_changed_after(self, ms: i64) -> bool {
        self.changed_ms > ms.saturating_add(FINISHING_MS)
    }
}

/// How a folder came to its place, and with it all that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// Nothing in it arrived earlier.
    moved_ms: i64,
    /// What arrived in it before this time may have been moved later.
    doubt_before_ms: i64,
}

impl Placed {
    /// A folder that has been there for as long as its files.
    pub(super) const ALWAYS: Placed = Placed { moved_ms: i64::MIN, doubt_before_ms: i64::MIN };

    /// A folder that was moved to its place at this time.
    pub(super) const fn moved(moved_ms: i64) -> Placed {
        Placed { moved_ms, ..Placed::ALWAYS }
    }

    /// A folder that is seen for the first time, in a folder that was modified at `above_ms`. `absent_ms` is the
    /// time at which it was not there, if that is known.
    ///
    /// A move sets the change time of the folder and the modification time of the one above, so it was no later
    /// than either. Both at once were a move, unless something else in the one above has come at that moment:
    /// `is_alone` says that nothing has. If the one above was modified later, the folder was
    /// moved or its mode was changed; if an entry of the folder has changed since, its times say nothing.
    pub(super) fn found(
        folder: Times,
        above_ms: i64,
        absent_ms: Option<i64>,
        is_alone: impl FnOnce() -> bool,
    ) -> Placed {
        let Times { changed_ms, modified_ms } = folder;
        let may_be_move = changed_ms > modified_ms.saturating_add(SAME_MS)
            && above_ms.saturating_add(SAME_MS) >= changed_ms;
        let is_move = may_be_move
            && above_ms <= changed_ms.saturating_add(SAME_MS)
            && (absent_ms.is_some() || is_alone());
        let moved_ms = if may_be_move { changed_ms } else { absent_ms.unwrap_or(i64::MIN) };
        let doubt_before_ms = if is_move || absent_ms.is_some() {
            i64::MIN
        } else if may_be_move {
            changed_ms.saturating_add(1)
        } else {
            changed_ms.min(above_ms).saturating_sub(SAME_MS)
        };
        Placed { moved_ms, doubt_before_ms }
    }

    /// The same in a folder that came to its place like that.
    pub(super) fn within(self, above: Placed) -> Placed {
        Placed {
            moved_ms: self.moved_ms.max(above.moved_ms),
            doubt_before_ms: self.doubt_before_ms.max(above.doubt_before_ms),
        }
    }

    /// When a file in it arrived.
    pub(super) fn handed_in(self, file: Times) -> HandedIn {
        let at_ms = file.changed_ms.max(self.moved_ms);
        let doubt = (at_ms < self.doubt_before_ms).then_some(Doubt::Move);
        HandedIn { at_ms, doubt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens while nothing watches, to a file in the folder `inner` in the folder `outer` in the inbox.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Act {
        Write,
        MoveInner,
        MoveOuter,
        /// An entry is added to the inbox, outer or inner, or taken from it.
        Entry(usize),
        /// The mode of outer or inner is changed.
        Mode(usize),
    }

    const ACTS: [Act; 8] = [
        Act::Write,
        Act::MoveInner,
        Act::MoveOuter,
        Act::Entry(0),
        Act::Entry(1),
        Act::Entry(2),
        Act::Mode(1),
        Act::Mode(2),
    ];

    const THEN: Times = Times { changed_ms: 0, modified_ms: 0 };

    /// The times of inbox, outer, inner and the file after these acts, which are a second apart, and when the file
    /// has arrived in truth.
    fn history(acts: &[Act]) -> ([Times; 3], Times, i64) {
        let (mut folders, mut file, mut truth_ms) = ([THEN; 3], THEN, 0);
        for (i, act) in acts.iter().enumerate() {
            let now = (i as i64 + 1) * 1_000;
            let both = Times { changed_ms: now, modified_ms: now };
            match *act {
                Act::Write => (file, truth_ms) = (both, now),
                Act::MoveInner => {
                    (folders[2].changed_ms, folders[1], truth_ms) = (now, both, now);
                }
                Act::MoveOuter => {
                    (folders[1].changed_ms, folders[0], truth_ms) = (now, both, now);
                }
                Act::Entry(folder) => folders[folder] = both,
                Act::Mode(folder) => folders[folder].changed_ms = now,
            }
        }
        (folders, file, truth_ms)
    }

    fn judged(acts: &[Act], absent_ms: Option<i64>) -> (HandedIn, i64) {
        let ([inbox, outer, inner], file, truth_ms) = history(acts);
        let outer_placed = Placed::found(outer, inbox.modified_ms, absent_ms, || true);
        let placed = Placed::found(inner, outer.modified_ms, absent_ms, || true);
        let placed = placed.within(outer_placed);
        (placed.handed_in(file), truth_ms)
    }

    /// Calls `check` with every history of up to five acts.
    fn for_each_history(check: impl Fn(&[Act])) {
        for length in 0..=5 {
            for number in 0..ACTS.len().pow(length) {
                let digit = |at: u32| ACTS[number / ACTS.len().pow(at) % ACTS.len()];
                check(&(0..length).map(digit).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_time_that_is_not_in_doubt_is_right_whatever_has_happened() {
        for_each_history(|acts| {
            let (HandedIn { at_ms, doubt }, truth_ms) = judged(acts, None);
            assert!(doubt.is_some() || at_ms == truth_ms, "{acts:?}: {at_ms}, not {truth_ms}");
            // Only a change of mode may make it later than it was.
            let has_mode = acts.iter().any(|act| matches!(act, Act::Mode(_)));
            assert!(has_mode || at_ms <= truth_ms, "{acts:?}: {at_ms}, not {truth_ms}");
        });
    }

    #[test]
    fn what_happens_most_is_not_in_doubt() {
        use Act::{Entry, MoveInner, MoveOuter, Write};
        let histories: [&[Act]; 6] = [
            // A file is written into a folder that was there, and others after it.
            &[Write, Entry(2), Entry(2)],
            // A folder is made, files are written into it, and other folders are touched.
            &[Entry(0), Entry(1), Write, Entry(2)],
            &[Entry(1), Write],
            // Folders with files in them are moved in.
            &[Write, MoveOuter],
            &[Write, MoveInner, Entry(2), MoveOuter],
            &[Write, MoveInner, Write],
        ];
        for acts in histories {
            let (handed_in, truth_ms) = judged(acts, None);
            assert_eq!(handed_in, HandedIn { at_ms: truth_ms, doubt: None }, "{acts:?}");
        }
    }

    #[test]
    fn a_folder_that_was_absent_a_moment_ago_has_just_come() {
        for_each_history(|acts| {
            // Before the last move, as the scan before this one.
            let last = acts.iter().rposition(|act| *act == Act::MoveOuter);
            let Some(absent_ms) = last.map(|last| last as i64 * 1_000) else { return };
            let (HandedIn { at_ms, doubt }, truth_ms) = judged(acts, Some(absent_ms));
            let now_ms = acts.len() as i64 * 1_000;
            assert_eq!(doubt, None, "{acts:?}");
            assert!(at_ms >= absent_ms && at_ms <= now_ms, "{acts:?}: {at_ms}");
            let has_mode = acts.iter().any(|act| matches!(act, Act::Mode(_)));
            assert!(has_mode || at_ms <= truth_ms, "{acts:?}: {at_ms}, not {truth_ms}");
        });
    }

    #[test]
    fn programs_have_a_moment_to_finish_what_they_hand_in() {
        let file = |changed_ms, modified_ms| Times { changed_ms, modified_ms };
        assert!(file(50_000, 50_000).is_written());
        assert!(file(50_900, 50_000).is_written());
        // Renamed in, or its mode or times were changed.
        assert!(!file(51_001, 50_000).is_written());
        assert!(!file(50_000, 90_000).is_written());
        assert!(!file(51_000, 0).was_changed_after(50_000));
        assert!(file(51_001, 0).was_changed_after(50_000));
        assert!(!file(i64::MAX, i64::MIN).is_written());
        assert!(!file(i64::MAX, i64::MIN).was_changed_after(i64::MAX));
        assert!(file(i64::MAX, i64::MIN).was_changed_after(i64::MIN));
    }
}
