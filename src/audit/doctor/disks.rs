//! The file systems on which the folders lie: what they are, and the room on them.

use super::finding::Finding;
use super::folders::{Folder, Folders};
use super::mounts::{self, Mount};
use crate::config::Settings;
use crate::model::escape;
use crate::store::disk::{free_bytes, free_inodes};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;

/// What a submission takes at the most usual: its file in the archive, its rows, its place in the
/// ledger.
const SUBMISSION_BYTES: u64 = 16 << 10;
/// With room for fewer than so many submissions a large event may not fit.
const SUBMISSIONS_FEW: u64 = 50_000;
/// How much is reserved for a moment, to see whether a quota stands in the way.
const RESERVED_BYTES: u64 = 64 << 20;
/// How many times as much must be free for that, so that nobody misses it.
const RESERVED_SHARE: u64 = 16;

/// Folders that lie on one file system.
struct Disk<'a> {
    mount: &'a Mount,
    folders: Vec<&'a Folder>,
}

impl Disk<'_> {
    fn names(&self) -> String {
        self.folders.iter().map(|folder| folder.name).collect::<Vec<_>>().join(", ")
    }

    fn has(&self, name: &str) -> bool {
        self.folders.iter().any(|folder| folder.name == name)
    }
}

/// What the file systems are.
pub(super) fn kinds(folders: &Folders, settings: &Settings) -> Vec<Finding> {
    let Some(mounts) = mounts::all() else {
        let what = "what the folders lie on cannot be told: /proc/self/mountinfo cannot be read";
        return vec![Finding::note("disk", what)];
    };
    let mut disks: Vec<Disk<'_>> = Vec::new();
    for folder in folders.all() {
        let Some(mount) = mounts::of(&mounts, &folder.site) else { continue };
        match disks.iter_mut().find(|disk| disk.mount == mount) {
            Some(disk) => disk.folders.push(folder),
            None => disks.push(Disk { mount, folders: vec![folder] }),
        }
    }
    disks.iter().flat_map(|disk| kind(disk, settings)).collect()
}

fn kind(disk: &Disk<'_>, settings: &Settings) -> Vec<Finding> {
    let Mount { kind, source, point, .. } = disk.mount;
    let names = disk.names();
    let shown = escape::path(point);
    let source = escape::line(source);
    let found = format!("{names} on {kind}, {source} mounted at {shown}");
    let mut findings = Vec::new();
    let mut warn = |what: &str, remedy: &str| {
        findings.push(Finding::warn("disk", format!("{found}: {what}"), remedy));
    };
    let watches = settings.intake.watch == crate::config::Watch::Auto;
    if disk.has("inbox") && watches && (disk.mount.is_remote() || disk.mount.is_fuse()) {
        warn(
            "what other machines drop there may cause no event",
            "set intake.watch = \"off\": scans find every file within intake.scan_every_ms; and \
             rename files in, or raise intake.settle_ms",
        );
    }
    if let Some(option) = disk.mount.unsafe_option() {
        let what = format!("mounted with {option}, what is said to be written may not be");
        warn(&what, "mount it without that option: a loss of power may lose marks");
    }
    if kind == "overlay" {
        warn(
            "if that is a container's own file system, all is gone with the container",
            "mount a volume for the root",
        );
    }
    let lasting = disk.has("archive") || disk.has("state");
    if disk.mount.is_memory() && !lasting {
        warn("it is memory, and gone with the power", "set its path to a folder on a disk");
    }
    if disk.mount.is_memory() && lasting {
        let what = format!("{found}: it is memory, and gone with the power");
        let remedy = "set paths.archive and paths.state to folders on a disk";
        findings.push(Finding::fail("disk", what, remedy));
    }
    if disk.mount.is_remote() && disk.has("state") {
        let what =
            format!("{found}: SQLite cannot keep the ledger safely on other machines' disks");
        findings.push(Finding::fail("disk", what, "set paths.state to a folder on a local disk"));
    }
    if findings.is_empty() {
        findings.push(Finding::ok("disk", found));
    }
    findings
}

/// The room that is left, folder by folder where they lie apart.
pub(super) fn room(folders: &Folders, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = Vec::new();
    for folder in folders.all() {
        let Ok(found) = rustix::fs::stat(&folder.site) else { continue };
        if seen.contains(&found.st_dev) {
            continue;
        }
        seen.push(found.st_dev);
        findings.push(bytes(folder, settings.publish.disk_free_bytes_min));
        findings.extend(inodes(folder));
        findings.extend(quota(folder));
    }
    findings
}

/// Whether less is free somewhere than is to be.
pub(super) fn is_short(folders: &Folders, settings: &Settings) -> bool {
    let least = settings.publish.disk_free_bytes_min;
    let is_short = |folder: &&Folder| free_bytes(&folder.site).is_ok_and(|free| free < least);
    folders.all().iter().any(is_short)
}

fn bytes(folder: &Folder, least: u64) -> Finding {
    let site = escape::path(&folder.site);
    let free = match free_bytes(&folder.site) {
        Ok(free) => free,
        Err(why) => {
            let what = format!("{site}: {why}");
            return Finding::fail("room", what, format!("mount -o remount,rw what holds {site}"));
        }
    };
    let submissions = free.saturating_sub(least) / SUBMISSION_BYTES;
    let found = format!(
        "{} free for {site}, {} above publish.disk_free_bytes_min: about {submissions} submissions",
        mebibytes(free),
        mebibytes(free.saturating_sub(least))
    );
    let remedy = format!(
        "make room, or lower publish.disk_free_bytes_min: df -h {site}; du -xh {site} | sort -h"
    );
    if free < least {
        let what = format!(
            "{free} bytes free for {site}, fewer than publish.disk_free_bytes_min = {least}: \
             nothing is taken"
        );
        Finding::fail("room", what, remedy)
    } else if submissions < SUBMISSIONS_FEW {
        Finding::warn("room", found, remedy)
    } else {
        Finding::ok("room", found)
    }
}

fn inodes(folder: &Folder) -> Option<Finding> {
    let site = escape::path(&folder.site);
    // Some file systems make them as they are needed, and tell of none.
    let free = free_inodes(&folder.site)?;
    let remedy = format!("remove small files that nobody needs: df -i {site}");
    let found = format!("{free} inodes free for {site}: one a submission, and one a folder");
    Some(match free {
        0 => Finding::fail("room", format!("no inodes are free for {site}"), remedy),
        1..SUBMISSIONS_FEW => Finding::warn("room", found, remedy),
        _ => Finding::ok("room", found),
    })
}

/// A quota stands in the way where there is room and yet none is given.
fn quota(folder: &Folder) -> Option<Finding> {
    let scratch = folder.scratch.as_ref()?;
    let mounts = mounts::all().unwrap_or_default();
    let is_memory = mounts::of(&mounts, &folder.site).is_none_or(Mount::is_memory);
    if is_memory || free_bytes(&folder.site).ok()? / RESERVED_SHARE < RESERVED_BYTES {
        return None;
    }
    let file = File::create(scratch.path().join("reserved")).ok()?;
    let reserved = fallocate(&file, FallocateFlags::empty(), 0, RESERVED_BYTES);
    let _ = std::fs::remove_file(scratch.path().join("reserved"));
    let refused = matches!(reserved, Err(Errno::DQUOT | Errno::NOSPC | Errno::FBIG));
    refused.then(|| {
        let what = format!(
            "this user is given less than {} on the disk of {}, though more is free",
            mebibytes(RESERVED_BYTES),
            escape::path(&folder.site)
        );
        Finding::fail(
            "room",
            what,
            "raise its quota (quota -s shows it) and its limits (ulimit -f)",
        )
    })
}

pub(super) fn mebibytes(bytes: u64) -> String {
    match bytes >> 20 {
        0..10_240 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}
