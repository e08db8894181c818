use super::*;

const TIMES: SettleTimes =
    SettleTimes { settle: Duration::from_secs(2), open: Duration::from_secs(100) };

fn state(bytes: u64, changed_ago: i64) -> FileState {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let changed = (now.as_secs() as i64 - changed_ago, 0);
    FileState { signature: Signature::for_tests(bytes), changed, linked: false }
}

/// When a file arrives that has changed just now.
const ARRIVED: HandedIn = HandedIn { at_ms: 7, doubt: None };

fn arrived(_name: &Name, _is_known: bool) -> HandedIn {
    ARRIVED
}

fn name() -> Name {
    Name::from_bytes(*b"p")
}

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

struct Fixture(Settling, Instant);

impl Fixture {
    fn new() -> Fixture {
        Fixture(Settling::new(TIMES, 10), Instant::now())
    }

    fn see(&mut self, at: u64, state: FileState, hint: Option<Hint>) -> bool {
        self.0.see(name(), state, arrived, Via::Scan, hint, self.1 + seconds(at)).is_some()
    }

    /// It has settled, but is found to be open.
    fn is_open_at(&mut self, at: u64, state: FileState) {
        let now = self.1 + seconds(at);
        let ready = self.0.see(name(), state, arrived, Via::Scan, None, now).expect("settled");
        assert!(!ready.though_open);
        self.0.found_open(&name(), now, seconds(1));
        assert!(!self.see(at, state, None), "it is not checked again at once");
    }
}

#[test]
fn a_file_that_changed_long_ago_is_ready_at_once_and_only_once() {
    let mut files = Fixture::new();
    assert!(files.see(0, state(5, 1_000), None));
    assert!(!files.see(0, state(5, 1_000), None));
    assert!(files.0.due(files.1 + seconds(9)).is_empty());
}

#[test]
fn a_new_file_must_be_left_alone_for_the_settle_time() {
    let mut files = Fixture::new();
    let first = state(5, 0);
    assert!(!files.see(0, first, None));
    assert!(!files.see(1, state(6, -3), None));
    assert!(!files.see(2, state(6, -3), None), "it has changed a second ago");
    assert_eq!(files.0.due(files.1 + seconds(2)), []);
}

#[test]
fn a_change_time_in_the_future_does_not_delay_a_file() {
    let mut files = Fixture::new();
    let from_the_future = state(5, -1_000_000);
    assert!(!files.see(0, from_the_future, None));
    assert_eq!(files.0.due(files.1 + seconds(3)), [name()]);
    assert!(files.see(3, from_the_future, None));
}

#[test]
fn a_file_that_was_moved_in_is_ready_at_once() {
    assert!(Fixture::new().see(0, state(5, 0), Some(Hint::Moved)));
}

#[test]
fn a_file_being_written_waits_until_it_is_closed() {
    let mut files = Fixture::new();
    let slow = state(5, -1);
    assert!(!files.see(0, slow, Some(Hint::Written)));
    files.is_open_at(50, slow);
    assert!(files.see(51, slow, Some(Hint::Closed)));
}

#[test]
fn a_file_that_may_be_open_waits_as_long_as_an_open_one() {
    let mut files = Fixture::new();
    let slow = state(5, -1);
    assert!(!files.see(0, slow, Some(Hint::Written)));
    let ready =
        files.0.see(name(), slow, arrived, Via::Scan, None, files.1 + seconds(4)).expect("ready");
    assert!(ready.seen_writing && !ready.though_open);
    files.0.may_be_open(&name());
    assert!(!files.see(50, slow, None));
    assert!(files.see(101, slow, None));
}

#[test]
fn an_empty_file_waits_longer_since_it_may_be_filled_later() {
    let empty = state(0, -1);
    for hint in [None, Some(Hint::Written), Some(Hint::Closed), Some(Hint::Moved)] {
        let mut files = Fixture::new();
        assert!(!files.see(0, empty, hint), "{hint:?}");
        assert!(!files.see(99, empty, hint), "{hint:?}");
        assert!(files.see(101, empty, None), "{hint:?}");
    }
    // Never shorter than other files.
    let times = SettleTimes { settle: seconds(7), open: seconds(5) };
    let mut files = Fixture(Settling::new(times, 10), Instant::now());
    assert!(!files.see(0, empty, Some(Hint::Closed)));
    assert!(!files.see(6, empty, None));
    assert!(files.see(8, empty, None));

    let mut files = Fixture::new();
    assert!(!files.see(0, empty, None));
    assert!(!files.see(3, state(5, -4), None), "it has just changed");
    assert!(files.see(6, state(5, -4), None));
    assert!(Fixture::new().see(0, state(0, 1_000), None), "it has been there for long");
}

#[test]
fn a_file_that_is_never_closed_is_taken_in_the_end() {
    let mut files = Fixture::new();
    let never_closed = state(5, -1);
    assert!(!files.see(0, never_closed, Some(Hint::Written)));
    files.is_open_at(50, never_closed);
    let late = files.1 + seconds(101);
    let ready = files.0.see(name(), never_closed, arrived, Via::Scan, None, late).expect("ready");
    assert!(ready.though_open);
}

#[test]
fn a_file_that_was_put_back_waits_until_it_is_closed_though_it_was_renamed() {
    let mut files = Fixture::new();
    let slow = state(5, -1);
    files.0.put_back(name(), slow, files.1);
    assert!(!files.see(0, slow, Some(Hint::Moved)));
    files.is_open_at(50, slow);
    assert!(files.see(51, slow, Some(Hint::Closed)));
}

#[test]
fn a_file_moved_over_one_that_was_put_back_is_ready_at_once() {
    let mut files = Fixture::new();
    files.0.put_back(name(), state(5, -1), files.1);
    let mut other = state(5, -1);
    other.signature.identity.1 += 1;
    assert!(files.see(0, other, Some(Hint::Moved)));
}

#[test]
fn a_new_link_to_a_file_is_not_taken_for_a_write() {
    let mut files = Fixture::new();
    let linked = FileState { linked: true, ..state(5, -1) };
    assert!(!files.see(0, linked, Some(Hint::Written)));
    assert!(files.see(3, linked, None));
}

#[test]
fn a_file_that_could_not_be_taken_is_ready_again_later() {
    let mut files = Fixture::new();
    assert!(files.see(0, state(5, 1_000), None));
    files.0.retry_later(&name(), files.1, seconds(5), "a reason".into());
    assert!(!files.see(4, state(5, 1_000), None));
    assert_eq!(files.0.next_due(), Some(files.1 + seconds(5)));
    assert!(files.see(5, state(5, 1_000), None));
    files.0.retry_later(&name(), files.1 + seconds(5), seconds(5), "another".into());
    assert_eq!(files.0.next_due(), Some(files.1 + seconds(15)));
}

#[test]
fn the_next_file_of_a_name_that_is_being_taken_is_not_forgotten() {
    let mut files = Fixture::new();
    let now = files.1;
    let first = files.0.see(name(), state(5, 1_000), arrived, Via::Scan, None, now).expect("ready");
    assert!(!files.see(0, state(6, 1_000), Some(Hint::Moved)), "its turn comes later");
    files.0.taken(&first);
    assert_eq!(files.0.due(now), [name()]);
    let second =
        files.0.see(name(), state(6, 1_000), arrived, Via::Scan, None, now).expect("ready");
    files.0.taken(&second);
    assert_eq!((files.0.len(), files.0.next_due()), (0, None));
}

#[test]
fn files_that_are_ready_at_once_need_no_room() {
    let mut files = Settling::new(TIMES, 0);
    let now = Instant::now();
    assert!(files.see(name(), state(5, 0), arrived, Via::Event, None, now).is_none());
    assert!(files.take_missed());
    assert!(files.see(name(), state(5, 1_000), arrived, Via::Event, None, now).is_some());
}

#[test]
fn a_change_that_writes_nothing_leaves_the_time_of_arrival_in_doubt_unless_it_comes_soon() {
    let soon = HandedIn { at_ms: ARRIVED.at_ms + FINISHING_MS, doubt: None };
    let later = HandedIn { at_ms: soon.at_ms + 1, doubt: None };
    let in_doubt = HandedIn { doubt: Some(Doubt::Change), ..ARRIVED };
    let mode = state(5, 1_000);
    let signature = Signature { modified: (1, 0), ..Signature::for_tests(5) };
    let times = FileState { signature, ..mode };
    let signature = Signature { modified: (2_000, 0), ..signature };
    let dated = FileState { signature, ..mode };
    let content = FileState { signature: Signature::for_tests(6), ..mode };
    let signature = Signature { identity: (1, 2), ..Signature::for_tests(5) };
    let other = FileState { signature, ..mode };
    let cases = [
        (mode, None, in_doubt),
        (mode, Some(Hint::Closed), in_doubt),
        // A write changes the time of modification.
        (mode, Some(Hint::Written), in_doubt),
        (mode, Some(Hint::Moved), later),
        (times, None, in_doubt),
        (times, Some(Hint::Closed), in_doubt),
        (times, Some(Hint::Written), later),
        (times, Some(Hint::Moved), later),
        // A write would give it the time of the change.
        (dated, Some(Hint::Written), in_doubt),
        (content, None, later),
        (other, None, later),
    ];
    for was_whole in [true, false] {
        let first = if was_whole { state(5, 2_000) } else { state(5, 0) };
        for (changed, hint, expected) in cases {
            // Many changes are no sooner than the last of them.
            for changes in [&[later][..], &[soon], &[soon, later]] {
                if changes.len() > 1 && expected == later {
                    continue;
                }
                let mut files = Fixture::new();
                let now = files.1;
                assert_eq!(files.see(0, first, None), was_whole);
                if was_whole {
                    files.0.retry_later(&name(), now, seconds(1), "a reason".into());
                }
                for (i, &at) in changes.iter().enumerate() {
                    let arrives = |_: &Name, is_known: bool| {
                        assert!(is_known);
                        at
                    };
                    let state = FileState { changed: (i as i64, 0), ..changed };
                    files.0.see(name(), state, arrives, Via::Scan, hint, now);
                }
                let expected = match changes.last() {
                    Some(&last) if expected == later => last,
                    Some(&last) if last == soon => ARRIVED,
                    _ => expected,
                };
                let handed_in = files.0.files[&name()].handed_in;
                assert_eq!(handed_in, expected, "{changed:?} {hint:?} {changes:?}");
            }
        }
    }
}

#[test]
fn an_event_that_comes_late_says_that_a_change_was_a_write() {
    let mut files = Fixture::new();
    assert!(!files.see(0, state(5, -1), None));
    let mut written = state(5, -1);
    written.signature.modified = written.changed;
    let now = files.1 + seconds(1);
    let later = HandedIn { at_ms: ARRIVED.at_ms + FINISHING_MS + 1, doubt: None };
    assert!(files.0.see(name(), written, |_, _| later, Via::Scan, None, now).is_none());
    assert!(!files.see(1, written, Some(Hint::Written)));
    let now = files.1 + seconds(9);
    let ready = files.0.see(name(), written, arrived, Via::Scan, None, now).expect("ready");
    assert_eq!(ready.handed_in, later);
}

#[test]
fn when_the_clock_is_set_what_waits_is_in_doubt() {
    let mut files = Fixture::new();
    assert!(!files.see(0, state(5, -1), None));
    files.0.doubt_clock();
    let now = files.1 + seconds(9);
    let ready = files.0.see(name(), state(5, -1), arrived, Via::Scan, None, now).expect("ready");
    assert_eq!(ready.handed_in, HandedIn { doubt: Some(Doubt::Clock), ..ARRIVED });
}

#[test]
fn files_that_cannot_be_taken_are_known_since_they_were_ready_until_they_change_or_go() {
    let mut files = Fixture::new();
    let (start, first) = (files.1, state(5, 1_000));
    assert_eq!(files.0.failing(), None);
    assert!(files.see(0, first, None));
    files.0.retry_later(&name(), start + seconds(3), seconds(1), "a reason".into());
    let failing = |since, why: &str| Failing { files: 1, since, name: name(), why: why.into() };
    let since = files.0.failing().expect("it fails").since;
    assert!(since <= start, "since it was ready");
    assert!(files.see(4, first, None));
    files.0.retry_later(&name(), start + seconds(4), seconds(1), "another".into());
    // That its inode changes is of our own doing.
    assert!(!files.see(5, FileState { changed: (7, 0), ..first }, Some(Hint::Moved)));
    assert_eq!(files.0.failing(), Some(failing(since, "another")));
    let status = files.0.status(&name(), start + seconds(5)).expect("it waits");
    assert_eq!((status.failures, status.why.as_deref()), (2, Some("another")));

    let other = Name::from_bytes(*b"q");
    assert!(files.0.see(other.clone(), first, arrived, Via::Scan, None, start).is_some());
    files.0.retry_later(&other, start + seconds(9), seconds(1), "a reason".into());
    assert_eq!(files.0.failing().map(|failing| failing.files), Some(2));
    // Other content is another try.
    files.see(6, state(6, 0), None);
    assert_eq!(files.0.failing().map(|failing| failing.name), Some(other.clone()));
    files.0.forget(&other);
    assert_eq!(files.0.failing(), None);
}
