//! The named pool of threads on which cases are graded.

use crate::telemetry::emit;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// A pool of `threads_max` threads, or one a core if that is 0.
///
/// # Errors
///
/// If the system gives no threads.
pub fn new(threads_max: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new()
        .num_threads(threads_max)
        .thread_name(|number| format!("grade-{number}"))
        // Work catches its own panics; one that comes here is a bug, and must not end the process.
        .panic_handler(|_| emit::thread_panicked("grade"))
        .build()
}
