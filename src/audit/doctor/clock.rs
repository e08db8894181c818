//! Checks the clock: reports state times, and people compare them.

use super::finding::Finding;
use jiff::{SignedDuration, Timestamp};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A clock in an earlier year is wrong: there was no gridmark.
const YEAR_LEAST: i16 = 2026;
/// A clock in a later year is most likely wrong.
const YEAR_MOST: i16 = 2100;
/// How far the clock may be corrected during the checks.
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

    /// The findings, after the other checks; `latest_ms` is the latest time in the ledger.
    pub(super) fn findings(&self, latest_ms: Option<i64>) -> Vec<Finding> {
        let now = Timestamp::now();
        let year = now.to_zoned_datetime(jiff::tz::TimeZone::UTC).year();
        let says = format!("the clock says {now:.0}");
        let latest = latest_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let passed = SignedDuration::try_from(self.steady.elapsed()).unwrap_or_default();
        let jump = now.duration_since(self.wall) - passed;
        let mut findings = Vec::new();
        if !(YEAR_LEAST..=YEAR_MOST).contains(&year) {
            findings.push(Finding::fail("clock", format!("{says}, which cannot be right"), REMEDY));
        } else if let Some(latest) = latest.filter(|latest| *latest > now) {
            let what = format!("{says}, but the latest time in the ledger is {latest:.0}");
            findings.push(Finding::warn("clock", what, REMEDY));
        } else if jump.abs() > JUMP_MAX {
            let jump = jump.as_secs_f64();
            let what = format!("{says}; it jumped by {jump:.1} s during these checks");
            findings.push(Finding::warn("clock", what, REMEDY));
        } else {
            findings.push(Finding::ok(
                "clock",
                format!("{says}, and did not jump during these checks"),
            ));
        }
        findings.push(synchronised());
        findings
    }
}

/// Whether something synchronises the clock.
fn synchronised() -> Finding {
    if Path::new("/run/systemd/timesync/synchronized").exists() {
        return Finding::ok("clock", "systemd-timesyncd synchronises it");
    }
    // Without systemd nothing would answer timedatectl.
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
            Finding::ok("clock", "a time server synchronises it")
        }
        Some(Ok(answer)) if answer.stdout.trim_ascii() == b"no" => {
            let what = "no time server synchronises it, and reports state its times";
            Finding::warn("clock", what, "timedatectl set-ntp true, or install chrony")
        }
        _ => {
            let what =
                "cannot determine whether a time server synchronises it; check that yourself";
            Finding::note("clock", what)
        }
    }
}
