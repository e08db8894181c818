use super::*;

const QUIET: Quiet = Quiet { settle: Duration::from_secs(2), open: Duration::from_secs(100) };

fn look(bytes: u64, changed_ago: i64) -> Look {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let changed = (now.as_secs() as i64 - changed_ago, 0);
    Look { signature: Signature::for_tests(bytes), changed, linked: false }
}

fn name() -> Name {
    Name::from_bytes(*b"p")
}

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

struct Room(WaitingRoom, Instant);

impl Room {
    fn new() -> Room {
        Room(WaitingRoom::new(QUIET, 10), Instant::now())
    }

    fn see(&mut self, at: u64, look: Look, hint: Option<Hint>) -> bool {
        self.0.see(name(), look, Via::Scan, hint, self.1 + seconds(at)).is_some()
    }

    /// It has settled, but is found to be open.
    fn is_open_at(&mut self, at: u64, look: Look) {
        let now = self.1 + seconds(at);
        let ready = self.0.see(name(), look, Via::Scan, None, now).expect("settled");
        assert!(!ready.though_open);
        self.0.is_written(&name(), now, seconds(1));
        assert!(!self.see(at, look, None), "it is not looked at all the time");
    }
}

#[test]
fn a_file_that_changed_long_ago_is_ready_at_once_and_only_once() {
    let mut room = Room::new();
    assert!(room.see(0, look(5, 1_000), None));
    assert!(!room.see(0, look(5, 1_000), None));
    assert!(room.0.due(room.1 + seconds(9)).is_empty());
}

#[test]
fn a_new_file_must_be_left_alone_for_the_settle_time() {
    let mut room = Room::new();
    let first = look(5, 0);
    assert!(!room.see(0, first, None));
    assert!(!room.see(1, look(6, -3), None));
    assert!(!room.see(2, look(6, -3), None), "it has changed a second ago");
    assert_eq!(room.0.due(room.1 + seconds(2)), []);
}

#[test]
fn a_time_in_the_future_is_no_obstacle() {
    let mut room = Room::new();
    let from_the_future = look(5, -1_000_000);
    assert!(!room.see(0, from_the_future, None));
    assert_eq!(room.0.due(room.1 + seconds(3)), [name()]);
    assert!(room.see(3, from_the_future, None));
}

#[test]
fn a_file_that_was_moved_in_is_ready_at_once() {
    assert!(Room::new().see(0, look(5, 0), Some(Hint::Moved)));
}

#[test]
fn a_file_being_written_waits_for_its_closing() {
    let mut room = Room::new();
    let slow = look(5, -1);
    assert!(!room.see(0, slow, Some(Hint::Written)));
    room.is_open_at(50, slow);
    assert!(room.see(51, slow, Some(Hint::Closed)));
}

#[test]
fn a_file_that_may_be_written_waits_for_long() {
    let mut room = Room::new();
    let slow = look(5, -1);
    assert!(!room.see(0, slow, Some(Hint::Written)));
    let ready = room.0.see(name(), slow, Via::Scan, None, room.1 + seconds(4)).expect("ready");
    assert!(ready.seen_writing && !ready.though_open);
    room.0.may_be_written(&name());
    assert!(!room.see(50, slow, None));
    assert!(room.see(101, slow, None));
}

#[test]
fn an_empty_file_may_have_been_made_a_moment_ago_and_waits_longer() {
    let mut room = Room::new();
    let empty = look(0, -1);
    assert!(!room.see(0, empty, None));
    assert!(!room.see(3, empty, None), "its writer may only be slow");
    assert!(room.see(4, empty, Some(Hint::Closed)), "its writer is not");

    let mut room = Room::new();
    assert!(!room.see(0, empty, None));
    assert!(!room.see(3, look(5, -4), None), "it has just changed");
    assert!(room.see(6, look(5, -4), None));
    assert!(Room::new().see(0, look(0, 1_000), None), "it has been there for long");
}

#[test]
fn a_file_that_nobody_closes_is_taken_in_the_end() {
    let mut room = Room::new();
    let never_closed = look(5, -1);
    assert!(!room.see(0, never_closed, Some(Hint::Written)));
    room.is_open_at(50, never_closed);
    let late = room.1 + seconds(101);
    let ready = room.0.see(name(), never_closed, Via::Scan, None, late).expect("ready");
    assert!(ready.though_open);
}

#[test]
fn a_file_that_was_put_back_waits_for_its_closing_though_it_was_renamed() {
    let mut room = Room::new();
    let slow = look(5, -1);
    room.0.put_back(name(), slow, room.1);
    assert!(!room.see(0, slow, Some(Hint::Moved)));
    room.is_open_at(50, slow);
    assert!(room.see(51, slow, Some(Hint::Closed)));
}

#[test]
fn what_is_moved_over_a_file_that_was_put_back_is_ready_at_once() {
    let mut room = Room::new();
    room.0.put_back(name(), look(5, -1), room.1);
    let mut other = look(5, -1);
    other.signature.identity.1 += 1;
    assert!(room.see(0, other, Some(Hint::Moved)));
}

#[test]
fn a_second_name_of_a_file_is_not_taken_for_writing() {
    let mut room = Room::new();
    let linked = Look { linked: true, ..look(5, -1) };
    assert!(!room.see(0, linked, Some(Hint::Written)));
    assert!(room.see(3, linked, None));
}

#[test]
fn what_could_not_be_taken_is_handed_out_again_later() {
    let mut room = Room::new();
    assert!(room.see(0, look(5, 1_000), None));
    room.0.settle_again(&name(), room.1, seconds(5));
    assert!(!room.see(4, look(5, 1_000), None));
    assert_eq!(room.0.next_due(), Some(room.1 + seconds(5)));
    assert!(room.see(5, look(5, 1_000), None));
    room.0.settle_again(&name(), room.1 + seconds(5), seconds(5));
    assert_eq!(room.0.next_due(), Some(room.1 + seconds(15)));
}

#[test]
fn the_next_file_of_a_name_that_comes_while_one_is_taken_is_not_forgotten() {
    let mut room = Room::new();
    let now = room.1;
    let first = room.0.see(name(), look(5, 1_000), Via::Scan, None, now).expect("ready");
    assert!(!room.see(0, look(6, 1_000), Some(Hint::Moved)), "its turn comes later");
    room.0.taken(&first);
    assert_eq!(room.0.due(now), [name()]);
    let second = room.0.see(name(), look(6, 1_000), Via::Scan, None, now).expect("ready");
    room.0.taken(&second);
    assert_eq!((room.0.len(), room.0.next_due()), (0, None));
}

#[test]
fn a_full_room_still_hands_out_what_is_ready() {
    let mut room = WaitingRoom::new(QUIET, 0);
    let now = Instant::now();
    assert!(room.see(name(), look(5, 0), Via::Event, None, now).is_none());
    assert!(room.take_missed());
    assert!(room.see(name(), look(5, 1_000), Via::Event, None, now).is_some());
}
