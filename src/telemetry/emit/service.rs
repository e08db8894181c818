//! Start and end, health, settings, disk and HTTP.

use super::labels::ReloadResult;
use super::repeats::is_news;
use super::yes_or_no;
use crate::model::escape;
use crate::telemetry::metric;
use std::backtrace::Backtrace;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::{error, info, warn};

const TARGET: &str = "gridmark::service";

/// The service has started.
pub fn started(version: &'static str, kernel: &'static str, root: &Path) {
    metric::BUILD_INFO.set_for([version, kernel], 1.0);
    metric::LIVE.set(1.0);
    info!(target: TARGET, version, kernel, root = %escape::path(root),
        "gridmark grades what is dropped into the inbox");
}

/// These folders were missing: it is a new root, or a mistyped path.
pub fn folders_made(folders: &[PathBuf]) {
    let folders: Vec<String> =
        folders.iter().map(|folder| escape::path(folder).to_string()).collect();
    info!(target: TARGET, folders = folders.join(", "), "created folders that did not exist");
}

/// The HTTP address is open.
pub fn listening(address: SocketAddr) {
    info!(target: TARGET, %address, "metrics and health are served");
}

/// The address of the page is open.
pub fn page_listening(address: SocketAddr) {
    info!(target: TARGET, %address, "the page is served");
}

/// A part of the page could not be made.
pub fn page_failed(why: &dyn Display) {
    metric::PAGE_ERRORS.add(1);
    if is_news("page_failed", &"", why) {
        warn!(target: TARGET, %why, "the page cannot follow what happens");
    }
}

/// A signal starts the drain.
pub fn stopping(signal: &str) {
    metric::READY.set(0.0);
    info!(target: TARGET, signal,
        "stopping: files that were taken are finished first; a second signal ends it now");
}

/// The drain has ended; `committed` if everything taken is graded and durable, except `unfinished`
/// large files.
pub fn stopped(committed: bool, unfinished: usize) {
    if committed && unfinished > 0 {
        info!(target: TARGET, unfinished,
            "stopped: everything graded is committed; the next start continues with large files");
    } else if committed {
        info!(target: TARGET, "stopped: all that was taken is graded and committed");
    } else {
        error!(target: TARGET,
            "stopped: not all that was taken could be graded and committed; the next start grades \
             the rest");
    }
}

/// A part of the service with work to do makes no progress, or all parts make progress again.
pub fn liveness(live: &Result<(), String>) {
    metric::LIVE.set(yes_or_no(live.is_ok()));
    match live {
        Ok(()) => info!(target: TARGET, "all parts of the service make progress again"),
        Err(reason) => error!(target: TARGET, reason,
            "a part of the service is stuck; if it stays so, restart gridmark"),
    }
}

/// The service became ready, or stopped being ready for these reasons.
pub fn readiness(reasons: &[String]) {
    metric::READY.set(yes_or_no(reasons.is_empty()));
    if reasons.is_empty() {
        info!(target: TARGET, "ready");
    } else {
        warn!(target: TARGET, reasons = reasons.join("; "), "not ready");
    }
}

/// The settings were read, at the start or by a reload.
pub fn settings_read() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    metric::LAST_RELOAD_SUCCESSFUL.set(1.0);
    metric::LAST_RELOAD_TIME.set(now.as_secs_f64());
}

/// A reload applied a change.
pub fn setting_changed(setting: &str, before: &str, after: &str) {
    info!(target: TARGET, setting, before, after, "a setting has changed");
}

/// A reload found a change that needs a restart.
pub fn setting_held(setting: &str, before: &str, after: &str) {
    warn!(target: TARGET, setting, before, after,
        "a setting has changed that needs a restart; until then the old value stays in force");
}

/// A reload succeeded.
pub fn reloaded(changed: usize, held: usize) {
    metric::RELOADS.add_for([ReloadResult::Applied.word()], 1);
    settings_read();
    info!(target: TARGET, changed, need_restart = held, "the settings were reloaded");
}

/// A reload was refused.
pub fn reload_refused(error: &str) {
    metric::RELOADS.add_for([ReloadResult::Refused.word()], 1);
    metric::LAST_RELOAD_SUCCESSFUL.set(0.0);
    error!(target: TARGET, error, "the new settings are refused; the old ones stay in force");
}

/// The least free space where reports, archive and ledger lie, and the limit below which no files are
/// taken.
pub fn disk_free(bytes: u64, bytes_min: u64) {
    metric::DISK_FREE.set(bytes as f64);
    metric::DISK_FREE_MIN.set(bytes_min as f64);
}

/// The system could not accept a connection.
pub fn accept_failed(error: &std::io::Error) {
    metric::HTTP_ERRORS.add(1);
    if is_news("accept", &"", error) {
        warn!(target: TARGET, error = %escape::line(error),
            "cannot accept a connection; metrics and health may be late");
    }
}

/// Too few descriptors allow fewer connections than the setting.
pub fn connections_bounded(setting: &str, wanted: usize, most: usize) {
    warn!(target: TARGET, setting, wanted, most,
        "fewer connections are accepted than the setting says, because descriptors are few; \
         raise LimitNOFILE or ulimit -n");
}

/// A thread panicked at this place in the source, which is a bug in gridmark.
pub fn panicked(thread: &str, place: &str, words: &str, backtrace: Option<&Backtrace>) {
    metric::PANICS.add(1);
    let words = escape::line(&words);
    let backtrace = backtrace.map(tracing::field::display);
    error!(target: TARGET, thread, place, %words, backtrace,
        "a thread of gridmark panicked; this is a bug");
}

/// A log line was dropped: standard error is not read, or cannot be written.
pub fn log_line_dropped() {
    metric::LOG_LINES_DROPPED.add(1);
}

/// Log lines can be written again, after so many were dropped.
pub fn log_lines_were_dropped(lines: u64) {
    warn!(target: TARGET, lines,
        "log lines are missing here: standard error was not read, or could not be written");
}
