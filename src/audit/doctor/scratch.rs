//! Scratch folders, in which checks create and move files.
//!
//! They have hidden names, so that a running service ignores them. They are removed after use, also when
//! a signal ends doctor. What a killed doctor left is removed by the next one: a lock in each folder shows
//! whether it is still in use.

use crate::store::archive::HIDDEN_PREFIX;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

/// The exit code after a signal.
const EXIT_SIGNAL: i32 = 130;
/// The file that is locked while its folder is in use.
const IN_USE: &str = "in-use";
/// A folder without a lock may be about to get one, until it is this old.
const ABANDONED_AGE: Duration = Duration::from_secs(60);
/// How often to try to remove a folder into which a process may still write.
const TRIES: usize = 20;

/// The start of the name of every scratch folder.
fn prefix() -> String {
    format!("{HIDDEN_PREFIX}doctor-")
}

/// What has to be removed and ended before doctor ends: scratch folders, and the service of the trial.
#[derive(Clone, Default)]
pub(super) struct ScratchGuard(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    folders: Vec<PathBuf>,
    child: Option<Child>,
}

impl State {
    fn kill_child(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl ScratchGuard {
    /// A guard with nothing to remove. From now on SIGINT and SIGTERM clean up before they end the process.
    pub(super) fn new() -> io::Result<ScratchGuard> {
        let guard = ScratchGuard::default();
        let cleaner = guard.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        drop(inside);
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
        Ok(guard)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clean_up(&self) {
        let mut state = self.state();
        state.kill_child();
        for folder in &state.folders {
            remove(folder);
        }
        // Keeps the lock: another thread that creates a folder now waits until the process ends.
        std::mem::forget(state);
    }

    /// Starts a process that ends with this one.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<()> {
        // The lock is held, so that a process never starts after the clean-up.
        let mut state = self.state();
        state.child = Some(command.spawn()?);
        Ok(())
    }

    /// Asks the process to end.
    pub(super) fn terminate_child(&self) {
        if let Some(child) = &self.state().child {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
    }

    /// Ends the process now.
    pub(super) fn kill_child(&self) {
        self.state().kill_child();
    }

    /// The exit status of the process, if it has ended.
    pub(super) fn child_ended(&self) -> io::Result<Option<ExitStatus>> {
        self.state().child.as_mut().map_or(Ok(None), Child::try_wait)
    }
}

/// A scratch folder; dropping it removes it.
pub(super) struct Scratch {
    folder: TempDir,
    guard: ScratchGuard,
    /// Held for as long as the folder is in use.
    _in_use: Option<File>,
}

impl Scratch {
    /// Creates a scratch folder in `within`.
    pub(super) fn new(within: &Path, guard: &ScratchGuard) -> io::Result<Scratch> {
        let mut state = guard.state();
        let folder = tempfile::Builder::new().prefix(&prefix()).tempdir_in(within)?;
        state.folders.push(folder.path().to_owned());
        drop(state);
        // If it cannot be locked, the next doctor does not remove what this one may leave.
        let lock = File::create(folder.path().join(IN_USE));
        let in_use = lock.ok().filter(|file| file.try_lock().is_ok());
        Ok(Scratch { folder, guard: guard.clone(), _in_use: in_use })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Creates a folder in it.
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        // Not `create_dir_all`: a scratch folder that was removed must not come back.
        fs::create_dir(&path)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut state = self.guard.state();
        remove(self.folder.path());
        state.folders.retain(|path| path != self.folder.path());
    }
}

/// Removes the scratch folders that killed doctors left in `within`; returns their paths.
pub(super) fn sweep(within: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(within).into_iter().flatten().flatten();
    let is_ours = |entry: &fs::DirEntry| {
        entry.file_name().as_encoded_bytes().starts_with(prefix().as_bytes())
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let left = entries.filter(is_ours).map(|entry| entry.path());
    left.filter(|path| is_abandoned(path) && remove(path)).collect()
}

/// Whether no doctor uses this scratch folder any more.
fn is_abandoned(path: &Path) -> bool {
    match File::options().write(true).open(path.join(IN_USE)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = path.metadata().and_then(|found| found.modified());
            made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > ABANDONED_AGE))
        }
        Err(_) => false,
    }
}

/// Removes a folder and its contents; returns whether it is gone.
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
    fn abandoned_folders_are_removed_and_folders_in_use_are_kept() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let used = Scratch::new(root.path(), &ScratchGuard::default()).expect("a scratch folder");
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
