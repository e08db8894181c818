use super::*;
use crate::model::submission::{HandedIn, Place};
use std::fs;
use std::time::Instant;

struct Room {
    root: tempfile::TempDir,
    archive: Archive,
}

fn room() -> Room {
    let root = tempfile::tempdir().expect("a temporary folder");
    let below = |name| root.path().join(name);
    let archive = Archive::open(below("inbox"), below("archive"), below("quarantine"));
    Room { archive: archive.expect("an archive"), root }
}

impl Room {
    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.path().join(path)).ok()
    }
}

fn claimed(name: &str, archived_as: &str) -> Claimed {
    Claimed {
        id: 1,
        name: Name::from_bytes(name),
        attempt: 1,
        archived_as: Name::from_bytes(archived_as),
        handed_in: HandedIn { at_ms: 0, doubt: None },
        received_at_ms: 0,
        bytes: 0,
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

#[test]
fn a_file_is_taken_put_back_and_quarantined_by_renaming() {
    let room = room();
    room.write("inbox/a/p", "text");
    let file = claimed("a/p", "a/p~2");
    assert!(matches!(room.archive.taker().take(&file), Ok(Taken::Moved)));
    assert_eq!(room.text("archive/a/p~2").as_deref(), Some("text"));
    assert!(room.archive.put_back(&file).expect("put back"));
    assert_eq!(room.text("inbox/a/p").as_deref(), Some("text"));
    assert!(matches!(room.archive.taker().take(&file), Ok(Taken::Moved)));
    assert!(room.archive.quarantine(1, &file.archived_as, "why").expect("quarantined"));
    assert_eq!(room.text("quarantine/a/p~2").as_deref(), Some("text"));
    assert_eq!(room.archive.quarantined_files(), 1);
    room.archive.sync([]).expect("synced");
}

#[test]
fn nothing_is_ever_moved_over_an_existing_file() {
    let room = room();
    room.write("inbox/p", "mine");
    room.write("archive/p", "theirs");
    assert!(matches!(room.archive.taker().take(&claimed("p", "p")), Ok(Taken::Occupied)));
    assert!(!room.archive.put_back(&claimed("p", "p")).expect("an answer"));
    assert_eq!(room.text("inbox/p").as_deref(), Some("mine"));
    assert_eq!(room.text("archive/p").as_deref(), Some("theirs"));
}

#[test]
fn a_file_that_is_gone_is_no_failure() {
    let room = room();
    assert!(matches!(room.archive.taker().take(&claimed("p", "p")), Ok(Taken::Gone)));
    assert!(matches!(room.archive.taker().take(&claimed("a/p", "a/p")), Ok(Taken::Gone)));
    assert!(matches!(room.archive.complete(&claimed("p", "p"), (0, 0), false), Ok(Taken::Gone)));
}

#[test]
fn no_link_leads_out_of_the_inbox() {
    let room = room();
    room.write("elsewhere/p", "secret");
    let link = room.root.path().join("inbox/a");
    std::os::unix::fs::symlink(room.root.path().join("elsewhere"), link).expect("a link");
    let taken = room.archive.taker().take(&claimed("a/p", "a/p"));
    assert!(matches!(taken, Ok(Taken::Gone)), "{taken:?}");
    assert_eq!(room.text("elsewhere/p").as_deref(), Some("secret"));
}

#[test]
fn a_link_in_the_archive_is_not_read() {
    let room = room();
    room.write("elsewhere", "secret");
    let link = room.root.path().join("archive/p");
    std::os::unix::fs::symlink(room.root.path().join("elsewhere"), link).expect("a link");
    assert!(room.archive.read(&Name::from_bytes(*b"p")).is_err());
}

#[test]
fn files_are_read_one_after_the_other_and_their_owner_sees_no_trace_of_it() {
    let room = room();
    for name in ["p", "a/b/p"] {
        let path = format!("archive/{name}");
        room.write(&path, name);
        let file = File::options().write(true).open(room.root.path().join(&path)).expect("it");
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        file.set_times(fs::FileTimes::new().set_accessed(long_ago)).expect("a time");
    }
    let mut reader = room.archive.reader();
    for name in ["p", "a/b/p", "p"] {
        let mut file = reader.open(&Name::from_bytes(name)).expect("a file");
        assert_eq!(io::read_to_string(&mut file).expect("its text"), name);
        let accessed = file.metadata().expect("its times").atime();
        assert_eq!(accessed, 1_000_000_000);
    }
    assert!(reader.open(&Name::from_bytes(*b"missing")).is_err());
}

#[test]
fn a_file_that_comes_between_is_seen_by_places() {
    let room = room();
    room.write("archive/a/p", "");
    let mut places = room.archive.places();
    assert_eq!(places.place(&Name::from_bytes(*b"a/q")), Place::Free);
    room.write("archive/a/q", "");
    assert_eq!(places.place(&Name::from_bytes(*b"a/q")), Place::Taken);
    assert_eq!(places.place(&Name::from_bytes(*b"b/q")), Place::Free);
    room.write("archive/b/q", "");
    assert_eq!(places.place(&Name::from_bytes(*b"b/q")), Place::Taken);
}

#[test]
fn a_place_is_free_taken_or_blocked() {
    let room = room();
    room.write("archive/a/p", "");
    let place = |name: &str| room.archive.places().place(&Name::from_bytes(name));
    assert_eq!(place("a/q"), Place::Free);
    assert_eq!(place("b/q"), Place::Free);
    assert_eq!(place("a/p"), Place::Taken);
    assert_eq!(place("a"), Place::Taken);
    assert_eq!(place("a/p/x/y"), Place::Blocked("a/p".len()));
}

/// The other file system is the one in memory that Linux machines have.
#[test]
fn a_file_crosses_file_systems_whole_and_once() {
    let shm = Path::new("/dev/shm");
    let root = tempfile::tempdir().expect("a temporary folder");
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    assert!(
        device(shm).is_some() && device(shm) != device(root.path()),
        "this test needs a second file system at /dev/shm: mount a tmpfs there, or set TMPDIR"
    );
    let far = tempfile::tempdir_in(shm).expect("a folder on the other file system");
    let inbox = root.path().join("inbox");
    let archive = Archive::open(inbox.clone(), far.path().join("a"), root.path().join("q"));
    let archive = archive.expect("an archive");
    fs::write(inbox.join("p"), "text").expect("a file");
    let modified = |path: PathBuf| Signature::of(&fs::metadata(path).expect("a file")).modified;
    let handed_in = modified(inbox.join("p"));
    let file = Claimed { bytes: 4, ..claimed("p", "x/p") };
    let Ok(Taken::Copied(copy)) = archive.taker().take(&file) else { panic!("it is not copied") };
    assert_eq!(fs::read_to_string(far.path().join("a/x/p")).ok().as_deref(), Some("text"));
    assert_eq!(Some(copy), archive.signature(&file.archived_as));
    assert!(copy.is_like(4, handed_in));
    assert_eq!(fs::read_dir(&inbox).expect("the inbox").count(), 0);

    // A crash between the copy and the removal of the original.
    fs::copy(far.path().join("a/x/p"), inbox.join(hidden(1))).expect("an original");
    let original = File::options().write(true).open(inbox.join(hidden(1))).expect("it");
    // It is not removed while somebody may write to it.
    assert!(archive.complete(&file, handed_in, false).is_err());
    assert!(archive.is_hidden(&file));
    drop(original);
    assert!(archive.is_hidden(&file));
    assert!(matches!(archive.complete(&file, handed_in, false), Ok(Taken::Copied(_))));
    assert!(!archive.is_hidden(&file));

    assert!(archive.put_back(&file).expect("put back"));
    assert_eq!(fs::read_to_string(inbox.join("p")).ok().as_deref(), Some("text"));
}

#[test]
fn what_lies_in_quarantine_goes_back_with_one_rename_and_the_note_that_is_ours_goes() {
    let room = room();
    let name = Name::from_bytes(*b"a/p");
    let retry = |note| room.archive.retry(1, &name, &name, note).expect("retried");
    for (note, there_later) in [("why", false), ("what somebody else wrote", true)] {
        room.write("archive/a/p", "text");
        assert!(room.archive.quarantine(1, &name, "why").expect("quarantined"));
        room.write("quarantine/a/p.reason.txt", note);
        room.write("inbox/a/p", "newer");
        assert_eq!(retry("why"), Put::Occupied);
        assert_eq!(room.text("inbox/a/p").as_deref(), Some("newer"));
        assert_eq!(room.text("quarantine/a/p").as_deref(), Some("text"));
        assert_eq!(room.archive.quarantined_files(), 1);
        std::fs::remove_file(room.archive.inbox().join("a/p")).expect("removed");
        assert_eq!(retry("why"), Put::There);
        assert_eq!(room.text("inbox/a/p").as_deref(), Some("text"));
        assert_eq!(room.text("quarantine/a/p.reason.txt").is_some(), there_later);
        assert_eq!(room.archive.quarantined_files(), 0);
    }
}

/// The file cannot be copied, and its name is another's by now.
#[test]
fn a_hidden_file_is_completed_once_that_is_possible() {
    let room = room();
    let file = Claimed { bytes: 5, ..claimed("a/p", "a/p~2") };
    room.write("inbox/a/.gridmark-1", "older");
    room.write("inbox/a/p", "newer");
    room.write("archive/a/p~2", "somebody's");
    let modified =
        |path| Signature::of(&fs::metadata(room.root.path().join(path)).expect("a file"));
    let handed_in = modified("inbox/a/.gridmark-1").modified;
    assert!(matches!(room.archive.complete(&file, handed_in, false), Ok(Taken::Occupied)));
    assert!(room.archive.is_hidden(&file));
    assert_eq!(room.text("inbox/a/p").as_deref(), Some("newer"));
    assert_eq!(room.text("archive/a/p~2").as_deref(), Some("somebody's"));
    fs::remove_file(room.root.path().join("archive/a/p~2")).expect("removed");
    let taken = room.archive.complete(&file, handed_in, false);
    assert!(matches!(taken, Ok(Taken::Copied(copy)) if copy.is_like(5, handed_in)), "{taken:?}");
    assert_eq!(room.text("archive/a/p~2").as_deref(), Some("older"));
    // Where its name is free, it gets that back.
    fs::rename(room.root.path().join("inbox/a/p"), room.root.path().join("inbox/a/.gridmark-1"))
        .expect("hidden");
    let other = Claimed { bytes: 6, ..file };
    assert!(matches!(room.archive.complete(&other, handed_in, false), Ok(Taken::Occupied)));
    assert_eq!(room.text("inbox/a/p").as_deref(), Some("newer"));
}
