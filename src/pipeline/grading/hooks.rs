//! Failures that tests cause while a submission is graded; not in release builds.

use crate::model::submission::Name;
use rustix::io::Errno;
use std::env::var_os;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// Panics, aborts or hangs if `name` is the value of `TEST_GRIDMARK_PANIC_ON`,
/// `TEST_GRIDMARK_ABORT_ON` or `TEST_GRIDMARK_HANG_ON`; fails with `EMFILE`, as if all descriptors were
/// in use, if it is that of `TEST_GRIDMARK_STARVE_ON`.
pub(super) fn run(name: &Name) -> io::Result<()> {
    let is_on = |hook| var_os(hook).is_some_and(|on| on.as_bytes() == name.as_bytes());
    assert!(!is_on("TEST_GRIDMARK_PANIC_ON"), "a test has asked for this");
    if is_on("TEST_GRIDMARK_ABORT_ON") {
        std::process::abort();
    }
    while is_on("TEST_GRIDMARK_HANG_ON") {
        std::thread::park();
    }
    if is_on("TEST_GRIDMARK_STARVE_ON") { Err(Errno::MFILE.into()) } else { Ok(()) }
}
