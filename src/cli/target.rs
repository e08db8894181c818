//! Finds out which submission a command line names: by a path, or by its name as reports show it.

use super::Error;
use super::config::SettingArgs;
use crate::config::{Loaded, Paths, Settings};
use crate::model::escape::bytes_of;
use crate::model::submission::Name;
use crate::store::ledger::{Ledger, check_not_lost};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The flags that select a service by its folders.
#[derive(Debug, clap::Args)]
pub(super) struct ServiceArgs {
    /// The folder that holds inbox, archive, quarantine, reports and state [default: here]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The service's settings file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ServiceArgs {
    /// The settings of that service.
    pub(super) fn settings(&self) -> Result<Settings, Error> {
        self.loaded().map(|loaded| loaded.settings)
    }

    /// The same with the origin of each.
    pub(super) fn loaded(&self) -> Result<Loaded, Error> {
        SettingArgs::for_service(self.config.clone(), self.root.clone()).load_absolute()
    }

    /// The settings without the settings file, if `--root` says where the service works.
    pub(super) fn by_root(&self) -> Option<Result<Settings, Error>> {
        let root = self.root.clone()?;
        let loaded = SettingArgs::for_service(None, Some(root)).load_absolute();
        Some(loaded.map(|loaded| loaded.settings))
    }

    /// The settings file that is named, if one is.
    pub(super) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}

/// Opens the ledger for reading; `None` if the service has never run there. A lost ledger is reported
/// as the service reports it.
pub(super) fn open_ledger(paths: &Paths) -> Result<Option<Ledger>, Error> {
    let path = paths.ledger();
    let opened = check_not_lost(&path, &paths.reports()).and_then(|()| Ledger::open_to_read(&path));
    Ok(opened.map_err(crate::service::Error::from)?)
}

/// Opens the ledger for reading; an error if the service has never run there.
pub(super) fn open_existing_ledger(paths: &Paths) -> Result<Ledger, Error> {
    open_ledger(paths)?.ok_or_else(|| {
        let missing = io::Error::new(io::ErrorKind::NotFound, "no service has run here");
        Error::io("read the ledger in", &paths.state())(missing)
    })
}

/// What a command line names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The file that is, or was, at this path in the inbox.
    Inbox(Name),
    /// The file at this path in the archive.
    Archive(Name),
    /// The file at this path in quarantine.
    Quarantine(Name),
    /// A submission by its name: whichever of these exists.
    Named(Vec<Name>),
    /// One of the three folders itself.
    WholeFolder,
    /// Nothing in any of the folders.
    Elsewhere,
}

impl Target {
    /// Resolves what was typed: a path into one of the folders, from here or from the root, or a name.
    pub(super) fn resolve(paths: &Paths, typed: &Path) -> Target {
        let here = std::path::absolute(typed).unwrap_or_else(|_| typed.to_owned());
        let from_root = paths.root.join(typed);
        let found = within(paths, &here).or_else(|| {
            let is_there = from_root.symlink_metadata().is_ok();
            is_there.then(|| within(paths, &from_root)).flatten()
        });
        match found {
            Some(target) => target,
            None if typed.is_absolute() => Target::Elsewhere,
            None => match names(typed.as_os_str()) {
                names if names.is_empty() => Target::Elsewhere,
                names => Target::Named(names),
            },
        }
    }
}

fn within(paths: &Paths, path: &Path) -> Option<Target> {
    let folders = [
        (paths.inbox(), Target::Inbox as fn(Name) -> Target),
        (paths.archive(), Target::Archive),
        (paths.quarantine(), Target::Quarantine),
    ];
    folders.iter().find_map(|(folder, target)| {
        let name = Name::from_bytes(below(folder, path)?.into_os_string().into_encoded_bytes());
        Some(if name.as_bytes().is_empty() { Target::WholeFolder } else { target(name) })
    })
}

/// The path from `folder` to something below it, which both may be named by way of links.
pub(super) fn below(folder: &Path, path: &Path) -> Option<PathBuf> {
    let folders = [normalized(folder), canonical(&folder.join("."))];
    [normalized(path), canonical(path)].iter().find_map(|path| {
        folders.iter().find_map(|folder| path.strip_prefix(folder).ok()).map(Path::to_owned)
    })
}

/// The path without `.` and, as far as its text allows, without `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// The path without symbolic links, except that its last part may be one.
fn canonical(path: &Path) -> PathBuf {
    for parent in path.ancestors().skip(1) {
        if let (Ok(real), Ok(below)) = (parent.canonicalize(), path.strip_prefix(parent)) {
            return normalized(&real.join(below));
        }
    }
    normalized(path)
}

/// The names that `typed` may stand for: its bytes, or the name that reports show like this. A path
/// that leads out of the inbox is no name.
fn names(typed: &OsStr) -> Vec<Name> {
    let mut names = vec![Name::from_bytes(typed.as_bytes())];
    if let Some(text) = typed.to_str() {
        let shown = [Some(text), text.strip_prefix('\'')];
        for bytes in shown.into_iter().flatten().filter_map(bytes_of) {
            let name = Name::from_bytes(bytes);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.retain(is_within);
    names
}

fn is_within(name: &Name) -> bool {
    let bytes = name.as_bytes();
    let mut parts = bytes.split(|&byte| byte == b'/');
    let is_relative = !bytes.starts_with(b"/") && !bytes.contains(&0);
    is_relative && parts.all(|part| part != b"." && part != b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8]) -> Name {
        Name::from_bytes(bytes)
    }

    #[test]
    fn paths_into_the_folders_are_files_and_others_are_names() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let paths = Paths { root: root.path().to_owned(), ..Paths::default() };
        let below = |path: &str| Target::resolve(&paths, &root.path().join(path));
        assert_eq!(below("inbox/team/p"), Target::Inbox(name(b"team/p")));
        assert_eq!(below("archive/../inbox/./p"), Target::Inbox(name(b"p")));
        assert_eq!(below("archive/p~2"), Target::Archive(name(b"p~2")));
        assert_eq!(below("quarantine/p/"), Target::Quarantine(name(b"p")));
        assert_eq!(below("inbox"), Target::WholeFolder);
        assert_eq!(below("reports/p"), Target::Elsewhere);
        let typed = Path::new(r"'=team\xFF/p");
        let names = [&br"'=team\xFF/p"[..], b"'=team\xff/p", b"=team\xff/p"].map(name);
        assert_eq!(Target::resolve(&paths, typed), Target::Named(names.to_vec()));
        for outside in ["../p", "team/../../p", "./p", r"\x2E\x2E/p"] {
            let target = Target::resolve(&paths, Path::new(outside));
            let Target::Named(names) = target else {
                assert_eq!(target, Target::Elsewhere);
                continue;
            };
            // The characters themselves are a name.
            assert_eq!(names, [name(outside.as_bytes())]);
        }
    }

    #[test]
    fn links_to_folders_are_followed_but_a_link_as_last_part_is_not() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let paths = Paths { root: root.path().to_owned(), ..Paths::default() };
        std::fs::create_dir(paths.inbox()).expect("an inbox");
        std::os::unix::fs::symlink(paths.inbox(), root.path().join("link")).expect("a link");
        std::os::unix::fs::symlink("/", paths.inbox().join("p")).expect("a link");
        let target = Target::resolve(&paths, &root.path().join("link/p"));
        assert_eq!(target, Target::Inbox(name(b"p")));
    }
}
