//! What may be in memory between two stages.

use std::sync::{Condvar, Mutex, PoisonError};

/// A budget of bytes that are in memory between two stages.
pub struct Budget {
    bytes_max: usize,
    used: Mutex<usize>,
    returned: Condvar,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes_max: usize) -> Budget {
        Budget { bytes_max, used: Mutex::new(0), returned: Condvar::new() }
    }

    /// Waits until so many bytes are free, or all of them if there are not that many in all, and
    /// takes them.
    pub fn take(&self, bytes: usize) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > self.bytes_max {
            used = self.returned.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
    }

    /// Takes so many bytes if that is possible without waiting; whether it was.
    pub fn try_take(&self, bytes: usize) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = *used == 0 || *used + bytes <= self.bytes_max;
        if fits {
            *used += bytes;
        }
        fits
    }

    /// Gives so many bytes back.
    pub fn give(&self, bytes: usize) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.returned.notify_all();
    }
}
