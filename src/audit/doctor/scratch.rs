//! Folders to try things out in. They have hidden names, which the service leaves alone, and are
//! removed when they are not needed any more, by a signal too; what a killed doctor left is removed
//! by the next one.

use crate::store::archive::HIDDEN_PREFIX;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

/// The exit code after a signal.
const EXIT_SIGNAL: i32 = 130;
/// What is locked in a folder that is in use.
const IN_USE: &str = "in-use";
/// How old a folder without a lock is at least if nobody is just about to use it.
const FORSAKEN_AGE: Duration = Duration::from_secs(60);
/// How often it is tried to remove a folder into which something may still be put.
const TRIES: usize = 20;

fn prefix() -> String {
    format!("{HIDDEN_PREFIX}doctor-")
}

/// What has to be removed and ended before the process ends.
#[derive(Clone, Default)]
pub(super) struct Mess(Arc<Mutex<Made>>);

#[derive(Default)]
struct Made {
    folders: Vec<PathBuf>,
    child: Option<Child>,
}

impl Mess {
    /// Nothing yet. From now on SIGINT and SIGTERM clean up before they end the process.
    pub(super) fn new() -> io::Result<Mess> {
        let mess = Mess::default();
        let cleaner = mess.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let within = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        drop(within);
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
            cleaner.clean_up();
            #[expect(clippy::disallowed_methods, reason = "a signal ends the process here")]
            std::process::exit(EXIT_SIGNAL);
        })?;
        Ok(mess)
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clean_up(&self) {
        let mut made = self.made();
        if let Some(mut child) = made.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for folder in &made.folders {
            remove(folder);
        }
        // Whoever wants another folder now waits for the end of the process.
        std::mem::forget(made);
    }

    /// Starts a process that is to end with this one.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<()> {
        // Not while it is cleaned up: the new process would make what is just removed.
        let mut made = self.made();
        made.child = Some(command.spawn()?);
        Ok(())
    }

    /// Asks the process to end.
    pub(super) fn terminate_child(&self) {
        if let Some(child) = &self.made().child {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
    }

    /// Ends the process now.
    pub(super) fn kill_child(&self) {
        if let Some(mut child) = self.made().child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// How the process has ended, if it has.
    pub(super) fn child_ended(&self) -> io::Result<Option<std::process::ExitStatus>> {
        self.made().child.as_mut().map_or(Ok(None), Child::try_wait)
    }
}

/// A folder to try things out in.
pub(super) struct Scratch {
    folder: TempDir,
    mess: Mess,
    /// Held for as long as the folder is in use.
    _in_use: Option<File>,
}

impl Scratch {
    /// A new one in `within`.
    pub(super) fn new(within: &Path, mess: &Mess) -> io::Result<Scratch> {
        let mut made = mess.made();
        let folder = tempfile::Builder::new().prefix(&prefix()).tempdir_in(within)?;
        made.folders.push(folder.path().to_owned());
        drop(made);
        // Where it cannot be locked, the next doctor leaves alone what this one may leave.
        let lock = File::create(folder.path().join(IN_USE));
        let in_use = lock.ok().filter(|file| file.try_lock().is_ok());
        Ok(Scratch { folder, mess: mess.clone(), _in_use: in_use })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder in it.
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        // The scratch folder itself is not made again once it is removed.
        fs::create_dir(&path)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut made = self.mess.made();
        remove(self.folder.path());
        made.folders.retain(|path| path != self.folder.path());
    }
}

/// Removes what doctors that were killed have left in `within`; what was removed.
pub(super) fn sweep(within: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(within).into_iter().flatten().flatten();
    let is_ours = |entry: &fs::DirEntry| {
        entry.file_name().as_encoded_bytes().starts_with(prefix().as_bytes())
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let left = entries.filter(is_ours).map(|entry| entry.path());
    left.filter(|path| is_forsaken(path) && remove(path)).collect()
}

/// Whether nobody uses this folder any more.
fn is_forsaken(path: &Path) -> bool {
    match File::options().write(true).open(path.join(IN_USE)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = path.metadata().and_then(|found| found.modified());
            made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > FORSAKEN_AGE))
        }
        Err(_) => false,
    }
}

/// Removes a folder with all that is in it; whether it is gone.
fn remove(path: &Path) -> bool {
    let is_gone = || match fs::remove_dir_all(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    (0..TRIES).any(|_| is_gone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_left_alone_and_what_nobody_uses_is_removed() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let used = Scratch::new(root.path(), &Mess::default()).expect("a scratch folder");
        let left = root.path().join(format!("{}left", prefix()));
        fs::create_dir_all(left.join("inbox/deep")).expect("a folder");
        fs::write(left.join(IN_USE), "").expect("a file");
        let fresh = root.path().join(format!("{}fresh", prefix()));
        fs::create_dir(&fresh).expect("a folder");
        let other = root.path().join(format!("{HIDDEN_PREFIX}17"));
        fs::create_dir(&other).expect("a folder");
        assert_eq!(sweep(root.path()), [left]);
        assert!(used.path().is_dir() && fresh.is_dir() && other.is_dir());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
