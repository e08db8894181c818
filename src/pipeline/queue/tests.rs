use super::*;
use crate::model::submission::{HandedIn, Name};

const LIMITS: Limits = Limits { files_max: 4, bytes_max: 100, chunk_bytes_max: 10 };

fn file(id: i64, bytes: u64) -> Claimed {
    Claimed {
        id,
        name: Name::from_bytes(format!("p{id}")),
        attempt: 1,
        archived_as: Name::from_bytes(format!("p{id}")),
        handed_in: HandedIn { at_ms: 0, doubt: None },
        received_at_ms: 0,
        bytes,
        ready: Instant::now(),
        seen: None,
        though_open: false,
        tries: 0,
        crashes: 0,
        damage: None,
        check_nuls: false,
        progress: None,
        definitions: None,
    }
}

fn ids(batch: Option<Vec<Claimed>>) -> Option<Vec<i64>> {
    batch.map(|batch| batch.iter().map(|claimed| claimed.id).collect())
}

fn admit(queue: &Queue, folders: &[&str], sizes: &[u64]) -> Vec<bool> {
    let names = folders.iter().map(|folder| Name::from_bytes(format!("{folder}/p")));
    let names = names.collect::<Vec<_>>();
    let files = names.iter().zip(sizes);
    queue.admit(|admission| files.map(|(name, size)| admission.admits(name, *size)).collect())
}

fn file_in(folder: &str, id: i64) -> Claimed {
    Claimed { name: Name::from_bytes(format!("{folder}/p{id}")), ..file(id, 1) }
}

#[test]
fn one_folder_may_fill_half_of_the_queue() {
    let queue = Queue::new(LIMITS);
    queue.push_all([file_in("a", 1)]);
    assert_eq!(admit(&queue, &["a", "a", "b", "b"], &[1; 4]), [true, false, true, true]);
}

#[test]
fn folders_take_turns() {
    let queue = Queue::new(LIMITS);
    queue.push_all((1..=20).map(|id| file_in("flood", id)));
    queue.push_all([file_in("b", 21), file_in("c", 22)]);
    let turn = (1..=16).chain([21]).collect();
    assert_eq!(ids(queue.next_batch(17, 99)), Some(turn));
    queue.push_all([file_in("d", 23)]);
    assert_eq!(ids(queue.next_batch(99, 99)), Some(vec![22, 17, 18, 19, 20, 23]));
}

#[test]
fn nothing_is_taken_out_of_an_abandoned_queue() {
    let queue = Queue::new(LIMITS);
    queue.push_all([file(1, 4), file(2, 11)]);
    queue.drain(Drain::Abandon);
    assert!(queue.next_batch(9, 9).is_none());
    assert!(queue.next_large().is_none());
}

#[test]
fn files_are_admitted_that_fit_and_large_files_fill_one_half() {
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
fn the_queue_is_not_idle_while_files_wait_or_are_graded_or_are_being_moved() {
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
    queue.drain(Drain::Close);
    let batch = queue.next_batch(9, 9).expect("a batch");
    queue.requeue(batch[0].clone(), Requeue::Large);
    let claimed = queue.next_large().expect("the same file");
    queue.requeue(claimed, Requeue::Later(Instant::now()));
    assert_eq!(ids(queue.next_batch(9, 9)), Some(vec![1]));
    queue.graded(1);
    assert!(queue.next_batch(9, 9).is_none());
    assert!(queue.next_large().is_none());
}

#[test]
fn a_budget_grants_one_request_that_is_larger_than_itself() {
    let budget = Budget::new(10);
    budget.take(25);
    budget.give(25);
    budget.take(4);
    budget.take(6);
    budget.give(10);
}

#[test]
fn large_files_that_wait_when_the_service_ends_are_left_to_the_next_start() {
    let queue = Queue::new(LIMITS);
    queue.push_all([file(1, 11), file(2, 11), file(3, 1)]);
    let claimed = queue.next_large().expect("the first");
    queue.drain(Drain::LeaveLarge);
    assert!(queue.next_large().is_none());
    queue.requeue(claimed, Requeue::NextStart);
    assert_eq!(queue.left(), Left { large: 2, starved: 0 });
    assert_eq!(queue.flow().queue_bytes, 1);
    assert_eq!(ids(queue.next_batch(9, 9)), Some(vec![3]));
}
