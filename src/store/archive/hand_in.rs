//! Files that are handed in over the network: written beside the inbox's files under a hidden name, made durable, and
//! only then given their name. So intake finds a file that is whole, as it finds any other, or none at all.
//!
//! The hidden file lies in the inbox itself, where a start looks for those that a crash has left. If the folder of
//! the name is on another mount, the file is copied there, under a hidden name, too.

use super::folder::{Copying, Folder, copy, rename_no_replace};
use super::{Archive, AtFlags, HIDDEN_PREFIX, Mode, OFlags, unlinkat};
use crate::model::submission::Name;
use crate::store::disk::explained;
use crate::store::owner;
use crate::store::path::is_missing;
use crate::telemetry::emit::{self, HandInResult};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// What hidden names of files begin with that are being handed in.
const PREFIX: &str = "hand-in-";

/// Numbers the files of this process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Says that a file is in the inbox, and durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its name.
    pub name: Name,
    /// How many bytes it has.
    pub bytes: u64,
    /// The hash of its bytes, as it stands in reports.
    pub blake3: blake3::Hash,
    /// When it arrived, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Why a file is not handed in. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum HandInError {
    /// A file of this name waits to be taken.
    #[error(
        "a file of this name was handed in just now and waits to be taken: try again in a moment"
    )]
    Exists,
    /// It is larger than allowed.
    #[error("the file has more than {0} bytes, which is the most that is allowed")]
    TooLarge(u64),
    /// There is no room.
    #[error("there is no room for the file: call staff, and hand it in again later")]
    Full(#[source] io::Error),
    /// Its folder is none, or may not be changed.
    #[error("the file cannot be written into the inbox: call staff")]
    NotWritable(#[source] io::Error),
    /// The system refuses something else.
    #[error("the file could not be handed in: try again, or call staff")]
    Io(#[source] io::Error),
}

impl HandInError {
    fn of(error: io::Error, inbox: &std::path::Path) -> HandInError {
        use io::ErrorKind::{
            AlreadyExists, NotADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
            StorageFull,
        };
        let is_loop = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        match error.kind() {
            AlreadyExists => HandInError::Exists,
            StorageFull | QuotaExceeded => HandInError::Full(explained(error, inbox)),
            PermissionDenied | ReadOnlyFilesystem | NotADirectory => {
                HandInError::NotWritable(error)
            }
            _ if is_loop => HandInError::NotWritable(error),
            _ => HandInError::Io(error),
        }
    }

    fn result(&self) -> HandInResult {
        match self {
            HandInError::Exists => HandInResult::Exists,
            HandInError::TooLarge(_) => HandInResult::TooLarge,
            HandInError::Full(_) => HandInResult::Full,
            HandInError::NotWritable(_) | HandInError::Io(_) => HandInResult::Failed,
        }
    }
}

/// A file that is being handed in. Unless it is finished, nothing of it is left when this is dropped.
pub struct HandIn {
    inbox: PathBuf,
    name: Name,
    bytes_max: u64,
    /// The inbox, and the file in it.
    root: Folder,
    hidden: String,
    /// Nothing once it is whole, or was refused.
    file: Option<File>,
    hasher: blake3::Hasher,
    bytes: u64,
    /// Whether it was said what has become of it.
    is_settled: bool,
}

impl Archive {
    /// Begins to hand in a file of this name, which intake takes, with at most so many bytes.
    ///
    /// # Errors
    ///
    /// There is a file of this name, or none can be created.
    pub fn hand_in(&self, name: &Name, bytes_max: u64) -> Result<HandIn, HandInError> {
        HandIn::begin(self.inbox.clone(), name, bytes_max).inspect_err(|error| refused(name, error))
    }

    /// Removes what a crash has left of files that were being handed in. The caller holds the lock of the inbox.
    pub fn remove_broken_hand_ins(&self) {
        let removed = (|| {
            let mut removed = 0;
            for entry in std::fs::read_dir(&self.inbox)? {
                let entry = entry?;
                if is_hidden_hand_in(&entry.file_name()) && entry.file_type()?.is_file() {
                    match std::fs::remove_file(entry.path()) {
                        Err(error) if !is_missing(&error) => return Err(error),
                        _ => removed += 1,
                    }
                }
            }
            io::Result::Ok(removed)
        })();
        match removed {
            Ok(0) => {}
            Ok(removed) => emit::hand_ins_removed(removed),
            Err(error) => emit::hand_ins_left(&error),
        }
    }
}

fn is_hidden_hand_in(file: &OsStr) -> bool {
    let rest = file.as_bytes().strip_prefix(HIDDEN_PREFIX.as_bytes());
    rest.is_some_and(|rest| rest.starts_with(PREFIX.as_bytes()))
}

fn refused(name: &Name, error: &HandInError) {
    let why = crate::model::escape::with_causes(error);
    emit::hand_in_refused(name, error.result(), &why);
}

impl HandIn {
    fn begin(inbox: PathBuf, name: &Name, bytes_max: u64) -> Result<HandIn, HandInError> {
        let of = |error: io::Error| HandInError::of(error, &inbox);
        // Most often this says so before anything is sent.
        let there = inbox.join(name.as_path()).symlink_metadata();
        if there.is_ok() {
            return Err(HandInError::Exists);
        }
        let root = Folder::open(&inbox, OsStr::new("")).map_err(of)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let hidden = format!("{HIDDEN_PREFIX}{PREFIX}{}-{number}", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&root, &hidden, flags, Mode::from_raw_mode(0o666));
        // This name is taken by nobody else.
        let file = match opened {
            Ok(opened) => File::from(opened),
            Err(Errno::EXIST) => return Err(HandInError::Io(Errno::EXIST.into())),
            Err(error) => return Err(of(error.into())),
        };
        let begun = HandIn {
            inbox: inbox.clone(),
            name: name.clone(),
            bytes_max,
            root,
            hidden,
            file: Some(file),
            hasher: blake3::Hasher::new(),
            bytes: 0,
            is_settled: false,
        };
        let given = rustix::fs::fstat(&begun.root)
            .map_err(io::Error::from)
            .and_then(|root| begun.file.as_ref().map_or(Ok(()), |file| owner::give(file, &root)));
        match given {
            Ok(()) => Ok(begun),
            Err(error) => {
                let error = of(error);
                begun.abandon();
                Err(error)
            }
        }
    }

    /// Writes the next bytes.
    ///
    /// # Errors
    ///
    /// There are too many, or they cannot be written. Nothing can be written after that.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), HandInError> {
        let written = self.try_to_write(bytes);
        written.inspect_err(|error| {
            self.file = None;
            self.settle(error);
        })
    }

    fn try_to_write(&mut self, bytes: &[u8]) -> Result<(), HandInError> {
        if bytes.len() as u64 > self.bytes_max - self.bytes {
            return Err(HandInError::TooLarge(self.bytes_max));
        }
        let written = match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Err(was_refused()),
        };
        written.map_err(|error| HandInError::of(error, &self.inbox))?;
        self.bytes += bytes.len() as u64;
        self.hasher.update(bytes);
        Ok(())
    }

    /// Makes the file durable and gives it its name, but never over an existing file. `now_ms` is the time in
    /// milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// There is a file of this name by now, or it cannot be done.
    pub fn finish(mut self, now_ms: i64) -> Result<Receipt, HandInError> {
        if let Err(error) = self.try_to_finish() {
            let error = HandInError::of(error, &self.inbox);
            self.settle(&error);
            return Err(error);
        }
        self.is_settled = true;
        emit::hand_in_received(&self.name, self.bytes);
        Ok(Receipt {
            name: self.name.clone(),
            bytes: self.bytes,
            blake3: self.hasher.finalize(),
            at_ms: now_ms,
        })
    }

    fn try_to_finish(&mut self) -> io::Result<()> {
        // It is closed before it is seen: intake leaves files alone that somebody writes to.
        self.file.take().ok_or_else(was_refused)?.sync_all()?;
        let (folder, file) = self.name.split();
        let mut target = Folder::open_or_make(&self.inbox, folder)?;
        match rename_no_replace(&self.root, self.hidden.as_ref(), &target, file) {
            Ok(()) => target.sync(),
            Err(Errno::XDEV) => self.copy_into(&mut target),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands it in by a copy, since its folder is on another mount.
    fn copy_into(&self, target: &mut Folder) -> io::Result<()> {
        let copying = Copying {
            part: &self.hidden,
            copied_bytes: &AtomicU64::new(0),
            expected: None,
            // Nobody else knows its hidden name.
            though_open: true,
        };
        let (_, file) = self.name.split();
        copy(&self.root, self.hidden.as_ref(), target, file, copying).map(drop)
    }

    /// Says why it is not handed in.
    fn settle(&mut self, error: &HandInError) {
        if !std::mem::replace(&mut self.is_settled, true) {
            refused(&self.name, error);
        }
    }

    /// Ends it; the caller says why.
    fn abandon(mut self) {
        self.is_settled = true;
    }
}

/// Says that nothing more can be done with a hand-in.
fn was_refused() -> io::Error {
    io::Error::other("it was refused before")
}

/// What is not finished is removed. Where it was renamed, nothing is there to be removed.
impl Drop for HandIn {
    fn drop(&mut self) {
        let _ = unlinkat(&self.root, &self.hidden, AtFlags::empty());
        if !self.is_settled {
            let why = "it has ended before all of it was there";
            emit::hand_in_refused(&self.name, HandInResult::BrokenOff, &why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    struct Inbox {
        root: tempfile::TempDir,
        archive: Archive,
    }

    fn inbox() -> Inbox {
        let root = tempfile::tempdir().expect("a folder");
        let below = |name| root.path().join(name);
        let archive = Archive::open(below("inbox"), below("archive"), below("quarantine"));
        Inbox { archive: archive.expect("an archive"), root }
    }

    impl Inbox {
        fn hand_in(&self, name: &str, parts: &[&str]) -> Result<Receipt, HandInError> {
            let mut hand_in = self.archive.hand_in(&Name::from_bytes(name), 100)?;
            parts.iter().try_for_each(|part| hand_in.write(part.as_bytes()))?;
            hand_in.finish(17)
        }

        /// All files in the inbox, with their texts.
        fn files(&self) -> Vec<(String, String)> {
            let (root, mut files) = (self.root.path().join("inbox"), Vec::new());
            let mut folders = vec![root.clone()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).expect("a folder") {
                    let path = entry.expect("an entry").path();
                    if path.is_dir() {
                        folders.push(path);
                        continue;
                    }
                    let name = path.strip_prefix(&root).expect("below").display().to_string();
                    files.push((name, fs::read_to_string(path).expect("a file")));
                }
            }
            files.sort();
            files
        }
    }

    #[test]
    fn a_file_is_there_whole_once_it_is_finished_and_the_receipt_says_what_it_is() {
        let inbox = inbox();
        let name = Name::from_bytes("r1/p1/101.txt");
        let mut hand_in = inbox.archive.hand_in(&name, 100).expect("begun");
        hand_in.write(b"53..").expect("written");
        let [(hidden, _)] = &inbox.files()[..] else { panic!("{:?}", inbox.files()) };
        assert!(hidden.starts_with(".gridmark-hand-in-"), "{hidden}");
        hand_in.write(b"7").expect("written");
        let receipt = hand_in.finish(17).expect("handed in");
        assert_eq!(inbox.files(), [("r1/p1/101.txt".into(), "53..7".into())]);
        let expected = Receipt { name, bytes: 5, blake3: blake3::hash(b"53..7"), at_ms: 17 };
        assert_eq!(receipt, expected);
        let mode = inbox.root.path().join("inbox/r1/p1/101.txt").metadata().expect("it is there");
        let ours = fs::File::create(inbox.root.path().join("other")).expect("a file");
        let ours = ours.metadata().expect("a file").permissions();
        assert_eq!(mode.permissions().mode(), ours.mode(), "as of any other file");
        inbox.hand_in("empty", &[]).expect("an empty file");
    }

    #[test]
    fn nothing_is_written_over_and_nothing_is_left_of_what_is_refused() {
        let inbox = inbox();
        inbox.hand_in("p", &["first"]).expect("handed in");
        assert!(matches!(inbox.hand_in("p", &["second"]), Err(HandInError::Exists)));
        // It may come up while the file is sent.
        let mut late = inbox.archive.hand_in(&Name::from_bytes("q"), 100).expect("begun");
        late.write(b"second").expect("written");
        inbox.hand_in("q", &["first"]).expect("handed in");
        assert!(matches!(late.finish(17), Err(HandInError::Exists)));
        let there = [("p".into(), "first".into()), ("q".into(), "first".into())];
        assert_eq!(inbox.files(), there);
        for (name, parts) in
            [("large", &["x".repeat(100).as_str(), "x"][..]), ("huge", &["x".repeat(101).as_str()])]
        {
            assert!(matches!(inbox.hand_in(name, parts), Err(HandInError::TooLarge(100))));
        }
        let mut large = inbox.archive.hand_in(&Name::from_bytes("large"), 3).expect("begun");
        large.write(b"four").expect_err("it is too large");
        large.write(b"x").expect_err("it was refused");
        large.finish(17).expect_err("it was refused");
        assert!(matches!(inbox.hand_in("p/below", &["x"]), Err(HandInError::NotWritable(_))));
        let outside = inbox.root.path().join("outside");
        fs::create_dir(&outside).expect("a folder");
        std::os::unix::fs::symlink(&outside, inbox.root.path().join("inbox/link")).expect("a link");
        assert!(matches!(inbox.hand_in("link/out", &["x"]), Err(HandInError::NotWritable(_))));
        fs::remove_file(inbox.root.path().join("inbox/link")).expect("removed");
        drop(inbox.archive.hand_in(&Name::from_bytes("lost"), 100).expect("begun"));
        assert_eq!(inbox.files(), there);
        assert_eq!(fs::read_dir(outside).expect("a folder").count(), 0);
    }

    #[test]
    fn what_a_crash_has_left_is_removed_and_nothing_else() {
        let inbox = inbox();
        std::mem::forget(inbox.archive.hand_in(&Name::from_bytes("p"), 100).expect("begun"));
        let beside = |name: &str| inbox.root.path().join("inbox").join(name);
        fs::write(beside(".gridmark-17"), "a claim's").expect("a file");
        fs::write(beside("hand-in-1"), "a submission").expect("a file");
        assert_eq!(inbox.files().len(), 3);
        inbox.archive.remove_broken_hand_ins();
        let names: Vec<String> = inbox.files().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".gridmark-17", "hand-in-1"]);
    }

    #[test]
    fn a_folder_on_another_mount_gets_a_copy_and_nothing_is_written_over_there() {
        let inbox = inbox();
        let begin = |text: &[u8]| {
            let mut hand_in =
                inbox.archive.hand_in(&Name::from_bytes("far/p"), 100).expect("begun");
            hand_in.write(text).expect("written");
            hand_in
        };
        let mut target =
            Folder::open_or_make(inbox.archive.inbox(), "far".as_ref()).expect("there");
        let (mut first, mut second) = (begin(b"first"), begin(b"second"));
        (first.file, second.file) = (None, None);
        first.copy_into(&mut target).expect("copied");
        let error = second.copy_into(&mut target).expect_err("there is one");
        assert!(matches!(HandInError::of(error, inbox.archive.inbox()), HandInError::Exists));
        (first.is_settled, second.is_settled) = (true, true);
        drop((first, second));
        assert_eq!(inbox.files(), [("far/p".into(), "first".into())]);
    }
}
