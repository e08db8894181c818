//! The driver and the browser as processes: how they start, and that they end.

use super::client::Client;
use crate::kit::Wait;
use crate::kit::needs::{find_program, programs};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use tempfile::TempDir;

/// How many browsers run at a time; each has about ten processes.
const BROWSERS_MAX: usize = 2;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// One of the places for browsers, for as long as this value exists.
pub(super) struct Place;

impl Place {
    pub(super) fn wait() -> Place {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = ENDED
            .wait_while(running, |running| *running >= BROWSERS_MAX)
            .unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        Place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

/// A driver that runs. The browser is in its process group, and on a pipe that ends with it.
pub(super) struct Process {
    child: Child,
    folder: Option<TempDir>,
}

impl Process {
    /// Starts a driver; none where it or Chromium is missing.
    pub(super) fn start() -> Option<Process> {
        if !programs(&["chromium", "chromedriver", "setpriv"]) {
            return None;
        }
        let folder = tempfile::Builder::new().prefix("gridmark-test-").tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        // It ends with the thread that starts it, and so also if the test run is interrupted or killed.
        let child = Command::new(find_program("setpriv").unwrap())
            .args(["--pdeathsig", "KILL", "chromedriver", "--port=0"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs([("LANG", "C.UTF-8"), ("TZ", "UTC")])
            .envs([("HOME", folder.path()), ("TMPDIR", folder.path())])
            .current_dir(folder.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Some(Process { child, folder: Some(folder) })
    }

    /// Where everything of the browser lies.
    pub(super) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    /// Waits until the driver listens; where it does.
    fn address(&mut self) -> SocketAddr {
        let mut wait = Wait::begin();
        loop {
            let ended = self.child.try_wait().unwrap();
            let log = self.log();
            let port = log.split("started successfully on port ").nth(1);
            if let Some((port, _)) = port.and_then(|rest| rest.split_once('.')) {
                return SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap()));
            }
            assert!(ended.is_none() && !wait.is_over(), "it does not listen: {log}");
        }
    }

    /// Opens the one session of this driver.
    pub(super) fn session(&mut self) -> Client {
        let address = self.address();
        let profile = format!("--user-data-dir={}", self.folder().join("profile").display());
        let options = json!({
            "binary": chromium(),
            "args": [
                profile,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-quic",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                "--no-default-browser-check",
                "--font-render-hinting=none",
                "--hide-scrollbars",
                // Whatever a page names, nothing but loopback is reached.
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                // The browser ends if the driver does.
                "--remote-debugging-pipe",
            ],
            // Without it the first page would be that of a search engine.
            "prefs": { "session": { "restore_on_startup": 4, "startup_urls": ["about:blank"] } },
        });
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        Client::new(address, &capabilities)
            .unwrap_or_else(|error| panic!("no browser: {error}\n{}", self.log()))
    }
}

/// The browser itself: what is in `PATH` on Debian is a script that adds flags.
fn chromium() -> PathBuf {
    let behind = PathBuf::from("/usr/lib/chromium/chromium");
    if behind.is_file() { behind } else { find_program("chromium").unwrap() }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        if let Some(folder) = self.folder.take() {
            clear(&folder.keep());
        }
    }
}

/// Removes the folder of a browser once that has ended: a process that is being killed may still create a
/// file. Whether it has ended.
pub(super) fn clear(folder: &Path) -> bool {
    let mut wait = Wait::begin();
    loop {
        let is_running = is_used(folder);
        let _ = fs::remove_dir_all(folder);
        if !is_running && !folder.exists() {
            return true;
        }
        if wait.is_over() {
            return false;
        }
    }
}

/// Whether a process was started with this folder among its arguments, and has not ended.
pub(super) fn is_used(folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let folder = folder.as_os_str().as_encoded_bytes();
    lines.any(|line| line.windows(folder.len()).any(|part| part == folder))
}
