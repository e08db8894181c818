//! The words that labels and log lines use.

/// How a file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// By a watch event.
    Event,
    /// By a scan of the inbox.
    Scan,
}

impl Via {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Via::Event => "event",
            Via::Scan => "scan",
        }
    }
}

/// Why the inbox is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanReason {
    /// The service starts.
    Start,
    /// The period is over.
    Timer,
    /// Events were lost.
    Overflow,
    /// A folder appeared or moved.
    Folder,
    /// The watcher failed.
    WatchError,
}

impl ScanReason {
    pub(super) const ALL: [ScanReason; 5] = [
        ScanReason::Start,
        ScanReason::Timer,
        ScanReason::Overflow,
        ScanReason::Folder,
        ScanReason::WatchError,
    ];

    pub(super) const fn word(self) -> &'static str {
        match self {
            ScanReason::Start => "start",
            ScanReason::Timer => "timer",
            ScanReason::Overflow => "overflow",
            ScanReason::Folder => "folder",
            ScanReason::WatchError => "watch-error",
        }
    }
}

/// How the inbox is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// By events and scans.
    Events,
    /// By scans alone.
    Scan,
}

impl WatchMode {
    pub(super) const ALL: [WatchMode; 2] = [WatchMode::Events, WatchMode::Scan];

    pub(super) const fn word(self) -> &'static str {
        match self {
            WatchMode::Events => "events",
            WatchMode::Scan => "scan",
        }
    }
}
