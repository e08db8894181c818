//! The named pool of threads on which cases are graded.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// A pool of `threads_max` threads, or one per core if that is 0.
///
/// # Errors
///
/// If the threads cannot be started.
pub fn new(threads_max: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new()
        .num_threads(threads_max)
        .thread_name(|number| format!("grade-{number}"))
        // Grading catches its own panics. One that gets here does not end the process; it is logged and counted as
        // each panic is.
        .panic_handler(|_| {})
        .build()
}
