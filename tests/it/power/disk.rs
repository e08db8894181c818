//! A file system in an image, from which the power can be taken: what was not made durable is gone.
//!
//! ext4 and xfs are shut down without writing their log, by the ioctl `FS_IOC_SHUTDOWN` with flag 2,
//! which is what the command `shutdown` of `xfs_io` does. btrfs has no such ioctl: there the image is
//! copied while the service stands still and nothing else writes, and the copy is what the disk holds.

use crate::kit::Sandbox;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// xfs makes no file system that is smaller, in bytes.
const IMAGE_BYTES: u64 = 320 << 20;

/// The kinds of file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    Ext4,
    Xfs,
    Btrfs,
}

impl FileSystem {
    pub const ALL: [FileSystem; 3] = [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs];

    fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Btrfs => "btrfs",
        }
    }

    fn make(self, image: &Path) {
        let mkfs = format!("mkfs.{}", self.name());
        let mut command = Command::new(&mkfs);
        match self {
            FileSystem::Ext4 => command.args(["-q", "-F"]),
            FileSystem::Xfs => command.arg("-q"),
            FileSystem::Btrfs => command.arg("-q"),
        };
        run(command.arg(image));
    }

    /// A commit of its own would make durable what nobody has asked to be.
    fn mount_options(self) -> &'static str {
        match self {
            FileSystem::Ext4 | FileSystem::Btrfs => "loop,commit=300",
            FileSystem::Xfs => "loop",
        }
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A disk of its own, mounted.
pub struct Disk {
    kind: FileSystem,
    folder: TempDir,
}

impl Disk {
    /// A new file system, mounted at [`Disk::path`].
    pub fn new(kind: FileSystem) -> Disk {
        let folder = tempfile::Builder::new().prefix("gridmark-disk-").tempdir().unwrap();
        let disk = Disk { kind, folder };
        let image = fs::File::create(disk.image()).unwrap();
        image.set_len(IMAGE_BYTES).unwrap();
        drop(image);
        kind.make(&disk.image());
        fs::create_dir(disk.path()).unwrap();
        disk.mount();
        disk
    }

    /// Where it is mounted.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn mount(&self) {
        let options = self.kind.mount_options();
        run(Command::new("mount").args(["-o", options]).arg(self.image()).arg(self.path()));
    }

    fn unmount(&self) {
        run(Command::new("umount").arg(self.path()));
        // A second loop device over an image that is still in use would be another file system.
        let start = Instant::now();
        loop {
            let mut losetup = Command::new("losetup");
            let used = losetup.arg("-j").arg(self.image()).output().unwrap();
            if used.stdout.is_empty() {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{used:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Takes the power away while `sandbox`, which lies on this disk, does what it does, and brings it
    /// back. The service, if it runs, is gone then.
    pub fn lose_power(&self, sandbox: &mut Sandbox) {
        let copy = self.folder.path().join("copy");
        match self.kind {
            FileSystem::Ext4 | FileSystem::Xfs => {
                run(Command::new("xfs_io").args(["-x", "-c", "shutdown"]).arg(self.path()));
            }
            FileSystem::Btrfs => {
                if sandbox.is_running() {
                    sandbox.service().pause();
                }
                run(Command::new("cp").arg("--sparse=always").arg(self.image()).arg(&copy));
            }
        }
        sandbox.lose_service();
        self.unmount();
        if self.kind == FileSystem::Btrfs {
            fs::rename(&copy, self.image()).unwrap();
        }
        self.mount();
        sandbox.reboot();
    }

    /// Lets nothing be written to it until this is dropped.
    pub fn freeze(&self) -> Frozen {
        let frozen = Frozen(self.path());
        run(Command::new("fsfreeze").arg("--freeze").arg(&frozen.0));
        frozen
    }

    /// Makes everything on it durable.
    pub fn sync(&self) {
        run(Command::new("sync").arg("-f").arg(self.path()));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).output();
    }
}

/// A disk to which nothing is written.
pub struct Frozen(PathBuf);

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("--unfreeze").arg(&self.0).output();
    }
}
