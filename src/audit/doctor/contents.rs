//! Checks whether this user may use what the folders already contain.

use super::finding::Finding;
use super::folders::Folders;
use crate::model::escape;
use crate::model::words::counted;
use crate::store::archive::HIDDEN_PREFIX;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// How many files and folders of the inbox are checked at most.
const ENTRIES_MAX: usize = 200_000;
/// How many files of state, reports and reports/folders are checked at most, in each.
const FILES_MAX: usize = 20_000;

/// The contents of the inbox.
#[derive(Default)]
pub(super) struct Inbox {
    /// The number of folders, the inbox included.
    pub(super) folders: usize,
    pub(super) files: usize,
    /// Folders from which this user cannot take files.
    closed: Vec<PathBuf>,
    /// Files that this user cannot read.
    unreadable: Vec<PathBuf>,
    /// Whether there is more than was counted.
    is_cut: bool,
}

impl Inbox {
    pub(super) fn examine(folders: &Folders) -> Inbox {
        let mut inbox = Inbox::default();
        let mut left = vec![folders.inbox.path.clone()];
        while let Some(folder) = left.pop() {
            inbox.folders += 1;
            if !may(&folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
                inbox.closed.push(folder.clone());
            }
            for (path, kind) in entries(&folder) {
                if inbox.files + inbox.folders + left.len() >= ENTRIES_MAX {
                    inbox.is_cut = true;
                    return inbox;
                }
                if kind.is_dir() {
                    left.push(path);
                } else if kind.is_file() {
                    inbox.files += 1;
                    if !may(&path, Access::READ_OK) {
                        inbox.unreadable.push(path);
                    }
                }
            }
        }
        inbox
    }

    pub(super) fn findings(&self, folders: &Folders) -> Vec<Finding> {
        if !folders.inbox.exists {
            return Vec::new();
        }
        let mut findings = Vec::new();
        if let Some(closed) = first_of(&self.closed) {
            let what = format!("this user cannot take files out of {closed}");
            let inbox = escape::path(&folders.inbox.path);
            let remedy = format!(
                "make this user their owner, or let the inbox's group write there and in new \
                 folders: chgrp -R --reference={inbox} {inbox}; find {inbox} -type d -exec chmod \
                 g+rwxs {{}} +"
            );
            findings.push(Finding::fail("contents", what, folders.remedy(remedy)));
        }
        if let Some(unreadable) = first_of(&self.unreadable) {
            let what = format!("this user cannot read {unreadable}");
            let inbox = escape::path(&folders.inbox.path);
            let remedy = format!(
                "let the inbox's group read them, or copy files in instead of moving them: \
                 chgrp -R --reference={inbox} {inbox}; chmod -R g+rX {inbox}"
            );
            findings.push(Finding::fail("contents", what, folders.remedy(remedy)));
        }
        if findings.is_empty() {
            let more = if self.is_cut { "more than " } else { "" };
            let files = counted(self.files, "file");
            let folders = counted(self.folders - 1, "folder");
            let what = format!("{more}{files} in {folders} of the inbox can be taken");
            findings.push(Finding::ok("contents", what));
        }
        findings
    }
}

/// Checks that files which an earlier run has written can be written.
pub(super) fn written(folders: &Folders) -> Vec<Finding> {
    let mut closed = Vec::new();
    let mut count = 0;
    let (state, reports) = (&folders.state.path, &folders.reports.path);
    for folder in [state.clone(), reports.clone(), reports.join("folders")] {
        let files = entries(&folder).filter(|(_, kind)| kind.is_file());
        for (path, _) in files.take(FILES_MAX) {
            count += 1;
            if !may(&path, Access::READ_OK | Access::WRITE_OK) {
                closed.push(path);
            }
        }
    }
    match first_of(&closed) {
        Some(closed) => {
            let what = format!("this user cannot write {closed}");
            let (state, reports) = (escape::path(state), escape::path(reports));
            let remedy = format!(
                "make the user that runs the service their owner (it may have run as another user \
                 before): chown -R USER {state} {reports}"
            );
            vec![Finding::fail("contents", what, folders.remedy(remedy))]
        }
        None if count > 0 => {
            let what = format!("{} in state and reports can be written", counted(count, "file"));
            vec![Finding::ok("contents", what)]
        }
        None => Vec::new(),
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = (PathBuf, FileType)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(HIDDEN_PREFIX.as_bytes()))
        .filter_map(|entry| Some((entry.path(), entry.file_type().ok()?)))
}

fn may(path: &Path, access: Access) -> bool {
    accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}

/// The first path, and how many more there are; `None` without any.
pub(super) fn first_of(paths: &[PathBuf]) -> Option<String> {
    let first = escape::path(paths.iter().min()?).to_string();
    Some(match paths.len() - 1 {
        0 => first,
        more => format!("{first} and {more} more"),
    })
}
