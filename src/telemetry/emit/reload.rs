//! Settings that are read anew while the service runs.

use metrics::{counter, gauge};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::{error, info, warn};

/// What came of a reload, as its metric says.
pub(super) const RESULTS: [&str; 2] = ["applied", "refused"];

/// The settings that the service runs by were read, at its start or later.
pub fn settings_read() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    gauge!("gridmark_config_last_reload_successful").set(1.0);
    gauge!("gridmark_config_last_reload_success_timestamp_seconds").set(now.as_secs_f64());
}

/// The service works by another setting from now on.
pub fn setting_changed(setting: &str, before: &str, after: &str) {
    info!(setting, before, after, "a setting has changed");
}

/// A setting was changed that the running service does not change.
pub fn setting_held(setting: &str, before: &str, after: &str) {
    warn!(setting, before, after, "a setting has changed that needs a restart; it is as before");
}

/// The settings were read anew, and so many changed.
pub fn reloaded(changed: usize, held: usize) {
    counter!("gridmark_reloads_total", "result" => RESULTS[0]).increment(1);
    settings_read();
    info!(changed, need_restart = held, "the settings were read anew");
}

/// The settings were read anew and are wrong.
pub fn reload_refused(error: &str) {
    counter!("gridmark_reloads_total", "result" => RESULTS[1]).increment(1);
    gauge!("gridmark_config_last_reload_successful").set(0.0);
    error!(error, "the settings are refused; those before stay in force");
}
