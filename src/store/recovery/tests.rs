use super::*;
use crate::config::Settings;
use crate::model::submission::{HandedIn, Place, Prefix, Progress, Rules, Tally};
use crate::store::ledger::{Candidate, Commit, Outcome};
use crate::store::reports::rebuild::Rebuild;
use gridmark_core::Kind;
use gridmark_core::judge::Tier;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Ledger and archive in a folder of their own.
struct Room {
    root: tempfile::TempDir,
    ledger: Arc<Ledger>,
    archive: Arc<Archive>,
}

impl Room {
    fn new() -> Room {
        let root = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| root.path().join(name);
        for name in ["state", "reports"] {
            fs::create_dir(folder(name)).expect("a folder");
        }
        let archive = Archive::open(folder("inbox"), folder("archive"), folder("quarantine"));
        let ledger = Ledger::open(&folder("state").join("ledger.db")).expect("a ledger");
        Room { archive: Arc::new(archive.expect("an archive")), ledger: Arc::new(ledger), root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &[u8]) {
        fs::write(self.path("inbox").join(name), text).expect("a file");
    }

    /// Claims a file of the inbox, during this run of the system.
    fn claim(&self, name: &str, boot_id: &str) -> Claimed {
        let metadata = self.path("inbox").join(name).symlink_metadata().expect("a file");
        let candidate = Candidate {
            name: Name::from_bytes(name.as_bytes()),
            signature: Signature::of(&metadata),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            handed_in: HandedIn { at_ms: 1, doubt: None },
            ready: Instant::now(),
            though_open: false,
        };
        let claims =
            self.ledger.claims().record(&[candidate], 2, boot_id, |_| Place::Free, |_| false);
        claims.expect("a claim").remove(0)
    }

    fn take(&self, claimed: &Claimed) {
        assert!(matches!(self.archive.taker().take(claimed), Ok(Taken::Moved)));
    }

    /// Commits a chunk of a large file: its first case, which is these bytes.
    fn commit_chunk(&self, claimed: &Claimed, bytes: &[u8]) {
        let rules = Rules {
            case_bytes_max: 1 << 16,
            missing_cases_max: 3,
            neutralise_formulas: true,
            definitions: None,
        };
        let graded = Prefix { bytes: bytes.len() as u64, blake3: *blake3::hash(bytes).as_bytes() };
        let tally = Tally::from_counts([0, 0, 0, 1], 0);
        let progress = Progress { checkpoint: "here".into(), tally, graded, rules };
        let (id, name, kind) = (claimed.id, claimed.name.clone(), Some(Kind::Hexudoku));
        self.ledger.reports().introduce(&[report_of(&name)], false).expect("introduced");
        let results = vec![Outcome::Progressed { id, name, kind, cases: 1, progress }];
        self.ledger.commit(&Commit { results, ..Commit::default() }).expect("committed");
    }

    fn recover(&self) -> Result<Recovered, Error> {
        let reports = ReportFiles::open(self.path("reports"), Arc::clone(&self.ledger), 8, false);
        recover(&self.ledger, &self.archive, &mut reports.expect("reports"), &[])
    }

    /// Rebuilds a report, and returns how many lines it has.
    fn rebuild(&self, report: &Name) -> usize {
        let mut settings = Settings::default();
        settings.paths.root = self.root.path().to_owned();
        let (ledger, archive) = (Arc::clone(&self.ledger), Arc::clone(&self.archive));
        let rebuild = Rebuild::new(&settings, Tier::Portable, ledger, archive);
        rebuild.rebuild(report, None).expect("rebuilt");
        let text = fs::read_to_string(self.path("reports").join(report.as_path()));
        text.expect("a report").lines().count()
    }
}

const BEFORE: &str = "the boot before";

fn board() -> Vec<u8> {
    b"----------------\n".repeat(16)
}

#[test]
fn an_intact_file_is_not_failed_after_a_reboot_though_it_holds_nuls() {
    let room = Room::new();
    room.write("large", b"0\x001\x002\x00\n\x00");
    let large = room.claim("large", BEFORE);
    room.take(&large);
    room.commit_chunk(&large, b"0\x001\x00");
    room.write("left", b"\xff\xfe1\x00");
    let left = room.claim("left", BEFORE);
    room.take(&left);
    // An orderly end makes durable what it leaves.
    leave_durable(&room.ledger, &room.archive).expect("durable");
    room.write("lost", b"1\x00");
    let lost = room.claim("lost", BEFORE);
    room.take(&lost);
    let again = room.recover().expect("recovered").again;
    let checks: Vec<_> = again.iter().map(|it| (it.damage.is_some(), it.check_nuls)).collect();
    assert_eq!(checks, [(false, false), (false, false), (false, true)]);
}

#[test]
fn a_file_that_lost_bytes_is_taken_and_fails_or_the_start_says_why_not() {
    let room = Room::new();
    room.write("p", b"a submission");
    let claimed = room.claim("p", BEFORE);
    let file = File::options().write(true).open(room.path("inbox/p")).expect("the file");
    file.set_len(0).expect("cut");
    let place = room.path("archive").join(claimed.archived_as.as_path());
    fs::write(&place, "another file").expect("a file");
    // It must not be taken for what was handed in.
    let error = room.recover().expect_err("no place for it");
    assert!(error.to_string().contains("another file has its place"), "{error}");
    assert_eq!(room.ledger.claims().open().expect("claims").len(), 1);
    fs::remove_file(&place).expect("removed");
    let again = room.recover().expect("recovered").again;
    let damage = again[0].damage.as_deref().expect("damage");
    assert!(damage.contains("it has 0 bytes, and had 12"), "{damage}");
    assert!(place.exists() && !room.path("inbox/p").exists());
}

#[test]
fn a_file_that_was_put_back_by_a_copy_is_not_failed() {
    let room = Room::new();
    room.write("p", b"a submission");
    room.claim("p", &boot_id());
    let modified = room.path("inbox/p").metadata().and_then(|it| it.modified()).expect("a time");
    fs::rename(room.path("inbox/p"), room.path("inbox/old")).expect("renamed");
    room.write("p", b"a submission");
    let copy = File::options().write(true).open(room.path("inbox/p")).expect("the copy");
    copy.set_modified(modified).expect("a time");
    assert!(room.recover().expect("recovered").again.is_empty());
    assert!(room.path("inbox/p").exists());
}

#[test]
fn a_large_file_with_committed_chunks_that_is_in_the_inbox_again_is_taken_again() {
    let room = Room::new();
    room.write("large", &board());
    let claimed = room.claim("large", &boot_id());
    room.commit_chunk(&claimed, &board());
    let again = room.recover().expect("recovered").again;
    assert_eq!(again.iter().map(|it| it.id).collect::<Vec<_>>(), [claimed.id]);
    assert!(room.path("archive/large").exists());
    assert_eq!(room.rebuild(&report_of(&claimed.name)), 2);
}

#[test]
fn the_number_of_a_released_claim_is_not_given_again() {
    let room = Room::new();
    room.write("p", b"1");
    let first = room.claim("p", &boot_id());
    room.ledger.claims().release(&[first.id]).expect("released");
    assert!(room.claim("p", &boot_id()).id > first.id);
}

#[test]
fn a_complete_copy_counts_though_its_hidden_original_lost_bytes() {
    let room = Room::new();
    room.write("p", b"a submission");
    let claimed = room.claim("p", BEFORE);
    let hidden = room.path("inbox").join(format!(".gridmark-{}", claimed.id));
    fs::rename(room.path("inbox/p"), &hidden).expect("renamed");
    let copy = room.path("archive").join(claimed.archived_as.as_path());
    fs::copy(&hidden, &copy).expect("copied");
    let modified = hidden.metadata().and_then(|it| it.modified()).expect("a time");
    let file = File::options().write(true).open(&copy).expect("the copy");
    file.set_modified(modified).expect("a time");
    fs::write(&hidden, "").expect("emptied");
    let again = room.recover().expect("recovered").again;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].damage, None);
    assert!(!hidden.exists());
}

#[test]
fn rows_of_a_file_that_is_longer_than_its_claim_and_in_progress_are_rebuilt() {
    let room = Room::new();
    room.write("large", &board());
    let claimed = room.claim("large", &boot_id());
    room.write("large", &board().repeat(2));
    room.take(&claimed);
    room.commit_chunk(&claimed, &board());
    assert_eq!(room.rebuild(&report_of(&claimed.name)), 2);
}

#[test]
fn a_report_with_the_same_bytes_is_replaced_by_what_was_synced() {
    let room = Room::new();
    let report = Name::from_bytes(*b"loose.csv");
    room.ledger.reports().introduce(std::slice::from_ref(&report), false).expect("introduced");
    room.rebuild(&report);
    let inode = || room.path("reports/loose.csv").metadata().expect("a report").ino();
    let before = inode();
    room.rebuild(&report);
    assert_ne!(inode(), before);
    assert!(!room.path("reports/loose.csv.aside-1").exists());
}
