//! A limit on what is in memory between two stages.

use std::sync::{Condvar, Mutex, PoisonError};

/// A number of bytes that may be in use at a time.
pub struct Budget {
    bytes_max: usize,
    used: Mutex<usize>,
    returned: Condvar,
}

impl Budget {
    /// A budget of this many bytes.
    pub fn new(bytes_max: usize) -> Budget {
        Budget { bytes_max, used: Mutex::new(0), returned: Condvar::new() }
    }

    /// Waits until this many bytes are free, or until all are if it is more than the whole budget, and
    /// takes them.
    pub fn take(&self, bytes: usize) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > self.bytes_max {
            used = self.returned.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
    }

    /// Takes this many bytes if that needs no waiting; returns whether it did.
    pub fn try_take(&self, bytes: usize) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = *used == 0 || *used + bytes <= self.bytes_max;
        if fits {
            *used += bytes;
        }
        fits
    }

    /// Gives this many bytes back.
    pub fn give(&self, bytes: usize) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.returned.notify_all();
    }
}
