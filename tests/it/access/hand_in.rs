//! Files that are handed in over the network, beside a running service.

use super::kit::{access, asking};
use crate::kit::Sandbox;
use crate::kit::cases::classic;
use crate::tournament::{Folder, SOLVED, wait_for_judgements};
use gridmark::event::{Event, Feedback, feedback, read};
use gridmark::model::submission::Name;
use gridmark::pipeline::standings::LiveStandings;
use gridmark::store::archive::{Archive, HandInError, Receipt};
use gridmark::store::ledger::Ledger;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

const BYTES_MAX: u64 = 1 << 20;

fn archive(sandbox: &Sandbox) -> Archive {
    Archive::of(sandbox.path("inbox"), sandbox.path("archive"), sandbox.path("quarantine"))
}

fn hand_in(archive: &Archive, name: &str, text: &str) -> Result<Receipt, HandInError> {
    let mut hand_in = archive.hand_in(&Name::from_bytes(name), BYTES_MAX)?;
    for part in text.as_bytes().chunks(50) {
        hand_in.write(part)?;
    }
    hand_in.finish(0)
}

/// All files below a folder of a sandbox, hidden ones too, but for the lock.
fn files(sandbox: &Sandbox, folder: &str) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![sandbox.path(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.retain(|file| !file.ends_with(".gridmark-lock"));
    files
}

/// The event folder of a sandbox.
fn event(sandbox: &Sandbox) -> Event {
    read(&gridmark::event::Folder::read(&sandbox.path("event")).unwrap()).unwrap()
}

#[test]
fn an_entrants_file_is_graded_as_theirs_and_the_receipt_is_about_its_bytes() {
    let mut sandbox = Sandbox::new();
    Folder::new().write(&sandbox);
    sandbox.start();
    let names = event(&sandbox).names;
    let path = names.path_of(names.owner_with("102", "r1", "p1").unwrap()).unwrap();
    let first = hand_in(&archive(&sandbox), &path.to_string(), &format!("{SOLVED}\n")).unwrap();
    sandbox.wait_for(1);
    // Once it is taken, they may try again.
    let second = hand_in(&archive(&sandbox), &path.to_string(), &".".repeat(81)).unwrap();
    let rows = sandbox.wait_for(2);
    for (row, (receipt, attempt)) in rows.iter().zip([(&first, "1"), (&second, "2")]) {
        assert_eq!(row.columns(&["submission", "attempt"]), format!("{path}|{attempt}"));
        assert_eq!(row.get("blake3"), receipt.blake3.to_hex().as_str());
        assert_eq!(row.get("bytes"), receipt.bytes.to_string());
    }
    sandbox.stop();
    assert!(files(&sandbox, "inbox").is_empty());
    let entries = sandbox.rows("rounds/r1-entries.csv");
    assert_eq!(entries[0].columns(&["entrant", "puzzle", "verdict"]), "102|p1|correct");
}

#[test]
fn an_entrant_comes_from_a_card_to_a_verdict_and_sees_no_more_than_the_event_lets_them() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.event.push_str("[entrant]\nsees = \"verdict\"\nwhen = \"official\"\n");
    folder.rounds[0].1 = folder.rounds[0].1.replace("8000h", "1m");
    folder.write(&sandbox);
    sandbox.start();
    let cards = sandbox.run("event cards", &["--entrant", "103"]).stdout;
    let code = cards.split("<p class=\"code\">").nth(1).unwrap().split('<').next().unwrap();
    sandbox.stop();
    let event = event(&sandbox);
    let access = access(&sandbox);
    let entrant = access.entrant(code, &asking()).unwrap();
    let name = event.names.path_for(&entrant, "r1", "p1").unwrap();
    access.admit_hand_in(&entrant, &name, asking().steady).unwrap();
    drop(access);
    // It keeps the rules of no house.
    hand_in(&archive(&sandbox), &name.to_string(), &"1".repeat(81)).unwrap();
    sandbox.start();
    wait_for_judgements(&mut sandbox, &["r1/p1/103.txt~1: 103 r1/p1 wrong"]);
    let see = |sandbox: &Sandbox| {
        let ledger = Ledger::open_to_read(&sandbox.path("state/ledger.db")).unwrap().unwrap();
        let live = LiveStandings::new(Arc::new(ledger));
        let now_ms = asking().wall_ms;
        let state = live.read(|standings| standings.state(0, now_ms)).unwrap().unwrap();
        let ledger = Ledger::open_to_read(&sandbox.path("state/ledger.db")).unwrap().unwrap();
        let judged = ledger.changes().of_submission(1).unwrap().pop().unwrap();
        assert_eq!(judged.judgement.entry.as_ref().unwrap().entrant, "103");
        feedback(&event, state, &judged.judgement.outcome, None)
    };
    assert_eq!(see(&sandbox), Feedback::default(), "not before it is official");
    let official = ["official", "--round", "r1", "--by", "x", "--reason", "y"];
    let official = sandbox.run("event rule", &official);
    assert_eq!(official.code, Some(0), "{official:?}");
    assert_eq!(see(&sandbox), Feedback { verdict: Some("wrong"), faults: None });
}

#[test]
fn of_several_files_with_one_name_one_is_handed_in_and_files_of_many_are_graded_once() {
    let mut sandbox = Sandbox::started();
    sandbox.stop();
    let hand_ins = |name: fn(usize) -> String| -> usize {
        let archive = archive(&sandbox);
        std::thread::scope(|scope| {
            let archive = &archive;
            let threads = (0..8).map(|i| {
                scope.spawn(move || hand_in(archive, &name(i), &classic(i, &"Y".repeat(9))))
            });
            let ended = threads.collect::<Vec<_>>().into_iter().map(|it| it.join().unwrap());
            ended
                .filter(|handed_in| match handed_in {
                    Ok(_) => true,
                    Err(HandInError::Exists) => false,
                    Err(error) => panic!("{error}"),
                })
                .count()
        })
    };
    assert_eq!(hand_ins(|_| "team/one".into()), 1);
    assert_eq!(hand_ins(|i| format!("team/{i}")), 8);
    sandbox.start();
    let rows = sandbox.wait_for(9);
    assert!(rows.iter().all(|row| row.get("correct") == "9"), "{rows:?}");
}

#[test]
fn a_start_removes_what_a_crash_has_left_and_says_so() {
    let mut sandbox = Sandbox::new();
    sandbox.write("inbox/.gridmark-hand-in-17-1", "53..7");
    sandbox.write("inbox/team/p1", classic(1, "Y"));
    sandbox.start();
    assert!(!sandbox.path("inbox/.gridmark-hand-in-17-1").exists());
    sandbox.wait_for(1);
    let metrics = sandbox.service().metrics();
    assert_eq!(metrics.of("gridmark_hand_ins_total{result=\"broken-off\"}"), 1.0);
    assert!(sandbox.service().log().contains("what there was of them is removed"));
    sandbox.stop();
    sandbox.start();
    assert_eq!(sandbox.service().metrics().sum("gridmark_hand_ins_total"), 0.0);
}

#[test]
fn a_full_disk_leaves_nothing_and_says_so_and_room_helps() {
    let Some(sandbox) = Sandbox::on_island() else { return };
    fs::create_dir_all(sandbox.path("inbox")).unwrap();
    sandbox.on_shore("mount -t tmpfs -o size=256k none inbox");
    let ballast = sandbox.path("inbox/ballast");
    let mut file = File::create(&ballast).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    let text = "x".repeat(10_000);
    let error = hand_in(&archive(&sandbox), "team/p", &text).expect_err("it is full");
    assert!(matches!(error, HandInError::Full(_)), "{error:?}");
    assert_eq!(files(&sandbox, "inbox"), std::slice::from_ref(&ballast));
    drop(file);
    fs::remove_file(ballast).unwrap();
    hand_in(&archive(&sandbox), "team/p", &text).unwrap();
    assert_eq!(fs::read_to_string(sandbox.path("inbox/team/p")).unwrap(), text);
    sandbox.on_shore("mount -o remount,ro inbox");
    let error = hand_in(&archive(&sandbox), "team/q", &text).expect_err("it is read-only");
    assert!(matches!(error, HandInError::NotWritable(_)), "{error:?}");
}

#[test]
fn a_mount_inside_the_inbox_gets_files_too() {
    let Some(sandbox) = Sandbox::on_island() else { return };
    fs::create_dir_all(sandbox.path("inbox/far")).unwrap();
    sandbox.on_shore("mount -t tmpfs -o size=256k none inbox/far");
    let archive = archive(&sandbox);
    hand_in(&archive, "far/deep/p", "text").unwrap();
    assert_eq!(fs::read_to_string(sandbox.path("inbox/far/deep/p")).unwrap(), "text");
    let error = hand_in(&archive, "far/deep/p", "other").expect_err("it is there");
    assert!(matches!(error, HandInError::Exists), "{error:?}");
    assert_eq!(files(&sandbox, "inbox"), [sandbox.path("inbox/far/deep/p")]);
}
