//! The plug is pulled at any moment, again and again: the reports are those of a quiet run.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, some};
use crate::kit::crashes::Copies;
use crate::kit::random::{Random, is_long};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

/// Names and contents, in the order in which they are dropped: so many, and those that come again.
fn drops(names: usize) -> VecDeque<(String, String)> {
    let large: String = (0..500).map(|i| classic(i, "YNY")).collect();
    let mut drops = VecDeque::from([("large/p".to_owned(), large)]);
    for i in 0..names {
        let name = match i % 10 {
            0 => format!("loose {i}"),
            folder => format!("team {folder}/{}/p{i}.txt", i % 3),
        };
        drops.push_back((name, some(i)));
        // Some names come again, and some of them a third time.
        if i % 6 == 5 {
            let (name, _) = drops[drops.len() - 1 - i % 4].clone();
            drops.push_back((name, some(i + 10_000)));
        }
    }
    drops
}

/// Drops the next file, unless one of its name is still in the inbox.
fn drop_next(sandbox: &Sandbox, drops: &mut VecDeque<(String, String)>) -> bool {
    let is_free =
        drops.front().is_some_and(|(name, _)| !sandbox.has(Path::new("inbox").join(name)));
    if is_free && let Some((name, text)) = drops.pop_front() {
        sandbox.rename_in(name, text);
    }
    is_free
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    // More crashes than a submission may have by default.
    sandbox.set("grade.tries_max", 1_000);
    sandbox.set("publish.commit_wait_ms_max", 5).set("intake.claim_files_max", 16);
    sandbox
}

/// Waits until everything is dropped and graded, and ends the service.
fn finish(sandbox: &mut Sandbox, drops: &mut VecDeque<(String, String)>, submissions: usize) {
    while !drops.is_empty() {
        sandbox.wait_until("the name is free again", |sandbox| drop_next(sandbox, drops));
    }
    sandbox.wait_for(submissions);
    sandbox.stop();
}

/// Promise P4.
///
///
/// `GRIDMARK_TEST_LONG=1` is for several thousand submissions, and `GRIDMARK_TEST_SEED` repeats the
/// moments of an earlier run, as far as moments can be repeated.
#[test]
fn after_kills_at_any_moment_the_reports_are_those_of_an_undisturbed_run() {
    let mut random = Random::new();
    let (names, kills) = if is_long() { (5_000, 150) } else { (300, 10) };
    let mut drops = drops(names);
    let submissions = drops.len();
    let mut undisturbed = sandbox();
    undisturbed.start();
    finish(&mut undisturbed, &mut drops.clone(), submissions);

    let mut disturbed = sandbox();
    let copies = Copies::of(&disturbed);
    for kill in 0..kills {
        disturbed.spawn();
        let lives = Instant::now() + Duration::from_millis(random.below(250));
        let most = submissions * (kill + 1) / kills;
        while Instant::now() < lives {
            if submissions - drops.len() >= most || !drop_next(&disturbed, &mut drops) {
                std::thread::yield_now();
            }
        }
        disturbed.kill();
    }
    disturbed.start();
    finish(&mut disturbed, &mut drops, submissions);
    assert!(copies.end() > kills);

    assert_eq!(disturbed.submissions().len(), submissions);
    assert_eq!(disturbed.report_lines(), undisturbed.report_lines());
    disturbed.agrees();
}
