//! Checks the file systems of the folders: their types, mount options and free space.

use super::contents::first_of;
use super::finding::{Finding, mebibytes};
use super::folders::{Folder, Folders};
use crate::config::{Settings, Watch};
use crate::model::escape;
use crate::model::words::counted;
use crate::store::disk::{free_bytes, free_inodes};
use crate::store::mounts::{self, Mount};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::path::PathBuf;

/// What a usual submission takes on disk: its file in the archive, its rows, its entry in the ledger.
const SUBMISSION_BYTES: u64 = 16 << 10;
/// With room for fewer submissions a large event may not fit.
const SUBMISSIONS_ENOUGH: u64 = 50_000;
/// How much is reserved for a moment, to find out whether a quota refuses it.
const RESERVED_BYTES: u64 = 64 << 20;
/// It is reserved only if this many times as much is free, so that no other program runs short.
const RESERVED_SHARE: u64 = 16;

/// A file system, and those of the five folders that lie on it.
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

/// Checks types and mount options.
pub(super) fn kinds(folders: &Folders, settings: &Settings) -> Vec<Finding> {
    let Some(mounts) = mounts::all() else {
        let what =
            "cannot determine the file systems of the folders: /proc/self/mountinfo cannot be read";
        return vec![Finding::note("disk", what)];
    };
    let mut disks: Vec<Disk<'_>> = Vec::new();
    for folder in folders.all() {
        let Some(mount) = mounts::of(&mounts, &folder.nearest) else { continue };
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
    let point = escape::path(point);
    let source = escape::line(source);
    let found = format!("{names} on {kind}, {source} mounted at {point}");
    let mut findings = Vec::new();
    let mut warn = |what: &str, remedy: &str| {
        findings.push(Finding::warn("disk", format!("{found}: {what}"), remedy));
    };
    let watches = settings.intake.watch == Watch::Auto;
    if disk.has("inbox") && watches && (disk.mount.is_remote() || disk.mount.is_fuse()) {
        warn(
            "files that other machines put there may cause no event",
            "set intake.watch = \"off\": then scans find every file within intake.scan_every_ms; and \
             have files renamed into place, or raise intake.settle_ms",
        );
    }
    if let Some(option) = disk.mount.unsafe_option() {
        let what = format!(
            "the mount option {option} lets it report data as durable before they are on the disk"
        );
        warn(&what, "mount it without that option, or power loss may lose marks");
    }
    if kind == "overlay" {
        warn(
            "if this is a container's own file system, everything is lost with the container",
            "mount a volume for the root",
        );
    }
    let lasting = disk.has("archive") || disk.has("state");
    if disk.mount.is_memory() && !lasting {
        warn("it is in memory and lost with the power", "set its path to a folder on a disk");
    }
    if disk.mount.is_memory() && lasting {
        let what = format!("{found}: it is in memory and lost with the power");
        let remedy = "set paths.archive and paths.state to folders on a disk";
        findings.push(Finding::fail("disk", what, remedy));
    }
    if disk.mount.is_remote() && disk.has("state") {
        let what =
            format!("{found}: SQLite cannot keep the ledger safely on a network file system");
        findings.push(Finding::fail("disk", what, "set paths.state to a folder on a local disk"));
    }
    if findings.is_empty() {
        findings.push(Finding::ok("disk", found));
    }
    findings
}

/// Checks what is mounted inside the inbox and the archive, from where or into which files cannot be renamed.
pub(super) fn inside(folders: &Folders) -> Vec<Finding> {
    let mounts = mounts::all().unwrap_or_default();
    let within = |folder: &Folder| -> Vec<&Mount> {
        let root = &folder.nearest;
        let is_inside = |mount: &&Mount| mount.point.starts_with(root) && mount.point != *root;
        let found = mounts.iter().filter(|_| folder.exists);
        found.filter(is_inside).collect()
    };
    let points = |mounts: &[&Mount]| {
        let points: Vec<PathBuf> = mounts.iter().map(|mount| mount.point.clone()).collect();
        first_of(&points)
    };
    let in_inbox = within(&folders.inbox);
    let (in_inbox, files): (Vec<&Mount>, Vec<&Mount>) =
        in_inbox.into_iter().partition(|mount| mount.point.is_dir());
    let (read_only, in_inbox): (Vec<&Mount>, Vec<&Mount>) =
        in_inbox.into_iter().partition(|mount| mount.options.iter().any(|option| option == "ro"));
    let mut findings = Vec::new();
    if let Some(found) = points(&files) {
        let what = format!(
            "cannot take {found} out of the inbox: a file that is a mount point stays there"
        );
        let remedy = "unmount it, and put a copy of the file into the inbox";
        findings.push(Finding::warn("moves", what, remedy));
    }
    if let Some(found) = points(&read_only) {
        let what =
            format!("cannot take files out of {found}, which is mounted read-only in the inbox");
        findings.push(Finding::warn("moves", what, "mount it for writing"));
    }
    for (folder, mounts, way) in [
        (&folders.inbox, in_inbox, "from there"),
        (&folders.archive, within(&folders.archive), "into it"),
    ] {
        if let Some(found) = points(&mounts) {
            let what = format!(
                "{found} is mounted in the {}: files are copied {way} and synced, not renamed",
                folder.name
            );
            findings.push(Finding::note("moves", what));
        }
    }
    findings
}

/// Checks the free space, once for each file system.
pub(super) fn room(folders: &Folders, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut devices = Vec::new();
    for folder in folders.all() {
        let Ok(found) = rustix::fs::stat(&folder.nearest) else { continue };
        if devices.contains(&found.st_dev) {
            continue;
        }
        devices.push(found.st_dev);
        findings.push(bytes(folder, settings.publish.disk_free_bytes_min));
        findings.extend(inodes(folder));
        findings.extend(quota(folder));
    }
    findings
}

/// Whether less is free on some file system than `publish.disk_free_bytes_min`.
pub(super) fn is_short(folders: &Folders, settings: &Settings) -> bool {
    let least = settings.publish.disk_free_bytes_min;
    let is_short = |folder: &&Folder| free_bytes(&folder.nearest).is_ok_and(|free| free < least);
    folders.all().iter().any(is_short)
}

fn bytes(folder: &Folder, least: u64) -> Finding {
    let path = escape::path(&folder.nearest);
    let free = match free_bytes(&folder.nearest) {
        Ok(free) => free,
        Err(why) => {
            let what = format!("cannot write to the file system of {path}: {why}");
            return Finding::fail(
                "room",
                what,
                "remount it for writing: mount -o remount,rw MOUNTPOINT",
            );
        }
    };
    let submissions = free.saturating_sub(least) / SUBMISSION_BYTES;
    let found = format!(
        "{} free at {path}, {} more than publish.disk_free_bytes_min: enough for about {}",
        mebibytes(free),
        mebibytes(free.saturating_sub(least)),
        counted(submissions, "submission")
    );
    let remedy = format!(
        "make room, or lower publish.disk_free_bytes_min: df -h {path}; du -xh {path} | sort -h"
    );
    if free < least {
        let what = format!(
            "{} free at {path}, fewer than publish.disk_free_bytes_min = {least}: the service takes \
             no files",
            counted(free, "byte")
        );
        Finding::fail("room", what, remedy)
    } else if submissions < SUBMISSIONS_ENOUGH {
        Finding::warn("room", found, remedy)
    } else {
        Finding::ok("room", found)
    }
}

fn inodes(folder: &Folder) -> Option<Finding> {
    let path = escape::path(&folder.nearest);
    // Some file systems have no fixed number of inodes.
    let free = free_inodes(&folder.nearest)?;
    let remedy = format!("delete small files that nobody needs: df -i {path}");
    let found = format!(
        "{} free at {path}; each submission and each folder takes one",
        counted(free, "inode")
    );
    Some(match free {
        0 => Finding::fail("room", format!("no inodes are free at {path}"), remedy),
        1..SUBMISSIONS_ENOUGH => Finding::warn("room", found, remedy),
        _ => Finding::ok("room", found),
    })
}

/// Finds a quota: there is free space, but the system refuses it to this user.
fn quota(folder: &Folder) -> Option<Finding> {
    let scratch = folder.scratch.as_ref()?;
    let mounts = mounts::all().unwrap_or_default();
    let is_memory = mounts::of(&mounts, &folder.nearest).is_none_or(Mount::is_memory);
    if is_memory || free_bytes(&folder.nearest).ok()? / RESERVED_SHARE < RESERVED_BYTES {
        return None;
    }
    let file = File::create(scratch.path().join("reserved")).ok()?;
    let reserved = fallocate(&file, FallocateFlags::empty(), 0, RESERVED_BYTES);
    let _ = std::fs::remove_file(scratch.path().join("reserved"));
    let refused = matches!(reserved, Err(Errno::DQUOT | Errno::NOSPC | Errno::FBIG));
    refused.then(|| {
        let what = format!(
            "this user cannot reserve {} at {}, although more is free",
            mebibytes(RESERVED_BYTES),
            escape::path(&folder.nearest)
        );
        Finding::fail(
            "room",
            what,
            "raise this user's quota (quota -s shows it) and file size limit (ulimit -f)",
        )
    })
}
