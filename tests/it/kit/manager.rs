//! A service manager like systemd: it receives what the service notifies.

use super::{PAUSE, Sandbox};
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The manager; it listens for as long as it lives.
pub struct Manager {
    received: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Manager {
    /// A manager of what is started in this sandbox later, with a watchdog that waits for so long.
    pub fn of(sandbox: &mut Sandbox, watchdog: Option<Duration>) -> Manager {
        let path = sandbox.path("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(PAUSE)).unwrap();
        sandbox.set_variable("NOTIFY_SOCKET", path);
        if let Some(watchdog) = watchdog {
            sandbox.set_variable("WATCHDOG_USEC", watchdog.as_micros().to_string());
        }
        let (received, is_over) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicBool>::default());
        let (keep, over) = (Arc::clone(&received), Arc::clone(&is_over));
        let listener = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while !over.load(Ordering::Acquire) {
                if let Ok(length) = socket.recv(&mut bytes) {
                    let text = std::str::from_utf8(&bytes[..length]).unwrap();
                    keep.lock().unwrap().extend(text.lines().map(str::to_owned));
                }
            }
        });
        Manager { received, is_over, listener: Some(listener) }
    }

    /// All lines that it has received.
    pub fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }

    /// How often it received this line.
    pub fn count(&self, line: &str) -> usize {
        self.received().iter().filter(|received| *received == line).count()
    }

    /// Forgets what it has received.
    pub fn forget(&self) {
        self.received.lock().unwrap().clear();
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(listener) = self.listener.take() {
            let ended = listener.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "it received something that is no text"
            );
        }
    }
}
