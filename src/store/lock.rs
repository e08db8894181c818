//! One service for each folder: file locks, which the kernel releases however the process ends.
//!
//! Every folder that a service writes has a lock, not only its state: two services with a state each may be given the
//! same reports, or one inbox. The locks are taken in one order, which depends on the folders alone, so that of two
//! services that start at the same time one gets all of them.
//!
//! A lock's file says who holds it, and that of the state folder where it serves HTTP, so that a second instance can name the
//! first and commands can find the service. The lock is `flock(2)`, so what the file says is a hint and the lock decides.
//!
//! Where a file system has no locks the service works without, and says so. The same holds where a lock's file cannot be
//! used in a folder other than the state folder: others can write to an inbox, and nothing that they leave there under
//! the name of the lock may keep the service from starting. Only a lock that somebody holds does.

use crate::config::Paths;
use crate::model::escape;
use crate::store::archive::HIDDEN_PREFIX;
use crate::store::owner;
use crate::store::path::is_missing;
use rustix::fs::{AtFlags, CWD, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, stat, utimensat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The name of the lock in inbox, archive, quarantine and reports.
pub const LOCK_NAME: &str = ".gridmark-lock";

/// What each lock's file begins with.
const OWN_START: &str = "process ";
/// How much of a lock's file is read.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// Why the locks could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process holds one.
    #[error(
        "another gridmark works here already: {holder} (it holds {}); stop it, or set other folders",
        escape::path(path)
    )]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// What the file says of its holder.
        holder: String,
    },
    /// A folder lies in one of another service.
    #[error(
        "{} lies in a folder of another gridmark: {holder} (it holds {}); set another folder",
        escape::path(path),
        escape::path(lock)
    )]
    Within {
        /// The folder.
        path: PathBuf,
        /// The lock of the other service.
        lock: PathBuf,
        /// What its file says of its holder.
        holder: String,
    },
    /// The inbox holds a folder of another service.
    #[error(
        "the inbox {} holds a folder of another gridmark, whose files would be taken: {holder} (it holds {}); \
         set another inbox",
        escape::path(path),
        escape::path(lock)
    )]
    Around {
        /// The inbox.
        path: PathBuf,
        /// The lock of the other service.
        lock: PathBuf,
        /// What its file says of its holder.
        holder: String,
    },
    /// Two folders are one, or one lies in the other.
    #[error(
        "{} is the folder {}, or lies in it; set a folder of its own for each",
        escape::path(one),
        escape::path(other)
    )]
    NotApart {
        /// One folder.
        one: PathBuf,
        /// The other one.
        other: PathBuf,
    },
    /// A file cannot be used.
    #[error("cannot lock {}", escape::path(path))]
    Io {
        /// The lock's file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The locks of all folders of a service, held until this is dropped.
#[derive(Debug)]
pub struct Locks {
    state: Lock,
    /// Those of the other folders.
    others: Vec<Lock>,
    /// What the files say of this process.
    holder: Claimant,
}

/// The lock of one folder.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    /// Whether it belongs to the state folder.
    is_of_state: bool,
    /// Its file, which is locked, unless there is a reason why not. Nothing if it cannot be opened.
    file: Option<File>,
    /// Why it is not locked.
    unlocked: Option<io::Error>,
}

/// This process, as the files of its locks name it.
#[derive(Debug)]
struct Claimant {
    root: PathBuf,
    since: jiff::Timestamp,
    address: Option<SocketAddr>,
    /// The state folder, whose owner gets the files.
    state: Stat,
}

/// What a lock's file says of its holder, or of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub process: u32,
    /// The address at which it serves metrics and health, if it does.
    pub address: Option<SocketAddr>,
}

impl Locks {
    /// Takes the locks of these folders, and writes to each file who holds it. Folders that are missing have none.
    ///
    /// # Errors
    ///
    /// If another process holds one, two folders are one, or the lock of the state folder cannot be used.
    pub fn take(paths: &Paths) -> Result<Locks, Error> {
        check_apart(paths)?;
        let (path, state) = (paths.lock(), paths.state());
        let found = stat(&state);
        let found = found.map_err(|why| Error::Io { path: path.clone(), source: why.into() })?;
        let (root, since) = (paths.root.clone(), jiff::Timestamp::now());
        let holder = Claimant { root, since, address: None, state: found };
        let folders = [paths.inbox(), paths.archive(), paths.quarantine(), paths.reports()];
        let mut folders = folders.map(|folder| (identity_of(&folder), folder));
        folders.sort();
        let mut known = vec![(Some((found.st_dev, found.st_ino)), &state)];
        for (identity, folder) in &folders {
            let same = known.iter().find(|(known, _)| known.is_some() && known == identity);
            if let Some((_, other)) = same {
                return Err(Error::NotApart { one: folder.clone(), other: (*other).clone() });
            }
            known.push((*identity, folder));
        }
        let mut locks =
            Locks { state: Lock::take(&path, true, &holder)?, others: Vec::new(), holder };
        for (_, folder) in &folders {
            locks.others.push(Lock::take(&folder.join(LOCK_NAME), false, &locks.holder)?);
        }
        known.iter().try_for_each(|(_, folder)| locks.check_above(folder))?;
        Ok(locks)
    }

    /// Checks that a folder lies in no other one of this service. Of other services `check_apart` has checked it.
    fn check_above(&self, folder: &Path) -> Result<(), Error> {
        let Ok(real) = folder.canonicalize() else { return Ok(()) };
        for above in real.ancestors().skip(1) {
            let is = identity_of(&above.join(LOCK_NAME));
            if is.is_some() && self.others.iter().any(|lock| lock.identity() == is) {
                let (one, other) = (folder.to_owned(), above.to_owned());
                return Err(Error::NotApart { one, other });
            }
        }
        Ok(())
    }

    /// Takes each lock again whose file was removed or replaced; returns whether there was one.
    ///
    /// # Errors
    ///
    /// If another process holds it by now, or that of the state folder cannot be used.
    pub fn check_files(&mut self) -> Result<bool, Error> {
        let Locks { state, others, holder } = self;
        let mut is_restored = false;
        for lock in std::iter::once(state).chain(others) {
            is_restored |= lock.check(holder)?;
        }
        Ok(is_restored)
    }

    /// Adds to the file of the state folder at which address metrics and health are served.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn set_address(&mut self, address: SocketAddr) -> Result<(), Error> {
        self.holder.address = Some(address);
        let written = self.state.write(&self.holder);
        written.map_err(|source| Error::Io { path: self.state.path.clone(), source })
    }

    /// The files that cannot be locked, each with the reason: nothing keeps another service out of their folders.
    pub fn unlocked(&self) -> Vec<String> {
        let all = std::iter::once(&self.state).chain(&self.others);
        let unlocked = all.filter_map(|lock| Some((lock, lock.unlocked.as_ref()?)));
        unlocked.map(|(lock, why)| format!("{}: {why}", escape::path(&lock.path))).collect()
    }
}

impl Lock {
    fn take(path: &Path, is_of_state: bool, holder: &Claimant) -> Result<Lock, Error> {
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let lock = |file, unlocked| Lock { path: path.to_owned(), is_of_state, file, unlocked };
        let mut file = match open(path, &holder.state) {
            Ok(file) => file,
            Err(error) if is_of_state => return Err(failed(error)),
            // There is nothing to lock yet.
            Err(error) if is_missing(&error) => return Ok(lock(None, None)),
            Err(error) => return Ok(lock(None, Some(error))),
        };
        let mut locked = file.try_lock();
        // NFS locks only what is open for writing.
        if let Err(TryLockError::Error(why)) = &locked
            && Errno::from_io_error(why) == Some(Errno::BADF)
            && let Ok(writable) = open_to_write(path)
        {
            file = writable;
            locked = file.try_lock();
        }
        let unlocked = match locked {
            Ok(()) => None,
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Held { path: path.to_owned(), holder: holder_in(path, &file) });
            }
            Err(TryLockError::Error(why)) if !is_of_state || has_no_locks(&why) => Some(why),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        };
        let lock = lock(Some(file), unlocked);
        match lock.write(holder) {
            Err(error) if is_of_state => Err(failed(error)),
            // Who holds it is a hint.
            _ => Ok(lock),
        }
    }

    /// Takes it again if its file was removed or replaced; returns whether it was.
    fn check(&mut self, holder: &Claimant) -> Result<bool, Error> {
        let ours = self.identity();
        if ours.is_some() && identity_of(&self.path) == ours {
            return Ok(false);
        }
        let taken = Lock::take(&self.path, self.is_of_state, holder)?;
        let is_restored = ours.is_some() && taken.file.is_some();
        *self = taken;
        Ok(is_restored)
    }

    /// Writes to its file who holds it. The file is not kept open for writing: that would keep its file system from
    /// being made read-only.
    fn write(&self, holder: &Claimant) -> io::Result<()> {
        let file = open_to_write(&self.path)?;
        if Some(identity(&file.metadata()?)) != self.identity() {
            return Err(io::Error::other("it was replaced"));
        }
        let mut there = [0; OWN_START.len()];
        let length = file.read_at(&mut there, 0)?;
        if !self.is_of_state && there[..length] != OWN_START.as_bytes()[..length] {
            return Err(io::Error::other("another program wrote it"));
        }
        let text = holder.text(self.is_of_state);
        file.write_all_at(text.as_bytes(), 0)?;
        file.set_len(text.len() as u64)
    }

    /// Which file it is.
    fn identity(&self) -> Option<(u64, u64)> {
        self.file.as_ref()?.metadata().ok().map(|found| identity(&found))
    }
}

impl Claimant {
    /// What the file of a lock says.
    fn text(&self, with_address: bool) -> String {
        let address = self.address.filter(|_| with_address);
        let address = address.map(|address| format!(", at {address}")).unwrap_or_default();
        let (process, root) = (std::process::id(), escape::path(&self.root));
        format!("{OWN_START}{process}, since {:.0}{address}\nroot {root}\n", self.since)
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn identity_of(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|found| identity(&found))
}

/// Tries locks in an empty folder: whether one keeps a second one out.
///
/// # Errors
///
/// If the file system has no locks, or no file can be made.
pub fn probe_locks(folder: &Path) -> io::Result<bool> {
    let path = folder.join("locked");
    let open = || File::options().create(true).truncate(false).write(true).open(&path);
    let (first, second) = (open()?, open()?);
    first.try_lock()?;
    match second.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether this error says that a file system has no locks.
fn has_no_locks(error: &io::Error) -> bool {
    let without = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS];
    Errno::from_io_error(error).is_some_and(|error| without.contains(&error))
}

/// Makes sure that no folder lies in one of another service, before anything is created there, and that the inbox
/// holds no folder of another service, whose files it would take.
///
/// # Errors
///
/// One does.
pub fn check_apart(paths: &Paths) -> Result<(), Error> {
    let folders =
        [paths.inbox(), paths.archive(), paths.quarantine(), paths.reports(), paths.state()];
    for folder in &folders {
        let existing = folder.ancestors().find(|above| above.exists());
        if let Some((lock, holder)) = existing.and_then(|below| held_above(below, folder == below))
        {
            return Err(Error::Within { path: folder.clone(), lock, holder });
        }
    }
    let ours: Vec<_> = folders.iter().filter_map(|folder| identity_of(folder)).collect();
    match held_below(&paths.inbox(), &ours, DEPTH_LOOKED) {
        Some((lock, holder)) => Err(Error::Around { path: paths.inbox(), lock, holder }),
        None => Ok(()),
    }
}

/// How deep the inbox is looked through for folders of another service, and how many entries of a folder at most.
const DEPTH_LOOKED: usize = 2;
const ENTRIES_LOOKED: usize = 1_000;

/// The lock that another process holds in a folder above this one, or in it if it is to be created there, with what
/// its file says. What lies in a hidden folder of gridmark's does not count: that is where `doctor` tries things.
fn held_above(folder: &Path, exists: bool) -> Option<(PathBuf, String)> {
    let real = folder.canonicalize().ok()?;
    let is_hidden = |folder: &&Path| {
        let name = folder.file_name().map(OsStr::as_bytes);
        name.is_some_and(|name| name.starts_with(HIDDEN_PREFIX.as_bytes()))
    };
    let above = real.ancestors().take_while(|folder| !is_hidden(folder));
    above.skip(usize::from(exists)).find_map(|above| held_in(&above.join(LOCK_NAME)))
}

/// The lock that another process holds in a folder below this one, which is none of `ours`.
fn held_below(folder: &Path, ours: &[(u64, u64)], depth: usize) -> Option<(PathBuf, String)> {
    let entries = folder.read_dir().ok()?.take(ENTRIES_LOOKED).filter_map(Result::ok);
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    for below in entries.filter(is_folder).map(|entry| entry.path()) {
        if identity_of(&below).is_some_and(|identity| ours.contains(&identity)) {
            continue;
        }
        // The lock of a state folder has a name of its own.
        let held = held_in(&below.join(LOCK_NAME)).or_else(|| held_in(&below.join("lock")));
        let deeper = || (depth > 1).then(|| held_below(&below, ours, depth - 1)).flatten();
        if let Some(found) = held.or_else(deeper) {
            return Some(found);
        }
    }
    None
}

/// Whether another process holds the lock at `path`, with what its file says.
fn held_in(path: &Path) -> Option<(PathBuf, String)> {
    let file = open_to_read(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some((path.to_owned(), holder_in(path, &file))),
        _ => None,
    }
}

/// Who holds the lock at `path`, on one line; `None` if its file cannot be read.
pub fn holder_at(path: &Path) -> Option<String> {
    open_to_read(path).ok().map(|file| holder_in(path, &file))
}

/// Who holds a lock, on one line: as its file says, unless the system names another process.
fn holder_in(path: &Path, file: &File) -> String {
    let said = text_in(file).unwrap_or_default();
    let is_of = |process: &u32| {
        let start = format!("{OWN_START}{process},");
        said.starts_with(&start)
    };
    let held = holders(path).unwrap_or_default();
    match held.first() {
        Some(process) if !held.iter().any(is_of) => format!("{OWN_START}{process}"),
        _ if said.trim().is_empty() => "a process whose id is not in the file".to_owned(),
        _ => escape::line(&said.trim().replace('\n', ", ")).to_string(),
    }
}

fn text_in(file: &File) -> io::Result<String> {
    let mut said = Vec::new();
    file.take(TEXT_BYTES_MAX).read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// Opens the file of a lock, or creates it so that the service can use it, even if root runs this.
fn open(path: &Path, owner: &Stat) -> io::Result<File> {
    match open_to_read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let before = folder.metadata()?;
    match File::options().write(true).create_new(true).open(path) {
        Ok(file) => {
            owner::give(&file, owner)?;
            // By the inbox's modification time intake judges when folders were moved in; that is none. Who may
            // not set it lives with a doubt.
            let modified = Timespec { tv_sec: before.mtime(), tv_nsec: before.mtime_nsec() };
            let accessed = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
            let times = Timestamps { last_access: accessed, last_modification: modified };
            let _ = utimensat(CWD, folder, &times, AtFlags::empty());
        }
        // Another process created it first.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    open_to_read(path)
}

fn open_to_read(path: &Path) -> io::Result<File> {
    open_as(path, File::options().read(true))
}

fn open_to_write(path: &Path) -> io::Result<File> {
    open_as(path, File::options().read(true).write(true))
}

/// Opens a file: not through a link, and without waiting at a FIFO.
fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();
    options.custom_flags(flags).open(path).and_then(only_file)
}

fn only_file(file: File) -> io::Result<File> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no regular file; move it away"));
    }
    // Under another name it may be a submission, and is not ours to write.
    if found.nlink() > 1 {
        return Err(io::Error::other("the file has another name too; remove this one"));
    }
    Ok(file)
}

impl Holder {
    /// The holder that the file at `path` names; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn of(path: &Path) -> io::Result<Option<Holder>> {
        let file = match open_to_read(path) {
            Err(error) if is_missing(&error) => return Ok(None),
            other => other?,
        };
        let said = text_in(&file)?;
        let mut words = said.lines().next().unwrap_or_default().split(", ");
        let process = words.next().and_then(|word| word.strip_prefix(OWN_START)?.parse().ok());
        let address = words.find_map(|word| word.strip_prefix("at ")?.parse().ok());
        Ok(process.map(|process| Holder { process, address }))
    }

    /// The holder of the lock at `path`, if it is held now; where the system does not say, the last
    /// holder.
    ///
    /// # Errors
    ///
    /// If its file cannot be read.
    pub fn now(path: &Path) -> io::Result<Option<Holder>> {
        let holder = Holder::of(path)?;
        Ok(holder.filter(|holder| is_held(path, holder.process) != Some(false)))
    }
}

/// Whether this process holds the lock at `path` now, found out without touching the lock; `None` if the
/// system does not say.
pub fn is_held(path: &Path, process: u32) -> Option<bool> {
    holders(path).map(|holders| holders.contains(&process))
}

/// The processes that hold the lock at `path`, as far as they can be seen from here.
fn holders(path: &Path) -> Option<Vec<u32>> {
    let inode = format!(":{}", path.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // Only the inode is compared: on some file systems this file shows another device than `stat`.
    let holder = |line: &str| match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [_, "FLOCK", _, _, holder, file, ..] if file.ends_with(&inode) => holder.parse().ok(),
        _ => None,
    };
    Some(locks.lines().filter_map(holder).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// Folders of two services, made below one root.
    fn folders() -> (TempDir, Paths, Paths) {
        let root = tempfile::tempdir().expect("a temporary folder");
        let [one, other] = ["one", "other"].map(|name| {
            let paths = Paths { root: root.path().join(name), ..Paths::default() };
            for folder in ["inbox", "archive", "quarantine", "reports", "state"] {
                std::fs::create_dir_all(paths.root.join(folder)).expect("a folder");
            }
            paths
        });
        (root, one, other)
    }

    #[test]
    fn a_second_instance_learns_who_holds_it() {
        let (_root, paths, _) = folders();
        let mut locks = Locks::take(&paths).expect("the locks");
        let error = Locks::take(&paths).expect_err("a second service").to_string();
        let process = format!("process {}", std::process::id());
        let root = format!("root {} (it holds {}", paths.root.display(), paths.lock().display());
        assert!(error.contains(&process) && error.contains(&root), "{error}");
        let address = SocketAddr::from(([127, 0, 0, 1], 9464));
        locks.set_address(address).expect("an address in the file");
        let holder = Holder { process: std::process::id(), address: Some(address) };
        let lock = paths.lock();
        assert_eq!(Holder::of(&lock).expect("the file"), Some(holder));
        assert_ne!(is_held(&lock, std::process::id()), Some(false));
        drop(locks);
        assert_ne!(is_held(&lock, std::process::id()), Some(true));
        Locks::take(&paths).expect("the locks again");
        assert_eq!(Holder::of(&paths.root.join("none")).expect("no file"), None);
    }

    #[test]
    fn each_folder_that_two_services_share_keeps_the_second_one_out() {
        for shared in ["inbox", "archive", "quarantine", "reports", "state"] {
            let (_root, one, mut other) = folders();
            let folder = one.root.join(shared);
            match shared {
                "inbox" => other.inbox = folder.clone(),
                "archive" => other.archive = folder.clone(),
                "quarantine" => other.quarantine = folder.clone(),
                "reports" => other.reports = folder.clone(),
                _ => other.state = folder.clone(),
            }
            let locks = Locks::take(&one).expect("the locks");
            let error = Locks::take(&other).expect_err(shared).to_string();
            let words = [one.root.display().to_string(), folder.display().to_string()];
            assert!(words.iter().all(|words| error.contains(words)), "{error}");
            // The one that was refused holds nothing.
            Locks::take(&Paths { root: other.root.clone(), ..Paths::default() })
                .expect("the locks of its own folders");
            drop(locks);
            Locks::take(&other).expect(shared);
        }
    }

    #[test]
    fn a_folder_that_two_services_share_by_a_link_keeps_the_second_one_out() {
        let (root, one, mut other) = folders();
        symlink(one.reports(), root.path().join("link")).expect("a link");
        other.reports = root.path().join("link");
        let _locks = Locks::take(&one).expect("the locks");
        let error = Locks::take(&other).expect_err("a second service");
        assert!(matches!(error, Error::Held { .. }), "{error}");
    }

    #[test]
    fn a_holder_that_the_file_does_not_name_is_found_in_the_system() {
        let (_root, paths, _) = folders();
        let path = paths.inbox().join(LOCK_NAME);
        std::fs::write(&path, "process 1, since long ago\nroot /nowhere\n").expect("a file");
        let file = File::open(&path).expect("the file");
        file.lock().expect("a lock");
        let error = Locks::take(&paths).expect_err("a lock that is held").to_string();
        let process = format!("process {} (it holds", std::process::id());
        assert!(error.contains(&process), "{error}");
    }

    #[test]
    fn nobody_waits_at_a_pipe_in_the_place_of_a_lock() {
        let (_root, paths, _) = folders();
        let path = paths.inbox().join(LOCK_NAME);
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).expect("a pipe");
        Holder::of(&path).expect_err("a pipe");
        assert_eq!(Locks::take(&paths).expect("the locks").unlocked().len(), 1);
    }

    #[test]
    fn a_folder_in_one_of_another_service_is_refused_unless_a_hidden_one_lies_between() {
        let (_root, one, mut other) = folders();
        let _locks = Locks::take(&one).expect("the locks");
        other.reports = one.inbox().join("team/reports");
        std::fs::create_dir_all(other.reports()).expect("a folder");
        let error = Locks::take(&other).expect_err("a folder within");
        assert!(matches!(error, Error::Within { .. }), "{error}");
        other.reports = one.inbox().join(".gridmark-doctor-1/reports");
        std::fs::create_dir_all(other.reports()).expect("a folder");
        Locks::take(&other).expect("the locks");
    }

    #[test]
    fn two_folders_that_are_not_apart_are_refused() {
        let (_root, mut paths, _) = folders();
        symlink(paths.archive(), paths.root.join("link")).expect("a link");
        paths.quarantine = "link".into();
        let error = Locks::take(&paths).expect_err("one folder").to_string();
        assert!(error.contains("is the folder"), "{error}");
        std::fs::remove_file(paths.root.join("link")).expect("a link to remove");
        std::fs::create_dir(paths.archive().join("deep")).expect("a folder");
        symlink(paths.archive().join("deep"), paths.root.join("link")).expect("a link");
        let error = Locks::take(&paths).expect_err("a folder in another").to_string();
        assert!(error.contains("lies in it"), "{error}");
    }

    #[test]
    fn locks_are_taken_again_where_their_files_were_removed() {
        let (_root, paths, _) = folders();
        let mut locks = Locks::take(&paths).expect("the locks");
        assert!(!locks.check_files().expect("the locks"));
        for path in [paths.lock(), paths.inbox().join(LOCK_NAME)] {
            std::fs::remove_file(&path).expect("a file to remove");
            assert!(locks.check_files().expect("the lock again"));
            assert!(path.is_file() && !locks.check_files().expect("the locks"));
            Locks::take(&paths).expect_err("a second service");
            std::fs::remove_file(&path).expect("a file to remove");
            let second = File::create(&path).expect("a file");
            second.lock().expect("a lock of another process");
            locks.check_files().expect_err("a lock that another process holds");
            drop(second);
            assert!(locks.check_files().expect("the lock again"));
        }
    }

    #[test]
    fn what_others_put_in_the_place_of_a_lock_keeps_no_service_out() {
        let (_root, paths, _) = folders();
        std::fs::create_dir(paths.inbox().join(LOCK_NAME)).expect("a folder");
        symlink("/etc/passwd", paths.archive().join(LOCK_NAME)).expect("a link");
        std::fs::write(paths.quarantine().join(LOCK_NAME), "a board\n").expect("a file");
        std::fs::write(paths.reports().join("p"), "process of a submission\n").expect("a file");
        std::fs::hard_link(paths.reports().join("p"), paths.reports().join(LOCK_NAME))
            .expect("a second name");
        let locks = Locks::take(&paths).expect("the locks");
        assert_eq!(locks.unlocked().len(), 3, "{:?}", locks.unlocked());
        // What somebody has written is not written over.
        for (file, text) in [
            (paths.quarantine().join(LOCK_NAME), "a board\n"),
            (paths.reports().join("p"), "process of a submission\n"),
        ] {
            assert_eq!(std::fs::read_to_string(file).expect("the file"), text);
        }
        std::fs::remove_file(paths.lock()).expect("a file to remove");
        drop(locks);
        symlink("/etc/passwd", paths.lock()).expect("a link");
        Locks::take(&paths).expect_err("a link in the state folder");
    }
}
