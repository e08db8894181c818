//! Checks the five folders: whether they exist or can be created, and can be written.

use super::finding::Finding;
use super::scratch::{Scratch, ScratchGuard, sweep};
use crate::config::Paths;
use crate::model::escape;
use crate::store::owner::Denied;
use crate::store::roots::{missing_above, overlap};
use rustix::process::geteuid;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One of the five folders.
pub(super) struct Folder {
    /// Its name in the settings: `inbox`.
    pub(super) name: &'static str,
    /// Its path in the settings.
    pub(super) path: PathBuf,
    /// The folder itself or the nearest existing one above it; absolute and without links.
    pub(super) nearest: PathBuf,
    /// Whether it exists.
    pub(super) exists: bool,
    /// Whether `nearest` could be found.
    is_reachable: bool,
    /// A scratch folder on its file system; `None` if it cannot be written.
    pub(super) scratch: Option<Scratch>,
}

/// The five folders.
pub(super) struct Folders {
    pub(super) inbox: Folder,
    pub(super) archive: Folder,
    pub(super) quarantine: Folder,
    pub(super) reports: Folder,
    pub(super) state: Folder,
    /// A file or folder of the state that this user may not read: then this is not the service's user.
    pub(super) denied: Option<Denied>,
}

impl Folders {
    /// Examines them, and creates a scratch folder in each that can be written.
    pub(super) fn examine(paths: &Paths, guard: &ScratchGuard) -> (Folders, Vec<Finding>) {
        let mut findings = Vec::new();
        let ours = [paths.state(), paths.lock(), paths.ledger()];
        let denied = ours.iter().find_map(|path| Denied::of(path));
        let mut examine =
            |name, path| Folder::examine(name, path, denied.as_ref(), guard, &mut findings);
        let folders = Folders {
            inbox: examine("inbox", paths.inbox()),
            archive: examine("archive", paths.archive()),
            quarantine: examine("quarantine", paths.quarantine()),
            reports: examine("reports", paths.reports()),
            state: examine("state", paths.state()),
            denied,
        };
        if let Some(overlap) = overlap(paths) {
            let remedy = "set them to folders apart: the service refuses to start";
            findings.push(Finding::fail(overlap.inner.0, overlap.to_string(), remedy));
        }
        for folder in folders.all().into_iter().filter(|folder| folder.is_reachable) {
            if let Some(above) = missing_above(paths, &folder.path) {
                let what = format!(
                    "{} does not exist, and neither does {}, in which it would be created",
                    escape::path(&folder.path),
                    escape::path(above)
                );
                let remedy =
                    "correct the path, mount the disk that holds it, or create that folder";
                findings.push(Finding::fail(folder.name, what, remedy));
            }
        }
        if folders.all().iter().all(|folder| folder.is_reachable && !folder.exists) {
            let root = escape::path(&paths.root);
            findings.push(Finding::note(
                "root",
                format!(
                    "{root} has none of the folders yet: gridmark has never run there. If it should \
                     have, name the right place with --root or --config"
                ),
            ));
        }
        (folders, findings)
    }

    /// This remedy; but if this is not the service's user, to run doctor as that user.
    pub(super) fn remedy(&self, otherwise: String) -> String {
        self.denied.as_ref().map_or(otherwise, as_service)
    }

    pub(super) fn all(&self) -> [&Folder; 5] {
        [&self.inbox, &self.archive, &self.quarantine, &self.reports, &self.state]
    }
}

impl Folder {
    fn examine(
        name: &'static str,
        path: PathBuf,
        denied: Option<&Denied>,
        guard: &ScratchGuard,
        findings: &mut Vec<Finding>,
    ) -> Folder {
        let nearest = path.clone();
        let mut folder =
            Folder { name, nearest, path, exists: false, is_reachable: false, scratch: None };
        let metadata = match folder.find_nearest() {
            Ok(metadata) => metadata,
            Err(what) => {
                let remedy = format!("correct that, or set paths.{name} or --root to another path");
                let remedy = Denied::of(&folder.path).map_or(remedy, |denied| as_service(&denied));
                findings.push(Finding::fail(name, what, remedy));
                return folder;
            }
        };
        folder.is_reachable = true;
        for left in sweep(&folder.nearest) {
            let left = escape::path(&left);
            findings.push(Finding::note(
                name,
                format!("removed {left}, which a killed doctor had left"),
            ));
        }
        let made = Scratch::new(&folder.nearest, guard);
        match made.and_then(|scratch| write_in(scratch.path()).map(|()| scratch)) {
            Ok(scratch) => folder.scratch = Some(scratch),
            Err(error) => {
                let mut finding = folder.unwritable(&metadata, &error);
                if let Some(denied) = denied {
                    // This does not show whether the service's user may write there.
                    finding.remedy = Some(as_service(denied));
                }
                findings.push(finding);
                return folder;
            }
        }
        findings.push(folder.usable(&metadata));
        findings.extend(folder.exposed(&metadata));
        folder
    }

    /// Finds the folder or the nearest existing one above it; an error says what is wrong.
    fn find_nearest(&mut self) -> Result<Metadata, String> {
        let path = escape::path(&self.path).to_string();
        let failed = |error: io::Error| format!("{path} cannot be used: {error}");
        match self.path.metadata() {
            Ok(found) if found.is_dir() => self.exists = true,
            Ok(_) => return Err(format!("{path} is not a folder")),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let denied = Denied::of(&self.path).map(|denied| denied.to_string());
                return Err(denied.unwrap_or_else(|| failed(error)));
            }
            Err(_) if self.path.symlink_metadata().is_ok() => {
                return Err(format!("{path} is a link to something that does not exist"));
            }
            Err(_) => {}
        }
        let above = self.path.ancestors().find(|above| above.metadata().is_ok());
        self.nearest = fs::canonicalize(above.unwrap_or(Path::new("/"))).map_err(failed)?;
        self.nearest.metadata().map_err(failed)
    }

    /// The finding about a folder in which nothing can be written.
    fn unwritable(&self, found: &Metadata, error: &io::Error) -> Finding {
        let nearest = escape::path(&self.nearest);
        let path = escape::path(&self.path);
        let what = if self.exists {
            format!("{path} cannot be written: {error}")
        } else {
            format!("{path} does not exist and cannot be created in {nearest}: {error}")
        };
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => format!(
                "{nearest} belongs to user {} with mode {:04o}, and this is user {}: chown it to the user \
                 that runs the service, and run doctor as that user",
                found.uid(),
                found.mode() & 0o7777,
                geteuid().as_raw()
            ),
            ErrorKind::ReadOnlyFilesystem => {
                "remount its file system for writing: mount -o remount,rw MOUNTPOINT; if it became \
                 read-only by itself, the disk is failing: see dmesg"
                    .to_owned()
            }
            ErrorKind::StorageFull => {
                format!("make room there: df -h {nearest}; df -i {nearest}")
            }
            ErrorKind::QuotaExceeded => "raise this user's quota".to_owned(),
            _ => format!("set paths.{} to a folder that can be written", self.name),
        };
        Finding::fail(self.name, what, remedy)
    }

    /// The finding about a folder that can be used.
    fn usable(&self, found: &Metadata) -> Finding {
        let path = escape::path(&self.path);
        if !self.exists {
            let nearest = escape::path(&self.nearest);
            let text = format!("{path} does not exist yet and can be created in {nearest}");
            return Finding::ok(self.name, text);
        }
        let is_link = self.path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let link = if is_link {
            format!(", a link to {}", escape::path(&self.nearest))
        } else {
            String::new()
        };
        let (mode, owner) = (found.mode() & 0o7777, found.uid());
        let text = format!("{path}{link} can be written; mode {mode:04o}, user {owner}");
        Finding::ok(self.name, text)
    }

    /// The finding about access that others have and should not, or that this user needs.
    fn exposed(&self, found: &Metadata) -> Option<Finding> {
        if !self.exists {
            return None;
        }
        let path = escape::path(&self.path);
        let mode = found.mode();
        let us = geteuid();
        let is_sticky = mode & 0o1000 != 0;
        if self.name == "inbox" && is_sticky && !us.is_root() && found.uid() != us.as_raw() {
            let what = format!(
                "{path} is sticky and belongs to user {}: this user cannot take files of others out \
                 of it",
                found.uid()
            );
            let remedy = format!("chmod -t {path}, or chown it to the user that runs the service");
            return Some(Finding::fail(self.name, what, remedy));
        }
        (mode & 0o002 != 0).then(|| {
            let what = format!("{path} can be written by everybody on this machine");
            Finding::warn(self.name, what, format!("chmod o-w {path}, and give access to a group"))
        })
    }
}

/// The remedy where the user who runs doctor is not the service's.
pub(super) fn as_service(denied: &Denied) -> String {
    denied.remedy("gridmark doctor ...")
}

/// Writes some bytes: a full disk still accepts new names.
fn write_in(folder: &Path) -> io::Result<()> {
    let mut file = File::create(folder.join("written"))?;
    file.write_all(&[0; 4096])?;
    file.sync_all()
}
