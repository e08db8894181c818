//! Whose the files are. What root makes among the service's files is the service's, what is copied
//! stays whose it was, and who may not read them is told as whom to look.

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
/// The bits of a mode that say who may read, write and search.
const ACCESS: u32 = 0o777;
/// All bits of a mode but the one by which nobody may remove the files of others.
const NOT_STICKY: u32 = 0o6777;
/// What its owner may do with a file.
const OWN: u32 = 0o600;

/// Gives what was just made in this folder to whom the folder belongs, if root made it: a command of
/// root's must leave nothing that the service may not use. A folder gets the mode of the one in which
/// it is, and a file may be used by nobody who may not use the folder.
///
/// # Errors
///
/// If the system refuses, and not because it lets nobody give anything away.
pub fn give(made: impl AsFd, folder: &Stat) -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let found = fstat(&made)?;
    if (found.st_uid, found.st_gid) == (folder.st_uid, folder.st_gid) {
        return Ok(());
    }
    pass_on(&made, folder)?;
    let mode = if FileType::from_raw_mode(found.st_mode).is_dir() {
        folder.st_mode & NOT_STICKY
    } else {
        found.st_mode & (folder.st_mode | OWN) & ACCESS
    };
    Ok(fchmod(&made, Mode::from_raw_mode(mode))?)
}

/// Lets a copy have the owner, as far as the system lets us, and the mode of what it was copied from.
///
/// # Errors
///
/// If the system refuses.
pub fn keep(copy: impl AsFd, source: &Stat) -> io::Result<()> {
    pass_on(&copy, source)?;
    let mode = if FileType::from_raw_mode(source.st_mode).is_dir() {
        // Whoever copies puts something into it.
        source.st_mode & 0o7777 | 0o700
    } else {
        // Whatever else is in the mode of a file makes it a program that others run as its owner.
        source.st_mode & ACCESS
    };
    Ok(fchmod(&copy, Mode::from_raw_mode(mode))?)
}

fn pass_on(made: impl AsFd, like: &Stat) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
    for user in [Some(user), None] {
        match fchown(&made, user, Some(group)) {
            Ok(()) => return Ok(()),
            // Who may give nothing away, or not to that one, may still let the group have it.
            Err(Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Makes a folder and those above it that are missing; what root makes belongs to whom the folder
/// belongs in which it is made.
///
/// # Errors
///
/// If one cannot be made.
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
        // Somebody else was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            give(openat(CWD, path, flags, Mode::empty())?, &stat(above)?)
        }
    }
}

/// A file or folder that whoever runs this may not read, and whose it is.
#[derive(Debug)]
pub struct Denied {
    path: PathBuf,
    owner: Option<u32>,
}

impl Denied {
    /// What is at this path, if it is there, or may be, and this user may not read it.
    pub fn of(path: &Path) -> Option<Denied> {
        let access = accessat(CWD, path, rustix::fs::Access::READ_OK, AtFlags::EACCESS);
        if access != Err(Errno::ACCESS) {
            return None;
        }
        // Where it cannot be seen, the folder that keeps it is most likely of the same user.
        let seen = path.ancestors().find_map(|above| above.symlink_metadata().ok());
        Some(Denied { path: path.to_owned(), owner: seen.map(|found| found.uid()) })
    }

    /// What to do about it: run this command, or what stands for one, as somebody else.
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

    /// The folder, of those above it, into which this user may not look.
    pub fn closed(&self) -> Option<&Path> {
        let hidden = self.path.symlink_metadata().is_err();
        let above = self.path.ancestors().skip(1);
        above.filter(|_| hidden).find(|above| above.symlink_metadata().is_ok())
    }
}

/// What is denied to whom, in words.
impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = escape::path(&self.path);
        write!(f, "{path} cannot be read by {}: permission denied", this_user())
    }
}

/// Who runs this, in words.
pub fn this_user() -> String {
    format!("this user (uid {})", geteuid().as_raw())
}

/// What the system calls this user, if it says so in its file.
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
    fn folders_are_made_once_and_what_is_none_is_in_the_way() {
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
