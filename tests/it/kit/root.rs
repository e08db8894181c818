//! The root half of a sandbox: the folders that the service works on.

use super::reports::{Row, rows};
use gridmark::model::submission::Name;
use gridmark::store::lock::LOCK_NAME;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// A root folder of its own, which is removed in the end. Tests drop files into it, and read what the
/// service made of them.
pub struct Root {
    folder: TempDir,
    /// The folder as this process sees it: processes on an island see it elsewhere.
    here: PathBuf,
    /// Outside of the root, so that it does not go with its disk.
    boot_id: TempDir,
}

/// Identifies the run of the system.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

impl Root {
    /// An empty root in this folder.
    pub fn within(folder: &Path) -> Root {
        let folder = tempfile::Builder::new().prefix("gridmark-test-").tempdir_in(folder).unwrap();
        let here = folder.path().to_owned();
        let boot_id = tempfile::Builder::new().prefix("gridmark-boot-").tempdir().unwrap();
        Root { folder, here, boot_id }
    }

    /// The same root, seen from outside of this island.
    pub fn on_island(self, island: &super::island::Island) -> Root {
        let here = island.path(self.folder.path());
        Root { here, ..self }
    }

    /// The path of the root as the program sees it.
    pub fn as_given(&self) -> &Path {
        self.folder.path()
    }

    /// A path under the root.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.here.join(below)
    }

    /// Whether the root is on a file system that loses everything with the power.
    pub fn is_in_memory(&self) -> bool {
        const TMPFS: u64 = 0x0102_1994;
        rustix::fs::statfs(self.folder.path()).is_ok_and(|found| found.f_type as u64 == TMPFS)
    }

    /// Whether anything is at this path under the root.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// The text of a file under the root.
    #[track_caller]
    pub fn text(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8(fs::read(self.path(path)).unwrap()).unwrap()
    }

    /// Writes a file under the root, and creates the folders that it needs.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Drops a file into the inbox by renaming, as programs do that write it elsewhere first.
    pub fn rename_in(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let outside = Path::new("outside").join(number.to_string());
        self.write(&outside, text);
        let path = self.path("inbox").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::rename(self.path(outside), path).unwrap();
    }

    /// The rows of a report, by its path under `reports/`; none if it does not exist.
    pub fn rows(&self, report: impl AsRef<Path>) -> Vec<Row> {
        rows(&self.path("reports").join(report))
    }

    /// The rows of `submissions.csv`.
    pub fn submissions(&self) -> Vec<Row> {
        self.rows("submissions.csv")
    }

    /// The ledger, to read it or, while nothing runs, to make it what a crash leaves.
    pub fn ledger(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path("state/ledger.db")).unwrap()
    }

    /// Makes the ledger, while nothing runs, what a crash leaves that has taken a file as the first
    /// attempt of its name, or was about to; the file had this inode in the inbox. If it is still there, it is
    /// as it was claimed.
    pub fn claim(&self, name: &str, archived_as: &str, inode: u64, bytes: usize) {
        let claim = "INSERT INTO submissions
            (name, attempt, archived_as, report, handed_in_at, received_at, bytes, state, inode,
             modified_s, modified_ns, boot_id)
            VALUES (?1, 1, ?2, ?3, 1234, 1234, ?4, 'claimed', ?5, ?6, ?7, ?8)";
        let report = gridmark::model::rows::report_of(&Name::from_bytes(name)).to_string();
        let boot_id = fs::read_to_string(self.boot_id_file());
        let boot_id = boot_id.or_else(|_| fs::read_to_string(BOOT_ID)).unwrap();
        let there = self.path("inbox").join(name).symlink_metadata().ok();
        let there = there.filter(|there| there.ino() == inode);
        let (s, ns) = there.map_or((0, 0), |there| (there.mtime(), there.mtime_nsec()));
        let (bytes, inode, boot_id) = (bytes as i64, inode as i64, boot_id.trim());
        let values = rusqlite::params![name, archived_as, report, bytes, inode, s, ns, boot_id];
        self.ledger().execute(claim, values).unwrap();
    }

    /// The file with the boot id of this root, if it has one of its own.
    pub fn boot_id_file(&self) -> PathBuf {
        self.boot_id.path().join("boot_id")
    }

    /// Gives the root another boot id, as a start of the machine does.
    pub fn reboot(&self) {
        static BOOTS: AtomicU64 = AtomicU64::new(1);
        let number = BOOTS.fetch_add(1, Ordering::Relaxed);
        let text = format!("00000000-0000-4000-8000-{number:012x}\n");
        fs::write(self.boot_id_file(), text).unwrap();
    }

    /// Gives everything under the root to this user.
    pub fn give_to(&self, user: u32) {
        fn give(path: &Path, user: u32) {
            std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                give(&entry.path(), user);
            }
        }
        give(self.folder.path(), user);
    }

    /// The names in a folder under the root, without that of the service's lock.
    #[track_caller]
    pub fn names(&self, folder: impl AsRef<Path>) -> Vec<OsString> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != LOCK_NAME).collect()
    }

    /// The paths under the root, at most a thousand, for the message of a test that fails.
    pub fn listing(&self) -> String {
        const LINES_MAX: usize = 1_000;
        fn list(folder: &Path, lines: &mut Vec<String>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if lines.len() < LINES_MAX {
                    lines.push(format!("{}\n", entry.path().display()));
                }
                if lines.len() < LINES_MAX && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    list(&entry.path(), lines);
                }
            }
        }
        let mut lines = Vec::new();
        list(&self.here, &mut lines);
        lines.concat()
    }
}
