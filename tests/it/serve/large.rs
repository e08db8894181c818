//! Large files are graded chunk by chunk, and make no difference to anything else.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku, killer};
use crate::kit::reports::{Row, timeless};
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

/// A sandbox that streams everything from 8 KiB up.
fn streaming() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox
}

/// The same, and no chunk is graded before the one before is durable.
fn slowly_streaming() -> Sandbox {
    let mut sandbox = streaming();
    sandbox.set("publish.commit_wait_ms_max", 0).set("publish.pending_bytes_max", 1);
    sandbox
}

fn large_classic(blocks: usize) -> String {
    (0..blocks).map(|i| classic(i, &"YNYYNNYNY"[..1 + i % 9])).collect()
}

fn cases_and_submissions(sandbox: &Sandbox) -> (Vec<Row>, Vec<Row>) {
    (timeless(sandbox.rows("loose.csv")), timeless(sandbox.submissions()))
}

/// Promise P8.
#[test]
fn a_streamed_file_gets_the_same_marks_as_one_graded_whole() {
    let long_block = classic(3, &"YN".repeat(1500));
    let texts = [
        large_classic(300),
        long_block.clone() + &long_block[..long_block.len() / 2],
        large_classic(100).replace('\n', "\r\n") + "12\nnonsense\n",
        (0..150).map(|i| killer(i, i % 3 != 0)).collect(),
        (0..200).map(|i| hexudoku(i % 17) + "\n").collect::<String>() + "----",
        "no puzzle at all ".repeat(5_000),
    ];
    let graded = [Sandbox::new(), streaming()].map(|mut sandbox| {
        sandbox.set("grade.case_bytes_max", 4096);
        for (i, text) in texts.iter().enumerate() {
            sandbox.write(format!("inbox/p{i}"), text);
        }
        sandbox.start();
        let rows = sandbox.wait_for(texts.len());
        for row in &rows {
            let number: usize = row.get("submission")[1..].parse().unwrap();
            assert_eq!(row.get("blake3"), blake3::hash(texts[number].as_bytes()).to_hex().as_str());
            assert_eq!(row.number("bytes"), texts[number].len() as u64);
        }
        let chunks = sandbox.service().metrics().of("gridmark_batch_cases_count");
        (cases_and_submissions(&sandbox), chunks)
    });
    assert!(graded[1].1 > graded[0].1 + 20.0, "it was not streamed");
    assert!(graded[0].0.0.len() > 5_000);
    assert_eq!(graded[0].0, graded[1].0);
}

/// A large file whose grading is ended, as `end` does it, after some of its rows, three times; and
/// beside it one that was left in peace.
fn ended_thrice(mut end: impl FnMut(&mut Sandbox)) -> (Sandbox, Sandbox) {
    let text = large_classic(6_000);
    let mut undisturbed = Sandbox::new();
    undisturbed.write("inbox/p", &text);
    undisturbed.start();
    undisturbed.wait_for(1);

    let mut sandbox = slowly_streaming();
    sandbox.write("inbox/p", &text);
    for rows in [400, 2_000, 5_000] {
        sandbox.start_unready();
        sandbox.wait_until("some rows are there", |sandbox| sandbox.rows("loose.csv").len() > rows);
        end(&mut sandbox);
        assert_eq!(sandbox.submissions(), [], "it was done before it was ended");
    }
    (sandbox, undisturbed)
}

/// Promise P2.
#[test]
fn a_large_file_resumes_after_a_crash_and_no_case_is_there_twice() {
    let (mut sandbox, undisturbed) = ended_thrice(|sandbox| {
        sandbox.kill();
        let has_come = "SELECT checkpoint IS NOT NULL FROM submissions";
        assert!(sandbox.ledger().query_row(has_come, [], |row| row.get::<_, bool>(0)).unwrap());
    });
    // What was begun in chunks goes on in chunks, even if by now it would be graded whole.
    sandbox.set("grade.chunk_bytes_max", 64 << 20).set("publish.pending_bytes_max", 1 << 20);
    sandbox.start();
    sandbox.wait_for(1);
    assert_eq!(cases_and_submissions(&sandbox), cases_and_submissions(&undisturbed));
    assert_eq!(sandbox.service().metrics().of("gridmark_recovered_claims_total"), 1.0);
}

#[test]
fn a_signal_stops_a_large_file_at_a_chunk_and_the_next_start_resumes_there() {
    let (mut sandbox, undisturbed) = ended_thrice(|sandbox| {
        let ended = sandbox.terminate();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
        assert!(ended.log.contains("the next start continues with large files"), "{}", ended.log);
    });
    sandbox.start();
    sandbox.wait_for(1);
    assert_eq!(cases_and_submissions(&sandbox), cases_and_submissions(&undisturbed));
    assert_eq!(sandbox.service().metrics().of("gridmark_report_cuts_total"), 0.0);
}

#[test]
fn a_signal_does_not_wait_for_the_end_of_a_huge_file() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.threads_max", 1);
    // Two are under way, one waits, and all of them would take hours.
    for i in 0..3 {
        sandbox.write(format!("inbox/{i}"), classic(1, "YN"));
        let file = File::options().write(true).open(sandbox.path(format!("inbox/{i}"))).unwrap();
        file.set_len(1 << 40).unwrap();
    }
    for start in 0..2 {
        sandbox.start();
        sandbox.wait_until("all are taken", |sandbox| {
            (0..3).all(|i| sandbox.has(format!("archive/{i}")))
        });
        sandbox.rename_in(format!("small {start}"), hexudoku(1));
        sandbox.wait_for(start + 1);
        let begun = Instant::now();
        let ended = sandbox.terminate();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
        assert!(ended.log.contains("unfinished=3"), "{}", ended.log);
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}

/// Promise P7.
#[test]
fn a_large_file_that_changes_while_it_is_graded_is_failed_and_may_be_handed_in_again() {
    let text = large_classic(6_000);
    let mut sandbox = slowly_streaming();
    sandbox.start();
    sandbox.write("outside/p", &text);
    let mut writer = File::options().append(true).open(sandbox.path("outside/p")).unwrap();
    std::fs::rename(sandbox.path("outside/p"), sandbox.path("inbox/p")).unwrap();
    sandbox.wait_until("it has begun", |sandbox| !sandbox.rows("loose.csv").is_empty());
    writer.write_all(b"1\n").unwrap();
    drop(writer);
    let rows = sandbox.wait_for(1);
    assert_eq!(rows[0].columns(&["status", "blake3"]), "failed|");
    assert_eq!(rows[0].number("cases"), sandbox.rows("loose.csv").len() as u64);
    sandbox.wait_until("it is kept", |sandbox| sandbox.has("quarantine/p"));
    sandbox.rename_in("p", classic(1, "Y"));
    let rows = sandbox.wait_for(2);
    assert_eq!(rows[1].columns(&["attempt", "status", "archived_as"]), "2|graded|p~2");
}

/// Hands in three files that take no time to write, since nothing is in them, and no end to read.
fn hand_in_endless_ones(sandbox: &mut Sandbox) {
    for i in 0..3 {
        sandbox.write(format!("outside/{i}"), classic(1, "YN"));
        let file = File::options().write(true).open(sandbox.path(format!("outside/{i}"))).unwrap();
        file.set_len(1 << 40).unwrap();
        std::fs::create_dir_all(sandbox.path("inbox/huge")).unwrap();
        let path = sandbox.path(format!("inbox/huge/{i}"));
        std::fs::rename(sandbox.path(format!("outside/{i}")), path).unwrap();
    }
    sandbox.wait_until("all of them are taken", |sandbox| {
        (0..3).all(|i| sandbox.has(format!("archive/huge/{i}")))
    });
    sandbox
        .wait_until("they are being graded", |sandbox| sandbox.rows("folders/huge.csv").len() > 2);
}

/// Promise P6.
#[test]
fn large_files_take_turns() {
    let mut sandbox = streaming();
    sandbox.set("grade.turn_ms_max", 1).start();
    hand_in_endless_ones(&mut sandbox);
    // In the same folder or another, they are not held up by those that come to no end.
    let text = large_classic(100);
    for name in ["huge/4", "other/5", "6"] {
        sandbox.rename_in(name, &text);
    }
    let rows = sandbox.wait_for(3);
    for row in &rows {
        assert_eq!(row.get("blake3"), blake3::hash(text.as_bytes()).to_hex().as_str());
    }
    sandbox.stop();
}

/// Promise P6.
#[test]
fn taking_turns_makes_no_difference_to_marks() {
    let mut sandbox = slowly_streaming();
    sandbox.set("grade.turn_ms_max", 0).set("grade.streams_max", 3);
    let texts: Vec<String> = (0..9).map(|i| large_classic(60 + i * 20)).collect();
    let name = |number: usize| format!("{}/{number}", number % 2);
    sandbox.start();
    // A file makes room only for one that waits already, so hand in more until enough have waited.
    let mut handed_in = 0;
    while sandbox.service().metrics().of("gridmark_turns_total") <= 20.0 {
        assert!(handed_in < 10 * texts.len(), "they take no turns");
        for text in &texts {
            sandbox.rename_in(name(handed_in), text);
            handed_in += 1;
        }
        sandbox.wait_for(handed_in);
    }
    for row in sandbox.submissions() {
        let number: usize = row.get("submission")[2..].parse().unwrap();
        let text = &texts[number % texts.len()];
        assert_eq!(row.get("blake3"), blake3::hash(text.as_bytes()).to_hex().as_str());
    }
    // Each has all of its rows in the order of its cases, with rows of other files between them.
    for number in 0..handed_in {
        let mut alone = Sandbox::new();
        alone.set("grade.case_bytes_max", 4096);
        alone.rename_in(name(number), &texts[number % texts.len()]);
        alone.start();
        alone.wait_for(1);
        let report = format!("folders/{}.csv", number % 2);
        let mut rows = sandbox.rows(&report);
        rows.retain(|row| row.get("submission") == name(number));
        assert_eq!(rows, alone.rows(&report));
    }
    sandbox.stop();
    let outcome = sandbox.run("verify", &[] as &[&str]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

/// Promise P6.
#[test]
fn huge_files_do_not_delay_small_ones() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.threads_max", 1).start();
    hand_in_endless_ones(&mut sandbox);
    for i in 0..50 {
        sandbox.rename_in(format!("small/{i}"), hexudoku(i % 17));
    }
    let rows = sandbox.wait_for(50);
    assert!(rows.iter().all(|row| row.get("submission").starts_with("small/")));
    assert!(sandbox.service().get("/livez").starts_with("HTTP/1.1 200 OK\r\n"));
    sandbox.stop();
}
