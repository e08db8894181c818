//! Values of metric labels that have no type elsewhere.

/// How a file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// By a watch event.
    Event,
    /// By a scan of the inbox.
    Scan,
}

impl Via {
    pub(in crate::telemetry) const ALL: [Via; 2] = [Via::Event, Via::Scan];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
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
    /// The scan period is over.
    Timer,
    /// Watch events were lost.
    Overflow,
    /// A folder appeared or moved.
    Folder,
    /// The watcher failed.
    WatchError,
}

impl ScanReason {
    pub(in crate::telemetry) const ALL: [ScanReason; 5] = [
        ScanReason::Start,
        ScanReason::Timer,
        ScanReason::Overflow,
        ScanReason::Folder,
        ScanReason::WatchError,
    ];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
        match self {
            ScanReason::Start => "start",
            ScanReason::Timer => "timer",
            ScanReason::Overflow => "overflow",
            ScanReason::Folder => "folder",
            ScanReason::WatchError => "watch-error",
        }
    }
}

/// What a scan did with a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::telemetry) enum FolderScan {
    Opened,
    Unchanged,
}

impl FolderScan {
    pub(in crate::telemetry) const ALL: [FolderScan; 2] =
        [FolderScan::Opened, FolderScan::Unchanged];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
        match self {
            FolderScan::Opened => "opened",
            FolderScan::Unchanged => "unchanged",
        }
    }
}

/// What somebody has to know to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// A judge's code that is valid once.
    Invitation,
    /// The code of an entrant's card.
    Card,
    /// The director's passphrase.
    Passphrase,
}

impl Secret {
    pub(in crate::telemetry) const ALL: [Secret; 3] =
        [Secret::Invitation, Secret::Card, Secret::Passphrase];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
        match self {
            Secret::Invitation => "invitation",
            Secret::Card => "card",
            Secret::Passphrase => "passphrase",
        }
    }
}

/// Why a code is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeRefusal {
    /// It is not valid.
    Wrong,
    /// Too many were wrong, so it was not looked at.
    Slowed,
}

impl CodeRefusal {
    pub(in crate::telemetry) const ALL: [CodeRefusal; 2] =
        [CodeRefusal::Wrong, CodeRefusal::Slowed];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
        match self {
            CodeRefusal::Wrong => "wrong",
            CodeRefusal::Slowed => "slowed",
        }
    }
}

/// What became of a file that was handed in on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandInResult {
    /// It is in the inbox.
    Received,
    /// A file has its name, and waits to be taken.
    Exists,
    /// It is larger than allowed.
    TooLarge,
    /// There is no room.
    Full,
    /// It cannot be written for another reason.
    Failed,
    /// It has ended before all of it was there.
    BrokenOff,
    /// The entrant has handed in too much.
    Limited,
}

impl HandInResult {
    pub(in crate::telemetry) const ALL: [HandInResult; 7] = [
        HandInResult::Received,
        HandInResult::Exists,
        HandInResult::TooLarge,
        HandInResult::Full,
        HandInResult::Failed,
        HandInResult::BrokenOff,
        HandInResult::Limited,
    ];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
        match self {
            HandInResult::Received => "received",
            HandInResult::Exists => "exists",
            HandInResult::TooLarge => "too-large",
            HandInResult::Full => "full",
            HandInResult::Failed => "failed",
            HandInResult::BrokenOff => "broken-off",
            HandInResult::Limited => "limited",
        }
    }
}

/// How the inbox is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// By watch events and scans.
    Events,
    /// By scans alone.
    Scan,
}

impl WatchMode {
    pub(in crate::telemetry) const ALL: [WatchMode; 2] = [WatchMode::Events, WatchMode::Scan];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
        match self {
            WatchMode::Events => "events",
            WatchMode::Scan => "scan",
        }
    }
}

/// The result of a reload of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::telemetry) enum ReloadResult {
    Applied,
    Refused,
}

impl ReloadResult {
    pub(in crate::telemetry) const ALL: [ReloadResult; 2] =
        [ReloadResult::Applied, ReloadResult::Refused];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
        match self {
            ReloadResult::Applied => "applied",
            ReloadResult::Refused => "refused",
        }
    }
}

/// What became of an event folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::telemetry) enum Takeover {
    /// It is in force.
    InForce,
    /// It waits, since it changes judgements.
    Staged,
    /// It is wrong.
    Refused,
}

impl Takeover {
    pub(in crate::telemetry) const ALL: [Takeover; 3] =
        [Takeover::InForce, Takeover::Staged, Takeover::Refused];

    pub(in crate::telemetry) const fn word(self) -> &'static str {
        match self {
            Takeover::InForce => "in-force",
            Takeover::Staged => "staged",
            Takeover::Refused => "refused",
        }
    }
}
