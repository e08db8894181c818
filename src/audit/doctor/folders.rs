//! The five folders: whether they are there, or can be made, and can be written.

use super::finding::Finding;
use super::scratch::{Mess, Scratch, sweep};
use crate::config::Paths;
use crate::model::escape;
use crate::store::owner::{Denied, this_user};
use rustix::process::geteuid;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One of the five folders.
pub(super) struct Folder {
    /// What it is called in the settings: `inbox`.
    pub(super) name: &'static str,
    /// Where it is to be.
    pub(super) path: PathBuf,
    /// It, or the nearest folder above it that is there, as a whole path without links.
    pub(super) site: PathBuf,
    /// Whether it is there.
    pub(super) is_there: bool,
    /// Whether it is known where it is, or can be made.
    is_known: bool,
    /// Where things can be tried out on its file system; none if it cannot be written.
    pub(super) scratch: Option<Scratch>,
}

/// The five.
pub(super) struct Folders {
    pub(super) inbox: Folder,
    pub(super) archive: Folder,
    pub(super) quarantine: Folder,
    pub(super) reports: Folder,
    pub(super) state: Folder,
    /// What this user may not read of the state: the service's user can be no other.
    pub(super) denied: Option<Denied>,
}

impl Folders {
    /// Looks at all of them, and makes a scratch folder in each that can be written.
    pub(super) fn look(paths: &Paths, mess: &Mess) -> (Folders, Vec<Finding>) {
        let mut findings = Vec::new();
        let ours = [paths.state(), paths.lock(), paths.ledger()];
        let denied = ours.iter().find_map(|path| Denied::of(path));
        let mut look = |name, path| Folder::look(name, path, denied.as_ref(), mess, &mut findings);
        let folders = Folders {
            inbox: look("inbox", paths.inbox()),
            archive: look("archive", paths.archive()),
            quarantine: look("quarantine", paths.quarantine()),
            reports: look("reports", paths.reports()),
            state: look("state", paths.state()),
            denied,
        };
        if folders.all().iter().all(|folder| folder.is_known && !folder.is_there) {
            let root = escape::path(&paths.root);
            findings.push(Finding::note(
                "root",
                format!(
                    "{root} holds none of the folders yet: gridmark has never run there. If it \
                     should have, say with --root or --config where"
                ),
            ));
        }
        (folders, findings)
    }

    /// What to do: this, or to look as the service's user, if that is another one.
    pub(super) fn remedy(&self, otherwise: String) -> String {
        self.denied.as_ref().map_or(otherwise, as_service)
    }

    pub(super) fn all(&self) -> [&Folder; 5] {
        [&self.inbox, &self.archive, &self.quarantine, &self.reports, &self.state]
    }
}

impl Folder {
    fn look(
        name: &'static str,
        path: PathBuf,
        denied: Option<&Denied>,
        mess: &Mess,
        findings: &mut Vec<Finding>,
    ) -> Folder {
        let site = path.clone();
        let mut folder =
            Folder { name, site, path, is_there: false, is_known: false, scratch: None };
        let metadata = match folder.find_site() {
            Ok(metadata) => metadata,
            Err(finding) => {
                findings.push(finding);
                return folder;
            }
        };
        folder.is_known = true;
        for left in sweep(&folder.site) {
            let left = escape::path(&left);
            findings
                .push(Finding::note(name, format!("removed {left}, which an ended doctor left")));
        }
        let made = Scratch::new(&folder.site, mess);
        match made.and_then(|scratch| write_in(scratch.path()).map(|()| scratch)) {
            Ok(scratch) => folder.scratch = Some(scratch),
            Err(error) => {
                let mut finding = folder.unwritable(&metadata, &error);
                if let Some(denied) = denied {
                    // Whether the service's user may write there is not told by this.
                    finding.remedy = Some(as_service(denied));
                }
                findings.push(finding);
                return folder;
            }
        }
        findings.push(folder.found(&metadata));
        findings.extend(folder.exposed(&metadata));
        folder
    }

    /// Finds what is there of its path.
    fn find_site(&mut self) -> Result<Metadata, Finding> {
        let path = self.path.clone();
        let shown = escape::path(&path);
        let setting = format!("paths.{}", self.name);
        match path.metadata() {
            Ok(found) if !found.is_dir() => {
                let what = format!("{shown} is no folder");
                let remedy = format!("move it away, or set {setting} to another path");
                return Err(Finding::fail(self.name, what, remedy));
            }
            Ok(_) => self.is_there = true,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if path.symlink_metadata().is_ok() {
                    let what = format!("{shown} is a link that leads nowhere");
                    let remedy = format!("mount or make what it leads to, or set {setting}");
                    return Err(Finding::fail(self.name, what, remedy));
                }
            }
            // What is above it is no folder.
            Err(error) if error.kind() == ErrorKind::NotADirectory => {}
            Err(error) => return Err(self.unreachable(&error)),
        }
        let above = path.ancestors().find(|above| above.metadata().is_ok());
        let site = above.unwrap_or(Path::new("/"));
        let found = fs::canonicalize(site).and_then(|site| {
            let found = site.metadata()?;
            self.site = site;
            Ok(found)
        });
        match found {
            Ok(found) if found.is_dir() => Ok(found),
            Ok(_) => {
                let what = format!("{shown} cannot be made: {} is no folder", escape::path(site));
                Err(Finding::fail(
                    self.name,
                    what,
                    format!("set {setting} or --root to another path"),
                ))
            }
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    fn unreachable(&self, error: &io::Error) -> Finding {
        let path = escape::path(&self.path);
        let Some(denied) = Denied::of(&self.path) else {
            let what = format!("{path} cannot be looked at: {error}");
            return Finding::fail(
                self.name,
                what,
                format!("set paths.{} to another path", self.name),
            );
        };
        let closed = denied.closed().unwrap_or(Path::new("/"));
        let closed = escape::path(closed);
        let what =
            format!("{path} cannot be looked at: {} may not look into {closed}", this_user());
        Finding::fail(self.name, what, as_service(&denied))
    }

    fn unwritable(&self, found: &Metadata, error: &io::Error) -> Finding {
        let site = escape::path(&self.site);
        let shown = escape::path(&self.path);
        let what = if self.is_there {
            format!("{shown} cannot be written: {error}")
        } else {
            format!("{shown} is not there and cannot be made in {site}: {error}")
        };
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => format!(
                "it belongs to user {} with mode {:04o}, and this is user {}: \
                 chown it to the user that runs the service, and run doctor as that user",
                found.uid(),
                found.mode() & 0o7777,
                geteuid().as_raw()
            ),
            ErrorKind::ReadOnlyFilesystem => {
                "mount -o remount,rw what it lies on; if it became read-only by itself, the disk \
                 is failing: see dmesg"
                    .to_owned()
            }
            ErrorKind::StorageFull => {
                format!("make room where it lies: df -h {site}; df -i {site}")
            }
            ErrorKind::QuotaExceeded => "raise the quota of this user".to_owned(),
            _ => format!("set paths.{} to a folder that can be written", self.name),
        };
        Finding::fail(self.name, what, remedy)
    }

    fn found(&self, found: &Metadata) -> Finding {
        let shown = escape::path(&self.path);
        if !self.is_there {
            let site = escape::path(&self.site);
            let text = format!("{shown} is not there yet and can be made in {site}");
            return Finding::ok(self.name, text);
        }
        let is_link = self.path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let leads = if is_link {
            format!(", a link to {}", escape::path(&self.site))
        } else {
            String::new()
        };
        let (mode, owner) = (found.mode() & 0o7777, found.uid());
        let text = format!("{shown}{leads} can be written; mode {mode:04o}, user {owner}");
        Finding::ok(self.name, text)
    }

    /// Who else may do something here that they should not, or must be able to.
    fn exposed(&self, found: &Metadata) -> Option<Finding> {
        if !self.is_there {
            return None;
        }
        let shown = escape::path(&self.path);
        let mode = found.mode();
        let us = geteuid();
        let is_sticky = mode & 0o1000 != 0;
        if self.name == "inbox" && is_sticky && !us.is_root() && found.uid() != us.as_raw() {
            let what = format!(
                "{shown} is sticky and belongs to user {}: files of others cannot be taken out of \
                 it",
                found.uid()
            );
            let remedy = format!("chmod -t {shown}, or chown it to the user that runs the service");
            return Some(Finding::fail(self.name, what, remedy));
        }
        (mode & 0o002 != 0).then(|| {
            let what = format!("{shown} can be written by everybody on this machine");
            Finding::warn(self.name, what, format!("chmod o-w {shown}; let them in by a group"))
        })
    }
}

/// What to do where somebody else than the service's user looks.
pub(super) fn as_service(denied: &Denied) -> String {
    denied.remedy("gridmark doctor ...")
}

/// A full disk still takes names, so something is written.
fn write_in(folder: &Path) -> io::Result<()> {
    let mut file = File::create(folder.join("written"))?;
    file.write_all(&[0; 4096])?;
    file.sync_all()
}
