//! What the file systems can do: moves that replace nothing, names, syncs, locks, the ledger.

use super::finding::Finding;
use super::folders::{Folder, Folders, as_service};
use crate::config::Settings;
use crate::model::escape::{self, with_causes};
use crate::store::archive::{Guard, Moves, try_moves};
use crate::store::ledger::{self, Ledger};
use crate::store::lock::{self, Lock};
use crate::store::recovery::look_for_loss;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a sync is timed.
const SYNCS: usize = 20;
/// What a commit may take, so that marks of a file are there within a blink.
const COMMIT_TIME_GOOD: Duration = Duration::from_millis(20);
/// The longest path that the system takes.
const PATH_BYTES_MAX: usize = 4_096;
/// What a path under the archive may be longer than a submission's name.
const PATH_BYTES_MORE: usize = 64;

/// From the inbox into the archive.
pub(super) fn moves(folders: &Folders) -> Option<Finding> {
    let (inbox, archive) = (&folders.inbox, &folders.archive);
    let from = inbox.scratch.as_ref()?.folder("from");
    let to = archive.scratch.as_ref()?.folder("to");
    let tried = from.and_then(|from| try_moves(&from, &to?));
    let between = format!("from {} into {}", shown(inbox), shown(archive));
    let Moves { copied_in, guard, has_links } = match tried {
        Ok(moves) => moves,
        Err(error) => {
            let what = format!("files cannot be moved {between}: {error}");
            return Some(Finding::fail("moves", what, "set paths.archive to another file system"));
        }
    };
    let links = if has_links { "" } else { "; no hard links" };
    let never = match guard {
        Guard::Rename => format!("never over an existing file{links}"),
        Guard::Link => "never over an existing file, by a second name".to_owned(),
        Guard::Look => {
            let what = format!(
                "{between}: the file system can neither rename without replacing nor link; what \
                 somebody puts into the archive at that very moment could be replaced"
            );
            let remedy = "let nobody but gridmark write to the archive, or set paths.archive to \
                          another file system";
            return Some(Finding::warn("moves", what, remedy));
        }
    };
    Some(match copied_in {
        None => Finding::ok("moves", format!("a rename {between}, {never}")),
        Some(time) => {
            let what = format!(
                "{between} every file is copied and synced, since they are on two file systems: {} \
                 for a MiB; {never}",
                milliseconds(time)
            );
            let remedy = "set paths.inbox and paths.archive to folders on one file system";
            Finding::warn("moves", what, remedy)
        }
    })
}

/// How long it takes until something is on the disk.
pub(super) fn syncs(folders: &Folders) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut commit = Duration::ZERO;
    let mut told = Vec::new();
    // A commit syncs a report or two, then the ledger; folders are synced when files are taken.
    for (folder, times) in [(&folders.reports, 2), (&folders.state, 1)] {
        let Some(scratch) = &folder.scratch else { return findings };
        match time_syncs(scratch.path()) {
            Ok((median, most)) => {
                commit += median * times;
                let (median, most) = (milliseconds(median), milliseconds(most));
                told.push(format!("{}: {median} usually, {most} at most", folder.name));
            }
            Err(error) => {
                let what = format!("{} cannot be synced: {error}", shown(folder));
                let remedy = "nothing would survive a loss of power: use another file system";
                findings.push(Finding::fail("sync", what, remedy));
            }
        }
    }
    if !findings.is_empty() {
        return findings;
    }
    let found = format!("a commit takes about {} ({})", milliseconds(commit), told.join("; "));
    findings.push(if commit <= COMMIT_TIME_GOOD {
        Finding::ok("sync", found)
    } else {
        let remedy = "put paths.reports and paths.state on a faster disk (an SSD), or take it: many \
                      submissions share a commit";
        Finding::warn("sync", found, remedy)
    });
    findings
}

/// The usual time and the longest one, of a few bytes appended and synced, and of the folder synced
/// beside the first.
fn time_syncs(folder: &Path) -> io::Result<(Duration, Duration)> {
    let mut file = File::create(folder.join("synced"))?;
    File::open(folder)?.sync_all()?;
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let start = Instant::now();
        file.write_all(&[b'1'; 512])?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok((times[SYNCS / 2], times[SYNCS - 1]))
}

/// Whether a lock keeps a second holder out.
pub(super) fn locks(folders: &Folders) -> Option<Finding> {
    let scratch = folders.state.scratch.as_ref()?;
    let path = scratch.path().join("lock");
    let state = shown(&folders.state);
    let remedy = "set paths.state to a folder on a local disk";
    Some(match (Lock::take(&path), Lock::take(&path)) {
        (Ok(_), Err(lock::Error::Held { .. })) => {
            Finding::ok("lock", format!("in {state} a lock keeps a second service out"))
        }
        (Ok(_), Ok(_)) => {
            let what = format!("in {state} two have one lock: two services could work on one root");
            Finding::fail("lock", what, remedy)
        }
        (Err(error), _) | (_, Err(error)) => Finding::fail("lock", with_causes(&error), remedy),
    })
}

/// Whether the ledger can be kept there.
pub(super) fn new_ledger(folders: &Folders) -> Option<Finding> {
    let folder = folders.state.scratch.as_ref()?.folder("ledger");
    let state = shown(&folders.state);
    let folder = match folder {
        Ok(folder) => folder,
        Err(error) => {
            let what = format!("no folder can be made in {state}: {error}");
            return Some(Finding::fail("ledger", what, "see what is told of the state above"));
        }
    };
    Some(match Ledger::try_in(&folder) {
        Ok(()) => Finding::ok("ledger", format!("SQLite keeps its log in {state}")),
        Err(error) => {
            let what = format!("SQLite cannot keep a ledger in {state}: {}", with_causes(&error));
            Finding::fail("ledger", what, "set paths.state to a folder on a local disk")
        }
    })
}

/// The ledger that is there; beside it, the latest time in it.
pub(super) fn old_ledger(folders: &Folders) -> (Option<Finding>, Option<i64>) {
    let path = folders.state.path.join("ledger.db");
    let looked = look_for_loss(&path, &folders.reports.path).and_then(|()| Ledger::look(&path));
    match looked {
        Ok(None) => (None, None),
        Ok(Some(look)) => {
            let (submissions, open) = (look.submissions, look.open);
            let what = format!(
                "{} is sound: {submissions} submissions, {open} of them not done",
                escape::path(&path)
            );
            (Some(Finding::ok("ledger", what)), look.latest_ms)
        }
        Err(ledger::Error::Older { found, known, .. }) => {
            let what = format!(
                "{} has format {found}; the next start of the service brings it forward to {known}, \
                 and an older gridmark refuses it then",
                escape::path(&path)
            );
            let remedy =
                "back up all before, with the gridmark that is in use now: gridmark backup";
            (Some(Finding::warn("ledger", what, remedy)), None)
        }
        Err(error) => {
            let remedy = match &error {
                ledger::Error::Denied(denied) => {
                    return (
                        Some(Finding::fail("ledger", denied.to_string(), as_service(denied))),
                        None,
                    );
                }
                ledger::Error::Newer { .. } => "use the newest gridmark that ever ran here",
                ledger::Error::Lost { .. } => "put a copy from a backup in its place",
                error if error.is_loss() => {
                    "stop the service, move the folder of the state away as it is, and put a backup \
                     in its place"
                }
                _ => "set right what it says, and look once more; the ledger itself may be whole",
            };
            (Some(Finding::fail("ledger", with_causes(&error), remedy)), None)
        }
    }
}

/// Which names can be kept.
pub(super) fn names(folders: &Folders, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in [&folders.inbox, &folders.archive] {
        let Some(scratch) = &folder.scratch else { continue };
        let Ok(within) = scratch.folder("names") else { continue };
        let one_file = |one: &str, other: &str| {
            fs::write(within.join(one), "").is_ok() && within.join(other).exists()
        };
        let mut warn = |what: String, remedy: &str| {
            findings.push(Finding::warn("names", format!("{}: {what}", shown(folder)), remedy));
        };
        let remedy = "use a file system of Linux (ext4, xfs, btrfs) for inbox and archive";
        if one_file("upper", "UPPER") {
            warn(
                "capital and small letters are one name; P1.txt replaces p1.txt there".into(),
                remedy,
            );
        }
        if one_file("caf\u{e9}", "cafe\u{301}") {
            warn("two spellings of an accented letter are one name".into(), remedy);
        }
        let odd = [&b"a:b?*\"<>|"[..], b"ends with a dot.", b"not utf-8 \xff"];
        for name in odd.into_iter().filter(|name| keep(&within, name).is_err()) {
            let name = escape::Printable(name);
            warn(format!("names such as `{name}` cannot be kept"), remedy);
        }
        if let Err(error) = keep(&within, &[b'n'; 255]) {
            let longest = (1..255).rev().find(|&bytes| keep(&within, &vec![b'n'; bytes]).is_ok());
            let longest = longest.unwrap_or(0);
            let what = format!("names are at most {longest} bytes long, not 255 ({error})");
            warn(what, "give files short names, or use another file system");
        }
    }
    let longest = settings.intake.name_bytes_max + PATH_BYTES_MORE;
    let archive = folders.archive.path.as_os_str().len();
    if archive + longest > PATH_BYTES_MAX {
        let what = format!(
            "with paths of up to intake.name_bytes_max = {} bytes and {archive} for the archive, \
             some are longer than the {PATH_BYTES_MAX} that the system takes",
            settings.intake.name_bytes_max
        );
        findings.push(Finding::warn("names", what, "lower intake.name_bytes_max"));
    }
    let is_tried = folders.inbox.scratch.is_some() && folders.archive.scratch.is_some();
    if findings.is_empty() && is_tried {
        let what = "names of up to 255 bytes, of any bytes, each another file";
        findings.push(Finding::ok("names", what));
    }
    findings
}

fn keep(folder: &Path, name: &[u8]) -> io::Result<()> {
    let path = folder.join(OsStr::from_bytes(name));
    fs::write(&path, "")?;
    fs::remove_file(path)
}

fn shown(folder: &Folder) -> String {
    escape::path(&folder.path).to_string()
}

pub(super) fn milliseconds(time: Duration) -> String {
    match time.as_micros() {
        micros @ 0..10_000 => format!("{:.1} ms", micros as f64 / 1e3),
        micros => format!("{} ms", micros / 1_000),
    }
}
