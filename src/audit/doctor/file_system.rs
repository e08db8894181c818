//! Checks what the file systems can do: moves that replace nothing, syncs, locks, names.

use super::finding::{Finding, milliseconds};
use super::folders::{Folder, Folders};
use crate::config::Settings;
use crate::model::escape;
use crate::store::archive::{Guard, Moves, probe_moves};
use crate::store::lock::{Holder, LOCK_NAME, holder_at, is_held, probe_locks};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many syncs are timed.
const SYNCS: usize = 20;
/// The longest time of a commit at which marks seem to appear at once.
const COMMIT_TIME_GOOD: Duration = Duration::from_millis(20);
/// The longest path that the system accepts.
const PATH_BYTES_MAX: usize = 4_096;
/// How much longer than a submission's name its path in the archive can be.
const PATH_BYTES_MORE: usize = 64;

/// Moves files from the inbox into the archive.
pub(super) fn moves(folders: &Folders) -> Option<Finding> {
    let (inbox, archive) = (&folders.inbox, &folders.archive);
    let from = inbox.scratch.as_ref()?.folder("from");
    let to = archive.scratch.as_ref()?.folder("to");
    let tried = from.and_then(|from| probe_moves(&from, &to?));
    let between = format!("from {} into {}", path_of(inbox), path_of(archive));
    let Moves { copied_in, guard, has_links } = match tried {
        Ok(moves) => moves,
        Err(error) => {
            let what = format!("files cannot be moved {between}: {error}");
            return Some(Finding::fail(
                "moves",
                what,
                "set paths.archive to a folder on another file system",
            ));
        }
    };
    let links = if has_links { "" } else { "; the file system has no hard links" };
    let guarantee = match guard {
        Guard::Rename => format!("existing files are never replaced{links}"),
        Guard::Link => "existing files are never replaced, by use of hard links".to_owned(),
        Guard::Check => {
            let what = format!(
                "{between}: the file system has neither renames that replace nothing nor hard links, so \
                 a file that another program creates in the archive at that moment can be replaced"
            );
            let remedy = "let only gridmark write to the archive, or set paths.archive to a folder on \
                          another file system";
            return Some(Finding::warn("moves", what, remedy));
        }
    };
    Some(match copied_in {
        None => Finding::ok("moves", format!("files are renamed {between}; {guarantee}")),
        Some(time) => {
            let what = format!(
                "{between}, each file is copied and synced, because a rename is refused: these are two \
                 file systems, or two mounts of one; {} for a MiB; {guarantee}",
                milliseconds(time)
            );
            let remedy = "put inbox and archive on one file system and below one mount: for containers, \
                          one volume for the whole root";
            Finding::warn("moves", what, remedy)
        }
    })
}

/// Measures how long a commit takes.
pub(super) fn syncs(folders: &Folders) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut commit = Duration::ZERO;
    let mut times_of = Vec::new();
    // A commit syncs a report or two, then the ledger; folders are synced when files are taken.
    for (folder, times) in [(&folders.reports, 2), (&folders.state, 1)] {
        let Some(scratch) = &folder.scratch else { return findings };
        match time_syncs(scratch.path()) {
            Ok((median, most)) => {
                commit += median * times;
                let (median, most) = (milliseconds(median), milliseconds(most));
                times_of.push(format!("{}: median {median}, longest {most}", folder.name));
            }
            Err(error) => {
                let what = format!("{} cannot be synced: {error}", path_of(folder));
                let remedy = "use another file system: on this one nothing survives power loss";
                findings.push(Finding::fail("sync", what, remedy));
            }
        }
    }
    if !findings.is_empty() {
        return findings;
    }
    let found = format!("a commit takes about {} ({})", milliseconds(commit), times_of.join("; "));
    findings.push(if commit <= COMMIT_TIME_GOOD {
        Finding::ok("sync", found)
    } else {
        let remedy = "put paths.reports and paths.state on a faster disk (an SSD), or accept it: many \
                      submissions share a commit";
        Finding::warn("sync", found, remedy)
    });
    findings
}

/// The median and the longest time to append some bytes to a file and sync it.
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

/// Checks that a lock in each folder keeps a second service out, and that no other service holds it.
pub(super) fn locks(folders: &Folders, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Where this user may not know who works on this root, nothing can be said about others.
    let service = Holder::now(&settings.paths.lock());
    for folder in folders.all() {
        let path = path_of(folder);
        let remedy = format!("set paths.{} to a folder on a local disk", folder.name);
        let tried = folder.scratch.as_ref().map(|scratch| probe_locks(scratch.path()));
        match tried {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => {
                let what =
                    format!("in {path}, a lock can be held twice: two services could work there");
                findings.push(Finding::fail("lock", what, remedy));
            }
            Some(Err(error)) => {
                let what = format!("in {path}, nothing keeps a second service out: {error}");
                let remedy = format!("{remedy}, or see to it that no other service uses it");
                findings.push(Finding::warn("lock", what, remedy));
            }
        }
        let lock = folder.path.join(LOCK_NAME);
        if let (Ok(service), Ok(Some(other))) = (&service, Holder::of(&lock))
            && service.is_none_or(|service| service.process != other.process)
            && is_held(&lock, other.process) == Some(true)
        {
            let who = holder_at(&lock).unwrap_or_default();
            let what = format!("{path} is used by a service on another root: {who}");
            let remedy =
                format!("stop that service, or set paths.{} to another folder", folder.name);
            findings.push(Finding::fail("lock", what, remedy));
        }
    }
    if let Err(error) = &service {
        let lock = settings.paths.lock();
        let lock = escape::path(&lock);
        let what = format!("a start will be refused: cannot lock {lock}: {error}");
        findings.push(Finding::fail("lock", what, "do what it says"));
    }
    if findings.is_empty() && folders.all().iter().any(|folder| folder.scratch.is_some()) {
        let what = "a lock in each folder keeps a second service out";
        findings.push(Finding::ok("lock", what));
    }
    findings
}

/// Finds names that the file systems refuse, and different names that they treat as one.
pub(super) fn names(folders: &Folders, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in [&folders.inbox, &folders.archive] {
        let Some(scratch) = &folder.scratch else { continue };
        let Ok(within) = scratch.folder("names") else { continue };
        let are_one = |one: &str, other: &str| {
            fs::write(within.join(one), "").is_ok() && within.join(other).exists()
        };
        let mut warn = |what: String, remedy: &str| {
            findings.push(Finding::warn("names", format!("{}: {what}", path_of(folder)), remedy));
        };
        let remedy = "use a Linux file system (ext4, xfs, btrfs) for inbox and archive";
        if are_one("upper", "UPPER") {
            warn(
                "upper and lower case are not distinguished: P1.txt and p1.txt are one file".into(),
                remedy,
            );
        }
        if are_one("caf\u{e9}", "cafe\u{301}") {
            warn("two encodings of an accented letter are one name".into(), remedy);
        }
        let odd = [&b"a:b?*\"<>|"[..], b"ends with a dot.", b"not utf-8 \xff"];
        for name in odd.into_iter().filter(|name| keep(&within, name).is_err()) {
            let name = escape::Printable(name);
            warn(format!("names such as `{name}` are refused"), remedy);
        }
        if let Err(error) = keep(&within, &[b'n'; 255]) {
            let longest = (1..255).rev().find(|&bytes| keep(&within, &vec![b'n'; bytes]).is_ok());
            let longest = longest.unwrap_or(0);
            let what = format!("names can have at most {longest} bytes, not 255 ({error})");
            warn(what, "give files shorter names, or use another file system");
        }
    }
    let longest = settings.intake.name_bytes_max + PATH_BYTES_MORE;
    let archive = folders.archive.path.as_os_str().len();
    if archive + longest > PATH_BYTES_MAX {
        let what = format!(
            "a path in the archive can exceed the system's {PATH_BYTES_MAX} bytes: the archive's own \
             path has {archive}, and intake.name_bytes_max = {} allows that many more",
            settings.intake.name_bytes_max
        );
        findings.push(Finding::warn("names", what, "lower intake.name_bytes_max"));
    }
    let is_tried = folders.inbox.scratch.is_some() && folders.archive.scratch.is_some();
    if findings.is_empty() && is_tried {
        let what = "names can have 255 bytes of any value, and each name is a file of its own";
        findings.push(Finding::ok("names", what));
    }
    findings
}

fn keep(folder: &Path, name: &[u8]) -> io::Result<()> {
    let path = folder.join(OsStr::from_bytes(name));
    fs::write(&path, "")?;
    fs::remove_file(path)
}

fn path_of(folder: &Folder) -> String {
    escape::path(&folder.path).to_string()
}
