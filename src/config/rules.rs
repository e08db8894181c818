//! The allowed values of each setting: one rule per key, in the order in which settings are listed.
//!
//! A rule sees all settings, since some values depend on others. Its text says in an error message what
//! is expected; it names the other setting if there is one.

use super::settings::Settings;
use std::path::{Component, Path, PathBuf};
use tracing_subscriber::filter::EnvFilter;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const CASE_BYTES_LEAST: usize = 4096;
/// The least that hyper accepts for its buffer of a request's head.
const HEADER_BYTES_LEAST: usize = 8192;

/// Idle threads send a heartbeat once a second.
const STUCK_MS_LEAST: u64 = 3_000;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The allowed values of one setting.
pub(super) struct Rule {
    /// The setting: its section and its name.
    pub(super) key: &'static str,
    /// The allowed values, for error messages.
    pub(super) expected: &'static str,
    /// Whether the value is allowed.
    pub(super) holds: fn(&Settings) -> bool,
    /// Whether a reload can change it.
    pub(super) is_live: bool,
}

/// A setting that a reload can change.
const fn live(key: &'static str, expected: &'static str, holds: fn(&Settings) -> bool) -> Rule {
    Rule { key, expected, holds, is_live: true }
}

/// A setting that needs a restart.
const fn fixed(key: &'static str, expected: &'static str, holds: fn(&Settings) -> bool) -> Rule {
    Rule { key, expected, holds, is_live: false }
}

const PATH: &str = "the path of a folder, which is not empty and holds no NUL";
const APART: &str = "the path of a folder, without NUL, apart from inbox, archive, quarantine, reports, state, \
                     event and public: none of the seven may be or hold another";
/// What is expected of an address, for error messages.
pub const ADDRESS: &str = "an address and a port, such as \"127.0.0.1:9464\"";
const PAGE_ADDRESS: &str = "an address and a port, such as \"127.0.0.1:8080\", or \"off\"";
const DAY_OR_LESS: &str = "milliseconds: a whole number from 0 to 86400000 (a day)";
const SOME_TIME: &str = "milliseconds: a whole number from 1 to 86400000 (a day)";
const SOME: &str = "a whole number from 1 up";

/// Every setting.
pub(super) const RULES: &[Rule] = &[
    fixed("paths.root", PATH, |s| is_path(&s.paths.root)),
    fixed("paths.inbox", APART, |s| is_path(&s.paths.inbox) && is_apart(s, 0)),
    fixed("paths.archive", APART, |s| is_path(&s.paths.archive) && is_apart(s, 1)),
    fixed("paths.quarantine", APART, |s| is_path(&s.paths.quarantine) && is_apart(s, 2)),
    fixed("paths.reports", APART, |s| is_path(&s.paths.reports) && is_apart(s, 3)),
    fixed("paths.state", APART, |s| is_path(&s.paths.state) && is_apart(s, 4)),
    fixed("paths.event", APART, |s| is_path(&s.paths.event) && is_apart(s, 5)),
    fixed("paths.public", APART, |s| is_path(&s.paths.public) && is_apart(s, 6)),
    live("intake.watch", "\"auto\" or \"off\"", |_| true),
    live("intake.settle_ms", DAY_OR_LESS, |s| s.intake.settle_ms <= DAY_MS),
    live("intake.open_settle_ms", DAY_OR_LESS, |s| s.intake.open_settle_ms <= DAY_MS),
    live("intake.scan_every_ms", SOME_TIME, |s| is_some_time(s.intake.scan_every_ms)),
    live("intake.waiting_files_max", SOME, |s| s.intake.waiting_files_max > 0),
    live("intake.claim_files_max", SOME, |s| s.intake.claim_files_max > 0),
    live("intake.depth_max", SOME, |s| s.intake.depth_max > 0),
    live("intake.name_bytes_max", SOME, |s| s.intake.name_bytes_max > 0),
    live(
        "intake.ignored",
        "a list of patterns of one name, such as \"*.part\": not empty, without `/`, and not only \
         of `*` and `?`, which fit any name",
        |s| s.intake.ignored.iter().all(|pattern| is_pattern(pattern)),
    ),
    live("queue.files_max", SOME, |s| s.queue.files_max > 0),
    live("queue.bytes_max", SOME, |s| s.queue.bytes_max > 0),
    fixed("grade.threads_max", "a whole number from 0 (one a core) to 1024", |s| {
        s.grade.threads_max <= 1024
    }),
    fixed("grade.tier", "\"auto\" or the name of a tier", |s| !s.grade.tier.trim().is_empty()),
    fixed("grade.batch_files_max", SOME, |s| s.grade.batch_files_max > 0),
    live("grade.batch_bytes_max", SOME, |s| s.grade.batch_bytes_max > 0),
    fixed("grade.chunk_bytes_max", "at least twice grade.case_bytes_max", |s| {
        s.grade.chunk_bytes_max / 2 >= s.grade.case_bytes_max
    }),
    live("grade.chunk_cases_max", SOME, |s| s.grade.chunk_cases_max > 0),
    live("grade.chunks_ahead_max", SOME, |s| s.grade.chunks_ahead_max > 0),
    fixed("grade.streams_max", SOME, |s| s.grade.streams_max > 0),
    live("grade.turn_ms_max", DAY_OR_LESS, |s| s.grade.turn_ms_max <= DAY_MS),
    fixed("grade.case_bytes_max", "a whole number from 4096 up", |s| {
        s.grade.case_bytes_max >= CASE_BYTES_LEAST
    }),
    fixed("grade.missing_cases_max", SOME, |s| s.grade.missing_cases_max > 0),
    live("grade.tries_max", SOME, |s| s.grade.tries_max > 0),
    fixed("grade.alone_ms_max", SOME_TIME, |s| is_some_time(s.grade.alone_ms_max)),
    live("publish.commit_wait_ms_max", DAY_OR_LESS, |s| s.publish.commit_wait_ms_max <= DAY_MS),
    fixed("publish.pending_bytes_max", SOME, |s| s.publish.pending_bytes_max > 0),
    fixed("publish.neutralise_formulas", "true or false", |_| true),
    fixed("publish.csv_bom", "true or false", |_| true),
    live("publish.retry_ms_max", SOME_TIME, |s| is_some_time(s.publish.retry_ms_max)),
    live("publish.disk_free_bytes_min", "a whole number from 0 up", |_| true),
    fixed("event.prove_ms_max", SOME_TIME, |s| is_some_time(s.event.prove_ms_max)),
    fixed("event.write_every_ms", SOME_TIME, |s| is_some_time(s.event.write_every_ms)),
    fixed("access.source_failures_per_minute_max", SOME, |s| {
        s.access.source_failures_per_minute_max > 0
    }),
    fixed("access.failures_per_minute_max", SOME, |s| s.access.failures_per_minute_max > 0),
    fixed("hand_in.bytes_max", SOME, |s| s.hand_in.bytes_max > 0),
    fixed("hand_in.files_per_minute_max", SOME, |s| s.hand_in.files_per_minute_max > 0),
    fixed("hand_in.files_per_puzzle_max", SOME, |s| s.hand_in.files_per_puzzle_max > 0),
    live(
        "health.stuck_ms_max",
        "milliseconds: a whole number from 3000 to 86400000 (a day)",
        |s| (STUCK_MS_LEAST..=DAY_MS).contains(&s.health.stuck_ms_max),
    ),
    fixed("http.listen", ADDRESS, |_| true),
    fixed("http.connections_max", "a whole number from 1 to 65536", |s| {
        (1..=65_536).contains(&s.http.connections_max)
    }),
    fixed("http.silent_ms_max", SOME_TIME, |s| is_some_time(s.http.silent_ms_max)),
    fixed("http.header_bytes_max", "a whole number from 8192 to 1048576", |s| {
        (HEADER_BYTES_LEAST..=1 << 20).contains(&s.http.header_bytes_max)
    }),
    fixed("http.header_read_ms_max", SOME_TIME, |s| is_some_time(s.http.header_read_ms_max)),
    fixed("http.connection_ms_max", SOME_TIME, |s| is_some_time(s.http.connection_ms_max)),
    fixed("page.listen", PAGE_ADDRESS, |_| true),
    fixed("page.hosts", "a list of names without a port, such as [\"scoring.local\"]", |s| {
        s.page.hosts.iter().all(|host| is_host(host))
    }),
    fixed("page.connections_max", "a whole number from 1 to 65536", |s| {
        (1..=65_536).contains(&s.page.connections_max)
    }),
    fixed("page.silent_ms_max", SOME_TIME, |s| is_some_time(s.page.silent_ms_max)),
    fixed("page.header_bytes_max", "a whole number from 8192 to 1048576", |s| {
        (HEADER_BYTES_LEAST..=1 << 20).contains(&s.page.header_bytes_max)
    }),
    fixed("page.header_read_ms_max", SOME_TIME, |s| is_some_time(s.page.header_read_ms_max)),
    fixed("page.makers_max", "a whole number from 1 to 64", |s| {
        (1..=64).contains(&s.page.makers_max)
    }),
    fixed("log.format", "\"auto\", \"human\" or \"json\"", |_| true),
    live(
        "log.level",
        "off, error, warn, info, debug or trace, and such levels for parts of the program, as in \
         \"info,gridmark::intake=debug\"",
        |s| is_log_level(&s.log.level),
    ),
    fixed("log.pending_bytes_max", SOME, |s| s.log.pending_bytes_max > 0),
];

/// Whether this is a name as it stands in the head of a request, without a port.
fn is_host(host: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !host.is_empty() && host.bytes().all(is_part)
}

fn is_some_time(ms: u64) -> bool {
    (1..=DAY_MS).contains(&ms)
}

fn is_pattern(pattern: &str) -> bool {
    let says_something = pattern.bytes().any(|byte| !matches!(byte, b'*' | b'?'));
    says_something && !pattern.contains(['/', '\0'])
}

/// Whether the system can take this for a path.
fn is_path(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    !bytes.is_empty() && !bytes.contains(&0)
}

/// Whether the folder with this number is not the same as, inside, or around one of the other six.
fn is_apart(settings: &Settings, number: usize) -> bool {
    let paths = &settings.paths;
    let all = [
        paths.inbox(),
        paths.archive(),
        paths.quarantine(),
        paths.reports(),
        paths.state(),
        paths.event(),
        paths.public(),
    ];
    let all = all.map(|path| normal(&path));
    let ours = &all[number];
    all.iter()
        .enumerate()
        .all(|(i, other)| i == number || !(ours.starts_with(other) || other.starts_with(ours)))
}

/// The path without `.` and `..`, by its text alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// The filter takes any single word for the name of a part of the program, so a misspelt level would
/// silently turn off everything else.
fn is_log_level(level: &str) -> bool {
    let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word.trim()));
    let mut words = level.split(',').filter(|word| !word.contains('='));
    let levels_are_known = words.all(is_level);
    levels_are_known && EnvFilter::builder().parse(level).is_ok()
}
