//! Fail points: steps at which a test kills the process, as a crash would, or makes a thread hang.
//!
//! In a debug build the environment variable `FAIL_POINT=rows-appended@3` kills the process when it
//! passes the point `rows-appended` for the third time. `HANG_POINT=rows-appended@3` makes the
//! thread that does so hang for ever, and `PANIC_POINT=rows-appended@3` makes it panic. A release build has no
//! fail points.

/// A point between two steps: a crash there leaves the first done and the second not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The ledger is open, and nothing else is done.
    LedgerOpened,
    /// A batch of claims is committed, and no file of it is moved.
    Claimed,
    /// One file lies in the archive.
    FileMoved,
    /// Some files of a batch are moved, and not queued.
    FilesMoved,
    /// They are queued.
    Queued,
    /// Claims whose files were gone are to be released.
    ReleasesDue,
    /// On its way to another file system, a file has its hidden name in the inbox.
    FileHidden,
    /// Half of it is copied.
    FileHalfCopied,
    /// All of it is copied, under a temporary name.
    FileCopied,
    /// The copy has its final name, and the original still exists.
    CopyNamed,
    /// A file is back in the inbox, and its claim is not released.
    PutBack,
    /// The in-flight journal lists small files, or a large one.
    GradingBegun,
    /// Small files are graded, and not passed on to publishing.
    Graded,
    /// They are passed on.
    HandedOn,
    /// A chunk of a large file is marked, and not passed on.
    ChunkMarked,
    /// It is passed on.
    ChunkHandedOn,
    /// The ledger has entries for new reports, of length 0.
    ReportsIntroduced,
    /// Half of a block of rows is in its report.
    RowsHalfAppended,
    /// All rows of one report are in it.
    RowsAppended,
    /// All reports are durable.
    ReportsSynced,
    /// The archive's folders are durable too.
    ArchiveSynced,
    /// The marks are committed, and no other stage knows.
    Committed,
    /// A failed submission is committed, and its file lies in the archive.
    QuarantineDue,
    /// It lies in quarantine.
    Quarantined,
    /// The ledger says that rows are missing from a report.
    ReportDamaged,
    /// A foreign file in a report's place is set aside.
    ReportSetAside,
    /// Some rows of a report are rebuilt.
    ReportHalfWritten,
    /// All of them are, under a temporary name.
    ReportWritten,
    /// The report has its final name, and the ledger does not say so.
    ReportNamed,
    /// A start has cut a report back to its committed length.
    ReportCut,
    /// A start has found where the file of a claim is.
    ClaimFound,
    /// Recovery is complete, and nothing is graded yet.
    Recovered,
}

impl Point {
    /// All points, in the order in which a submission passes them.
    pub const ALL: [Point; 32] = [
        Point::LedgerOpened,
        Point::Claimed,
        Point::FileMoved,
        Point::FilesMoved,
        Point::Queued,
        Point::ReleasesDue,
        Point::FileHidden,
        Point::FileHalfCopied,
        Point::FileCopied,
        Point::CopyNamed,
        Point::PutBack,
        Point::GradingBegun,
        Point::Graded,
        Point::HandedOn,
        Point::ChunkMarked,
        Point::ChunkHandedOn,
        Point::ReportsIntroduced,
        Point::RowsHalfAppended,
        Point::RowsAppended,
        Point::ReportsSynced,
        Point::ArchiveSynced,
        Point::Committed,
        Point::QuarantineDue,
        Point::Quarantined,
        Point::ReportDamaged,
        Point::ReportSetAside,
        Point::ReportHalfWritten,
        Point::ReportWritten,
        Point::ReportNamed,
        Point::ReportCut,
        Point::ClaimFound,
        Point::Recovered,
    ];

    /// Its name, such as `rows-appended`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    /// Passes this point.
    pub fn pass(self) {
        self.pass_or(|| {});
    }

    /// Passes this point; if the process is killed here, `last` runs before.
    pub fn pass_or(self, last: impl FnOnce()) {
        #[cfg(debug_assertions)]
        traps::pass(self, last);
        #[cfg(not(debug_assertions))]
        let _ = last;
    }
}

#[cfg(debug_assertions)]
mod traps {
    use super::Point;
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    /// The point at which something is to happen, and the passes until it does.
    struct Trap {
        point: Option<Point>,
        passes_left: AtomicI64,
    }

    static KILL: LazyLock<Trap> = LazyLock::new(|| Trap::of("FAIL_POINT"));
    static HANG: LazyLock<Trap> = LazyLock::new(|| Trap::of("HANG_POINT"));
    static PANIC: LazyLock<Trap> = LazyLock::new(|| Trap::of("PANIC_POINT"));

    impl Trap {
        fn of(variable: &str) -> Trap {
            let wanted = std::env::var(variable).unwrap_or_default();
            let (name, times) = wanted.split_once('@').unwrap_or((&wanted, "1"));
            let point = Point::ALL.into_iter().find(|point| point.name() == name);
            Trap { point, passes_left: AtomicI64::new(times.parse().unwrap_or(1)) }
        }

        /// Whether this is the pass at which it happens.
        fn snaps(&self, point: Point) -> bool {
            self.point == Some(point) && self.passes_left.fetch_sub(1, Ordering::AcqRel) == 1
        }
    }

    pub(super) fn pass(point: Point, last: impl FnOnce()) {
        let killed = KILL.snaps(point);
        if killed {
            last();
            let _ = kill_process(getpid(), Signal::KILL);
        }
        if killed || HANG.snaps(point) {
            loop {
                std::thread::park();
            }
        }
        assert!(!PANIC.snaps(point), "a test has asked for this");
    }
}
