//! Which submission somebody means, by a path or by its name as reports show it.

use super::Error;
use super::config::SettingArgs;
use crate::config::{Loaded, Paths, Settings};
use crate::model::escape::bytes_of;
use crate::model::submission::Name;
use crate::store::ledger::Ledger;
use crate::store::recovery::look_for_loss;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The flags that say which service is meant.
#[derive(Debug, clap::Args)]
pub(super) struct Whose {
    /// The folder that holds inbox, archive, quarantine, reports and state [default: here]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The service's settings file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Whose {
    /// The settings of that service.
    pub(super) fn settings(&self) -> Result<Settings, Error> {
        self.loaded().map(|loaded| loaded.settings)
    }

    /// The same, and where each comes from.
    pub(super) fn loaded(&self) -> Result<Loaded, Error> {
        Whose::read(SettingArgs::of_place(self.config.clone(), self.root.clone()))
    }

    /// The settings without the settings file, if it is said without it where the service works.
    pub(super) fn by_root(&self) -> Option<Result<Settings, Error>> {
        let root = self.root.clone()?;
        let read = Whose::read(SettingArgs::of_place(None, Some(root)));
        Some(read.map(|loaded| loaded.settings))
    }

    /// The settings file that is named, if one is.
    pub(super) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    fn read(args: SettingArgs) -> Result<Loaded, Error> {
        let mut loaded = args.load()?;
        let root = &mut loaded.settings.paths.root;
        *root = std::path::absolute(&root).map_err(Error::io("find", root))?;
        Ok(loaded)
    }
}

/// Opens the ledger for reading; `None` if the service has never run there. One that is lost is told
/// as the service tells it.
pub(super) fn open_ledger(paths: &Paths) -> Result<Option<Ledger>, Error> {
    let path = paths.ledger();
    let opened = look_for_loss(&path, &paths.reports()).and_then(|()| Ledger::open_to_read(&path));
    Ok(opened.map_err(crate::service::Error::from)?)
}

/// What somebody means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// What is, or was, at this place in the inbox.
    Inbox(Name),
    /// What lies there in the archive.
    Archive(Name),
    /// What lies there in quarantine.
    Quarantine(Name),
    /// A submission, by its name: any of these that there is.
    Named(Vec<Name>),
    /// One of the three folders itself.
    WholeFolder,
    /// Nothing in any of the folders.
    Elsewhere,
}

/// What `typed` means.
pub(super) fn asked(paths: &Paths, typed: &Path) -> Asked {
    let here = std::path::absolute(typed).unwrap_or_else(|_| typed.to_owned());
    let from_root = paths.root.join(typed);
    let found = within(paths, &here).or_else(|| {
        let is_there = from_root.symlink_metadata().is_ok();
        is_there.then(|| within(paths, &from_root)).flatten()
    });
    match found {
        Some(asked) => asked,
        None if typed.is_absolute() => Asked::Elsewhere,
        None => match names(typed.as_os_str()) {
            names if names.is_empty() => Asked::Elsewhere,
            names => Asked::Named(names),
        },
    }
}

fn within(paths: &Paths, path: &Path) -> Option<Asked> {
    let folders = [
        (paths.inbox(), Asked::Inbox as fn(Name) -> Asked),
        (paths.archive(), Asked::Archive),
        (paths.quarantine(), Asked::Quarantine),
    ];
    for path in [plain(path), resolved(path)] {
        for (folder, meant) in &folders {
            for folder in [plain(folder), resolved(&folder.join("."))] {
                let Ok(below) = path.strip_prefix(&folder) else {
                    continue;
                };
                let name = Name::from_bytes(below.as_os_str().as_bytes());
                let is_whole = name.as_bytes().is_empty();
                return Some(if is_whole { Asked::WholeFolder } else { meant(name) });
            }
        }
    }
    None
}

/// The path without `.` and, as far as its text tells, without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The path without links in it, but for its last part, which may be one.
fn resolved(path: &Path) -> PathBuf {
    for parent in path.ancestors().skip(1) {
        if let (Ok(real), Ok(below)) = (parent.canonicalize(), path.strip_prefix(parent)) {
            return plain(&real.join(below));
        }
    }
    plain(path)
}

/// The names that these characters may stand for: the bytes themselves, or what reports show like
/// this. What leads out of the inbox is no name.
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
    let is_plain = !bytes.starts_with(b"/") && !bytes.contains(&0);
    is_plain && parts.all(|part| part != b"." && part != b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8]) -> Name {
        Name::from_bytes(bytes)
    }

    #[test]
    fn paths_below_the_folders_mean_what_lies_there_and_others_are_names() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let paths = Paths { root: root.path().to_owned(), ..Paths::default() };
        let below = |path: &str| asked(&paths, &root.path().join(path));
        assert_eq!(below("inbox/team/p"), Asked::Inbox(name(b"team/p")));
        assert_eq!(below("archive/../inbox/./p"), Asked::Inbox(name(b"p")));
        assert_eq!(below("archive/p~2"), Asked::Archive(name(b"p~2")));
        assert_eq!(below("quarantine/p/"), Asked::Quarantine(name(b"p")));
        assert_eq!(below("inbox"), Asked::WholeFolder);
        assert_eq!(below("reports/p"), Asked::Elsewhere);
        let typed = Path::new(r"'=team\xFF/p");
        let meant = [&br"'=team\xFF/p"[..], b"'=team\xff/p", b"=team\xff/p"].map(name);
        assert_eq!(asked(&paths, typed), Asked::Named(meant.to_vec()));
        for outside in ["../p", "team/../../p", "./p", r"\x2E\x2E/p"] {
            let meant = asked(&paths, Path::new(outside));
            let Asked::Named(names) = meant else {
                assert_eq!(meant, Asked::Elsewhere);
                continue;
            };
            // The characters themselves are a name.
            assert_eq!(names, [name(outside.as_bytes())]);
        }
    }

    #[test]
    fn links_to_the_folders_are_followed_and_the_last_part_is_not() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let paths = Paths { root: root.path().to_owned(), ..Paths::default() };
        std::fs::create_dir(paths.inbox()).expect("an inbox");
        std::os::unix::fs::symlink(paths.inbox(), root.path().join("way in")).expect("a link");
        std::os::unix::fs::symlink("/", paths.inbox().join("p")).expect("a link");
        let meant = asked(&paths, &root.path().join("way in/p"));
        assert_eq!(meant, Asked::Inbox(name(b"p")));
    }
}
