//! Who owns the files.
//!
//! What root creates among the service's files belongs to the service's user, or a command of root's would leave
//! files that the service cannot use. A copy keeps the owner of its source. Where a user may not read a file, the
//! message says as which user to run the command.

use crate::model::escape;
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::fs::{accessat, fchmod, fchown, fstat, openat, stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the system keeps the names of its users.
const USERS: &str = "/etc/passwd";
/// The bits of a mode that say who may read, write and execute or search.
const ACCESS: u32 = 0o777;
/// All bits of a mode except the sticky bit.
const NOT_STICKY: u32 = 0o6777;
/// The owner may read and write.
const OWN: u32 = 0o600;

/// Gives what was just created in `folder` to the folder's owner, if root created it. A new folder gets the
/// mode of `folder`; a new file may be used only by those who may use `folder`.
///
/// # Errors
///
/// If the system refuses, unless it lets nobody change owners.
pub fn give(created: impl AsFd, folder: &Stat) -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let found = fstat(&created)?;
    if (found.st_uid, found.st_gid) == (folder.st_uid, folder.st_gid) {
        return Ok(());
    }
    change_owner(&created, folder)?;
    let mode = if FileType::from_raw_mode(found.st_mode).is_dir() {
        folder.st_mode & NOT_STICKY
    } else {
        found.st_mode & (folder.st_mode | OWN) & ACCESS
    };
    Ok(fchmod(&created, Mode::from_raw_mode(mode))?)
}

/// Gives a copy the mode of its source, and its owner if the system allows that.
///
/// # Errors
///
/// If the system refuses.
pub fn keep(copy: impl AsFd, source: &Stat) -> io::Result<()> {
    change_owner(&copy, source)?;
    let mode = if FileType::from_raw_mode(source.st_mode).is_dir() {
        // The copy's contents have yet to be written into it.
        source.st_mode & 0o7777 | 0o700
    } else {
        // Without the set-user-id and set-group-id bits, which let others run it as its owner.
        source.st_mode & ACCESS
    };
    Ok(fchmod(&copy, Mode::from_raw_mode(mode))?)
}

fn change_owner(created: impl AsFd, like: &Stat) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
    for user in [Some(user), None] {
        match fchown(&created, user, Some(group)) {
            Ok(()) => return Ok(()),
            // A user who may not change the owner may still change the group.
            Err(Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Creates a folder and its missing parents. What root creates gets the owner of the folder that it is
/// created in.
///
/// # Errors
///
/// If one cannot be created.
pub fn make_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = match path.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => return Err(Errno::NOENT.into()),
    };
    make_folders(above)?;
    match std::fs::create_dir(path) {
        // Another process created it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            give(openat(CWD, path, flags, Mode::empty())?, &stat(above)?)
        }
    }
}

/// A file or folder that the current user may not read, and its owner.
#[derive(Debug)]
pub struct Denied {
    path: PathBuf,
    owner: Option<u32>,
}

impl Denied {
    /// What is at `path`, if the current user may not read it; it may be missing where its folder cannot
    /// be searched.
    pub fn of(path: &Path) -> Option<Denied> {
        let access = accessat(CWD, path, rustix::fs::Access::READ_OK, AtFlags::EACCESS);
        if access != Err(Errno::ACCESS) {
            return None;
        }
        // If it cannot be seen, it most likely has the owner of the folder that hides it.
        let seen = path.ancestors().find_map(|above| above.symlink_metadata().ok());
        Some(Denied { path: path.to_owned(), owner: seen.map(|found| found.uid()) })
    }

    /// What to do about it: run `command` as another user.
    pub fn remedy(&self, command: &str) -> String {
        let whose = "the service's user";
        match self.owner {
            Some(0) => format!("run it as {whose} (root, uid 0), e.g. `sudo {command}`"),
            Some(user) => match name_of(user) {
                Some(name) => {
                    format!(
                        "run it as {whose} ({name}, uid {user}), e.g. `sudo -u {name} {command}`"
                    )
                }
                None => {
                    format!("run it as {whose} (uid {user}), e.g. `sudo -u '#{user}' {command}`")
                }
            },
            None => format!("run it as {whose}"),
        }
    }
}

/// Says what cannot be read, and by whom.
impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = escape::path(&self.path);
        write!(
            f,
            "{path} cannot be read by this user (uid {}): permission denied",
            geteuid().as_raw()
        )
    }
}

/// The name of the current user, or the number.
pub fn this_user() -> String {
    let user = geteuid().as_raw();
    name_of(user).unwrap_or_else(|| format!("uid {user}"))
}

/// The name of a user in the system's file of users, if it is there.
fn name_of(user: u32) -> Option<String> {
    let users = std::fs::read_to_string(USERS).ok()?;
    let user = user.to_string();
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == user).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_created_once_and_never_over_a_file_or_link() {
        let root = tempfile::tempdir().expect("a folder");
        let deep = root.path().join("a/b/c");
        make_folders(&deep).expect("folders");
        make_folders(&deep).expect("the same folders");
        std::fs::write(root.path().join("file"), "").expect("a file");
        make_folders(&root.path().join("file/below")).expect_err("a file in the way");
        std::os::unix::fs::symlink("nowhere", root.path().join("link")).expect("a link");
        make_folders(&root.path().join("link")).expect_err("a link in the way");
    }

    #[test]
    fn names_of_users_are_those_of_the_system() {
        let root = name_of(0);
        assert!(root.is_none_or(|name| name == "root"));
        assert_eq!(name_of(4_000_000_001), None);
    }
}
