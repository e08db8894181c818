//! What a process says, read while it runs.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What a process has written so far.
pub(super) struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    pub(super) fn of(mut source: impl Read + Send + 'static) -> Stream {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = source.read(&mut buffer) {
                kept.lock().unwrap().extend_from_slice(&buffer[..read]);
            }
        });
        Stream { bytes, reader: Some(reader) }
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    pub(super) fn all(mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.text()
    }
}
