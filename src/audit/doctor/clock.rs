//! The clock: reports tell times, and people compare them.

use super::finding::Finding;
use jiff::{SignedDuration, Timestamp};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Before this gridmark was not there.
const YEAR_LEAST: i16 = 2026;
/// After this a clock is rather set wrong.
const YEAR_MOST: i16 = 2100;
/// How far the clock may be corrected while it is watched.
const JUMP_MAX: SignedDuration = SignedDuration::from_millis(500);

const REMEDY: &str = "timedatectl set-ntp true, or set the clock: date -u -s 'YYYY-MM-DD HH:MM:SS'";

/// The clock, watched from the first check to the last.
pub(super) struct Clock {
    wall: Timestamp,
    steady: Instant,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock { wall: Timestamp::now(), steady: Instant::now() }
    }

    /// What can be told of it; `latest_ms` is the latest time in the ledger.
    pub(super) fn findings(&self, latest_ms: Option<i64>) -> Vec<Finding> {
        let now = Timestamp::now();
        let year = now.to_zoned_datetime(jiff::tz::TimeZone::UTC).year();
        let shown = format!("{now:.0}");
        let latest = latest_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let passed = SignedDuration::try_from(self.steady.elapsed()).unwrap_or_default();
        let jump = now.duration_since(self.wall) - passed;
        let mut findings = Vec::new();
        if !(YEAR_LEAST..=YEAR_MOST).contains(&year) {
            findings.push(Finding::fail("clock", format!("it is set to {shown}"), REMEDY));
        } else if let Some(latest) = latest.filter(|latest| *latest > now) {
            let what = format!("{shown} is before {latest:.0}, the latest time in the ledger");
            findings.push(Finding::warn("clock", what, REMEDY));
        } else if jump.abs() > JUMP_MAX {
            let jump = jump.as_secs_f64();
            let what = format!("{shown}; it jumped by {jump:.1} s during these checks");
            findings.push(Finding::warn("clock", what, REMEDY));
        } else {
            findings.push(Finding::ok("clock", format!("{shown}, and it goes evenly")));
        }
        findings.push(synchronised());
        findings
    }
}

/// Whether something keeps the clock right.
fn synchronised() -> Finding {
    if Path::new("/run/systemd/timesync/synchronized").exists() {
        return Finding::ok("clock", "it is kept by systemd-timesyncd");
    }
    // Without systemd there is nobody who could answer.
    let has_systemd = Path::new("/run/systemd/system").is_dir();
    let asked = has_systemd.then(|| {
        Command::new("timedatectl")
            .args(["show", "--property=NTPSynchronized", "--value"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
    });
    match asked {
        Some(Ok(answer)) if answer.stdout.trim_ascii() == b"yes" => {
            Finding::ok("clock", "it is kept by a time server")
        }
        Some(Ok(answer)) if answer.stdout.trim_ascii() == b"no" => {
            let what = "no time server keeps it right; reports tell its times";
            Finding::warn("clock", what, "timedatectl set-ntp true, or install chrony")
        }
        _ => Finding::note("clock", "whether a time server keeps it cannot be told; look yourself"),
    }
}
