//! The five folders of the service have to be apart in truth, not only by their paths: through a link or a mount,
//! the archive could lie in the inbox, and what was taken would be taken again for ever.

use super::mounts::{self, Mount};
use crate::config::Paths;
use crate::model::escape;
use std::fmt;
use std::path::{Path, PathBuf};

/// Two of the folders of which one holds the other, or is the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The name in the settings and the path of the inner one.
    pub inner: (&'static str, PathBuf),
    /// The same of the outer one.
    pub outer: (&'static str, PathBuf),
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((inner, inner_path), (outer, outer_path)) = (&self.inner, &self.outer);
        let (inner_path, outer_path) = (escape::path(inner_path), escape::path(outer_path));
        write!(
            f,
            "paths.{inner}, {inner_path}, is or lies in paths.{outer}, {outer_path}, through a link or a mount"
        )
    }
}

/// Where a folder is: its path without links, and its path in its file system.
struct Place {
    path: PathBuf,
    device: String,
    in_device: PathBuf,
}

impl Place {
    /// The place of a folder; nothing if that cannot be found out. What does not exist yet is where it would be
    /// created.
    fn of(path: &Path, mounts: &[Mount]) -> Option<Place> {
        let existing = path.ancestors().find(|above| above.exists())?;
        let missing = path.strip_prefix(existing).ok()?;
        let path = existing.canonicalize().ok()?.join(missing);
        let mount = mounts::of(mounts, &path);
        let (device, in_device) = match mount {
            Some(mount) => {
                let below = path.strip_prefix(&mount.point).ok()?;
                (mount.device.clone(), mount.root.join(below))
            }
            None => Default::default(),
        };
        Some(Place { path, device, in_device })
    }

    fn is_in(&self, other: &Place) -> bool {
        self.path.starts_with(&other.path)
            || (!self.device.is_empty()
                && self.device == other.device
                && self.in_device.starts_with(&other.in_device))
    }
}

/// The folder that has to exist before this one of the five is created, if it does not: the one that holds the
/// root, or, of a folder elsewhere, the one that holds it. Otherwise a mistyped path, or a disk that is not
/// mounted, would look like a new root.
pub fn missing_above<'a>(paths: &'a Paths, folder: &'a Path) -> Option<&'a Path> {
    let first = if folder.starts_with(&paths.root) { &paths.root } else { folder };
    let above = first.parent().filter(|above| !above.as_os_str().is_empty())?;
    (!folder.is_dir() && !above.is_dir()).then_some(above)
}

/// Two of these folders of which one holds the other, if there are two.
pub fn overlap(paths: &Paths) -> Option<Overlap> {
    let folders = [
        ("inbox", paths.inbox()),
        ("archive", paths.archive()),
        ("quarantine", paths.quarantine()),
        ("reports", paths.reports()),
        ("state", paths.state()),
    ];
    let mounts = mounts::all().unwrap_or_default();
    let places = folders.each_ref().map(|(_, path)| Place::of(path, &mounts));
    for (i, inner) in places.iter().enumerate() {
        for (j, outer) in places.iter().enumerate().filter(|(j, _)| *j != i) {
            if let (Some(inner), Some(outer)) = (inner, outer)
                && inner.is_in(outer)
            {
                return Some(Overlap { inner: folders[i].clone(), outer: folders[j].clone() });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn paths(root: &Path) -> Paths {
        Paths { root: root.to_owned(), ..Paths::default() }
    }

    #[test]
    fn only_the_last_part_of_a_path_elsewhere_is_created() {
        let root = tempfile::tempdir().expect("a folder");
        let new = paths(&root.path().join("new"));
        assert_eq!(missing_above(&new, &new.inbox()), None);
        assert_eq!(missing_above(&new, &new.root.join("deep/er")), None);
        let wrong = paths(&root.path().join("wrong/new"));
        assert_eq!(missing_above(&wrong, &wrong.inbox()), Some(&*root.path().join("wrong")));
        let elsewhere = root.path().join("elsewhere/inbox");
        assert_eq!(missing_above(&new, &elsewhere), elsewhere.parent());
        fs::create_dir(root.path().join("elsewhere")).expect("a folder");
        assert_eq!(missing_above(&new, &elsewhere), None);
    }

    #[test]
    fn folders_are_apart_whether_they_exist_or_not() {
        let root = tempfile::tempdir().expect("a folder");
        assert_eq!(overlap(&paths(root.path())), None);
        assert_eq!(overlap(&paths(&root.path().join("not/yet"))), None);
        fs::create_dir(root.path().join("elsewhere")).expect("a folder");
        symlink("elsewhere", root.path().join("archive")).expect("a link");
        assert_eq!(overlap(&paths(root.path())), None);
    }

    #[test]
    fn a_folder_that_lies_in_another_through_a_link_is_found() {
        for (inner, link, target) in [
            ("archive", "archive", "inbox/archive"),
            ("inbox", "inbox", "reports"),
            ("state", "state", "quarantine/deep/er"),
        ] {
            let root = tempfile::tempdir().expect("a folder");
            fs::create_dir_all(root.path().join(target)).expect("folders");
            symlink(target, root.path().join(link)).expect("a link");
            let found = overlap(&paths(root.path())).expect("an overlap");
            let outer = target.split('/').next().expect("a folder");
            assert!([found.inner.0, found.outer.0].contains(&inner), "{found}");
            assert!([found.inner.0, found.outer.0].contains(&outer), "{found}");
            let through = root.path().join("through");
            symlink(".", &through).expect("a link");
            assert!(overlap(&paths(&through)).is_some());
        }
    }
}
