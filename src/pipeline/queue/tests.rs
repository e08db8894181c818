use super::*;
use crate::model::submission::Name;

const LIMITS: Limits = Limits {
    files_max: 4,
    bytes_max: 100,
    chunk_bytes_max: 10,
    alone_max: Duration::from_secs(60),
};

fn file(id: i64, bytes: u64) -> Claimed {
    Claimed {
        id,
        name: Name::from_bytes(format!("p{id}")),
        attempt: 1,
        archived_as: Name::from_bytes(format!("p{id}")),
        received_at_ms: 0,
        bytes,
        ready: Instant::now(),
        seen: None,
        though_open: false,
        tries: 0,
        deaths: 0,
        progress: None,
    }
}

fn ids(batch: Option<Vec<Claimed>>) -> Option<Vec<i64>> {
    batch.map(|batch| batch.iter().map(|claimed| claimed.id).collect())
}

fn admit(queue: &Queue, folders: &[&str], sizes: &[u64]) -> Vec<bool> {
    let names = folders.iter().map(|folder| Name::from_bytes(format!("{folder}/p")));
    let names = names.collect::<Vec<_>>();
    queue.admit(names.iter().zip(sizes.iter().copied()))
}

fn file_in(folder: &str, id: i64) -> Claimed {
    Claimed { name: Name::from_bytes(format!("{folder}/p{id}")), ..file(id, 1) }
}

#[test]
fn a_folder_may_fill_half_of_it() {
    let queue = Queue::new(LIMITS);
    queue.push_all([file_in("a", 1)]);
    assert_eq!(admit(&queue, &["a", "a", "b", "b"], &[1; 4]), [true, false, true, true]);
}

#[test]
fn folders_take_turns() {
    let queue = Queue::new(LIMITS);
    queue.push_all((1..=4).map(|id| file_in("flood", id)));
    queue.push_all([file_in("b", 5), file_in("c", 6)]);
    assert_eq!(ids(queue.next_batch(3, 99)), Some(vec![1, 5, 6]));
    queue.push_all([file_in("d", 7)]);
    assert_eq!(ids(queue.next_batch(9, 99)), Some(vec![2, 7, 3, 4]));
}

#[test]
fn an_abandoned_queue_hands_nothing_out() {
    let queue = Queue::new(LIMITS);
    queue.push_all([file(1, 4), file(2, 11)]);
    queue.abandon();
    assert!(queue.next_batch(9, 9).is_none());
    assert!(queue.next_large().is_none());
}

#[test]
fn it_admits_what_fits_and_large_files_into_one_half() {
    let queue = Queue::new(LIMITS);
    assert_eq!(admit(&queue, &["a", "b", "c", "d", "e"], &[1; 5]), [true, true, true, true, false]);
    let sizes = [1_000, 1_000, 1_000, 1];
    assert_eq!(admit(&queue, &["a", "b", "c", "a"], &sizes), [true, true, false, true]);
}

#[test]
fn large_files_of_one_folder_leave_room_for_those_of_others() {
    let queue = Queue::new(Limits { files_max: 16, bytes_max: 160, ..LIMITS });
    let folders = ["a", "a", "a", "a", "a", "b", "b", "a", "c", "c"];
    let admitted = [true, true, true, true, false, true, true, false, true, true];
    assert_eq!(admit(&queue, &folders, &[1_000; 10]), admitted);
    queue.push_all((1..=4).map(|id| Claimed { bytes: 1_000, ..file_in("a", id) }));
    assert_eq!(admit(&queue, &["a", "b"], &[1_000; 2]), [false, true]);
}

#[test]
fn an_empty_queue_takes_any_one_file() {
    let queue = Queue::new(Limits { bytes_max: 5, ..LIMITS });
    assert_eq!(admit(&queue, &["a", "b"], &[7, 1]), [true, false]);
}

#[test]
fn batches_keep_order_and_bounds_and_large_files_have_their_own_lane() {
    let queue = Queue::new(LIMITS);
    queue.push_all([file(1, 4), file(2, 11), file(3, 4), file(4, 4)]);
    assert_eq!(queue.flow().queue_bytes, 4 + 10 + 4 + 4);
    assert_eq!(ids(queue.next_batch(10, 9)), Some(vec![1, 3]));
    assert_eq!(ids(queue.next_batch(1, 9)), Some(vec![4]));
    assert_eq!(queue.next_large().map(|claimed| claimed.id), Some(2));
    let flow = queue.flow();
    assert_eq!((flow.queue_files, flow.queue_bytes, flow.in_flight_files), (0, 0, 4));
    queue.done([1, 2, 3, 4]);
    assert_eq!(queue.flow().in_flight_files, 0);
}

#[test]
fn it_is_not_idle_while_files_wait_are_graded_or_are_on_their_way() {
    let queue = Queue::new(LIMITS);
    assert!(queue.is_idle());
    queue.set_more_coming(true);
    assert!(!queue.is_idle());
    queue.push_all([file(1, 4)]);
    queue.set_more_coming(false);
    assert!(!queue.is_idle());
    assert_eq!(ids(queue.next_batch(9, 9)), Some(vec![1]));
    assert!(!queue.is_idle());
    queue.graded(1);
    assert!(queue.is_idle());
}

#[test]
fn a_closed_queue_ends_only_when_nothing_can_come_back() {
    let queue = Queue::new(LIMITS);
    queue.push_all([file(1, 4)]);
    queue.close();
    let batch = queue.next_batch(9, 9).expect("a batch");
    queue.push_large(batch[0].clone());
    let claimed = queue.next_large().expect("the same file");
    queue.push_later(claimed, Instant::now());
    assert_eq!(ids(queue.next_batch(9, 9)), Some(vec![1]));
    queue.graded(1);
    assert!(queue.next_batch(9, 9).is_none());
    assert!(queue.next_large().is_none());
}

#[test]
fn a_budget_lets_a_single_large_sum_pass() {
    let budget = Budget::new(10);
    budget.take(25);
    budget.give(25);
    budget.take(4);
    budget.take(6);
    budget.give(10);
}

fn suspect(id: i64, bytes: u64, deaths: u32) -> Claimed {
    Claimed { deaths, ..file(id, bytes) }
}

#[test]
fn suspects_come_one_at_a_time_before_all_others_and_the_least_suspicious_first() {
    let queue = Queue::new(LIMITS);
    queue.push_all([suspect(1, 1, 2), suspect(2, 1, 1), suspect(3, 99, 1), file(4, 1)]);
    for wanted in [(2, false), (1, false), (3, true)] {
        let (claimed, large) = queue.next_alone().expect("a suspect");
        assert_eq!((claimed.id, large), wanted);
        assert!(queue.state().alone.keeps_others());
        queue.graded(1);
        queue.end_alone();
    }
    assert_eq!(ids(queue.next_batch(9, 99)), Some(vec![4]));
    queue.close();
    queue.graded(1);
    assert!(queue.next_alone().is_none() && queue.next_batch(9, 99).is_none());
}

#[test]
fn others_wait_for_a_slow_suspect_only_so_long_and_it_for_a_slow_other() {
    let queue = Queue::new(Limits { alone_max: Duration::from_millis(20), ..LIMITS });
    queue.push_all([suspect(1, 99, 1), suspect(2, 99, 1), file(3, 1)]);
    assert_eq!(queue.next_alone().expect("a suspect").0.id, 1);
    // Neither of the two is dealt with.
    assert_eq!(ids(queue.next_batch(9, 99)), Some(vec![3]));
    queue.graded(1);
    queue.end_alone();
    assert_eq!(queue.next_alone().expect("the other suspect").0.id, 2);
}
