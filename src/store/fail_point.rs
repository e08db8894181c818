//! Moments at which a test has the process die, as if the plug was pulled, or a thread of it hang.
//!
//! In a debug build the environment variable `FAIL_POINT=rows-appended@3` kills the process when it
//! comes by the point `rows-appended` for the third time, and `HANG_POINT=rows-appended@3` has the
//! thread that does so hang there for ever. A release build has nothing of this.

/// A moment between two steps, of which a crash may see the first done and the second not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// An older ledger is copied, and nothing is done to it.
    LedgerCopied,
    /// It is brought forward, and that is not committed.
    LedgerHalfMigrated,
    /// The ledger is open, and nothing has been done with it.
    LedgerOpened,
    /// A batch of claims is recorded, and no file of it is moved.
    Claimed,
    /// One file lies in the archive.
    FileMoved,
    /// Some files of a batch are moved, and not queued.
    FilesMoved,
    /// They are queued.
    Queued,
    /// Claims whose files were gone are to be released.
    ReleasesDue,
    /// On its way to another file system a file was hidden in the inbox.
    FileHidden,
    /// Half of it is copied.
    FileHalfCopied,
    /// It is copied under a name that is not its own yet.
    FileCopied,
    /// The copy has its name, and the original is there as well.
    CopyNamed,
    /// A file is back in the inbox, and its claim stands.
    PutBack,
    /// It is written down that small files, or a large one, are being graded.
    GradingBegun,
    /// Small files are graded, and not handed on.
    Graded,
    /// They are handed on.
    HandedOn,
    /// A chunk of a large file is marked, and not handed on.
    ChunkMarked,
    /// It is handed on.
    ChunkHandedOn,
    /// The ledger knows new reports of no length.
    ReportsIntroduced,
    /// Half of a block of rows is in its report.
    RowsHalfAppended,
    /// All rows of one report are in it.
    RowsAppended,
    /// All reports are durable.
    ReportsSynced,
    /// So is where the files lie.
    ArchiveSynced,
    /// The ledger has the marks, and nobody is told.
    Committed,
    /// A failed submission is committed, and its file lies in the archive.
    QuarantineDue,
    /// It lies in quarantine.
    Quarantined,
    /// The ledger knows that rows are missing from a report.
    ReportDamaged,
    /// What stood in a report's place is kept aside.
    ReportSetAside,
    /// Some rows of a report are written anew.
    ReportHalfWritten,
    /// All of them are, under a name that is not the report's.
    ReportWritten,
    /// It has its name, and the ledger does not know.
    ReportNamed,
    /// A start has cut a report back to its committed length.
    ReportCut,
    /// A start has found out what became of a claim.
    ClaimFound,
    /// A start has put everything right, and nothing is graded yet.
    Recovered,
}

impl Point {
    /// All of them, in the order of the flow.
    pub const ALL: [Point; 34] = [
        Point::LedgerCopied,
        Point::LedgerHalfMigrated,
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

    /// Its name, `rows-appended`.
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

    /// The process comes by this point.
    pub fn pass(self) {
        self.pass_or(|| {});
    }

    /// The process comes by this point; if it dies here, it does `last` before.
    pub fn pass_or(self, last: impl FnOnce()) {
        #[cfg(debug_assertions)]
        deadly::pass(self, last);
        #[cfg(not(debug_assertions))]
        let _ = last;
    }
}

#[cfg(debug_assertions)]
mod deadly {
    use super::Point;
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    /// Where something is to happen, and how often the process comes by before.
    struct Trap {
        point: Option<Point>,
        passes_left: AtomicI64,
    }

    static DEATH: LazyLock<Trap> = LazyLock::new(|| Trap::of("FAIL_POINT"));
    static HANG: LazyLock<Trap> = LazyLock::new(|| Trap::of("HANG_POINT"));

    impl Trap {
        fn of(variable: &str) -> Trap {
            let wanted = std::env::var(variable).unwrap_or_default();
            let (name, times) = wanted.split_once('@').unwrap_or((&wanted, "1"));
            let point = Point::ALL.into_iter().find(|point| point.name() == name);
            Trap { point, passes_left: AtomicI64::new(times.parse().unwrap_or(1)) }
        }

        /// Whether this is the pass at which it is to happen.
        fn snaps(&self, point: Point) -> bool {
            self.point == Some(point) && self.passes_left.fetch_sub(1, Ordering::AcqRel) == 1
        }
    }

    pub(super) fn pass(point: Point, last: impl FnOnce()) {
        let dies = DEATH.snaps(point);
        if dies {
            last();
            let _ = kill_process(getpid(), Signal::KILL);
        }
        if dies || HANG.snaps(point) {
            loop {
                std::thread::park();
            }
        }
    }
}
