//! The settings: every limit and choice, with its default.

use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Every setting of gridmark, grouped as in the settings file.
///
/// ```
/// let settings = gridmark::config::Settings::default();
/// assert_eq!(settings.intake.settle_ms, 200);
/// assert!(settings.intake.ignored_pattern(b".~lock.p3.txt#").is_some());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Folders.
    pub paths: Paths,
    /// Which files are ready, and how they are taken.
    pub intake: Intake,
    /// What may wait for grading.
    pub queue: Queue,
    /// How submissions are graded.
    pub grade: Grade,
    /// How reports are written.
    pub publish: Publish,
    /// How an event is followed, if there is one.
    pub event: Event,
    /// How those are slowed down who try codes.
    pub access: Access,
    /// What may be handed in over the network.
    pub hand_in: HandIn,
    /// When a part of the service counts as stuck.
    pub health: Health,
    /// The address for metrics and health, and its limits.
    pub http: Http,
    /// The page for staff and the hall.
    pub page: Page,
    /// Log lines on standard error.
    pub log: Log,
}

/// Folders. The fields hold the values as they were set; the methods of the same names return whole
/// paths, in which a relative one is under the root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Paths {
    /// The folder that holds the others; a relative one is under the working directory.
    pub root: PathBuf,
    /// The watched folder.
    pub inbox: PathBuf,
    /// Submissions that were taken.
    pub archive: PathBuf,
    /// Submissions that gridmark failed to grade.
    pub quarantine: PathBuf,
    /// The CSV reports.
    pub reports: PathBuf,
    /// The ledger.
    pub state: PathBuf,
    /// What defines the event. Without it the service only marks files.
    pub event: PathBuf,
    /// What the public may see of the event.
    pub public: PathBuf,
}

impl Paths {
    /// The whole path of the watched folder.
    pub fn inbox(&self) -> PathBuf {
        self.under_root(&self.inbox)
    }

    /// The whole path of the folder for submissions that were taken.
    pub fn archive(&self) -> PathBuf {
        self.under_root(&self.archive)
    }

    /// The whole path of the folder for submissions that gridmark failed to grade.
    pub fn quarantine(&self) -> PathBuf {
        self.under_root(&self.quarantine)
    }

    /// The whole path of the folder for reports.
    pub fn reports(&self) -> PathBuf {
        self.under_root(&self.reports)
    }

    /// The whole path of the folder for the ledger.
    pub fn state(&self) -> PathBuf {
        self.under_root(&self.state)
    }

    /// The whole path of the folder that defines the event.
    pub fn event(&self) -> PathBuf {
        self.under_root(&self.event)
    }

    /// The whole path of the folder for what the public may see.
    pub fn public(&self) -> PathBuf {
        self.under_root(&self.public)
    }

    /// The whole path of the ledger.
    pub fn ledger(&self) -> PathBuf {
        self.state().join("ledger.db")
    }

    /// The whole path of the lock that keeps a second service out.
    pub fn lock(&self) -> PathBuf {
        self.state().join("lock")
    }

    fn under_root(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }
}

impl Default for Paths {
    fn default() -> Self {
        Paths {
            root: ".".into(),
            inbox: "inbox".into(),
            archive: "archive".into(),
            quarantine: "quarantine".into(),
            reports: "reports".into(),
            state: "state".into(),
            event: "event".into(),
            public: "public".into(),
        }
    }
}

/// How an event is followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Event {
    /// How long the proof of a puzzle may take that is promised to have one solution, in milliseconds.
    pub prove_ms_max: u64,
    /// The shortest time between two writes of the files with standings, in milliseconds.
    pub write_every_ms: u64,
}

impl Default for Event {
    fn default() -> Self {
        Event { prove_ms_max: 10_000, write_every_ms: 2_000 }
    }
}

/// Which files are ready, and how they are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Intake {
    /// Whether watch events are used beside scanning.
    pub watch: Watch,
    /// How long a closed file must be unchanged before it is taken, in milliseconds; 0 is at once.
    pub settle_ms: u64,
    /// How long a file that was seen being written and not yet closed, or one that is empty, closed or
    /// not, must be unchanged before it is taken, in milliseconds.
    pub open_settle_ms: u64,
    /// The time between two scans of the inbox, in milliseconds.
    pub scan_every_ms: u64,
    /// How many files are remembered that settle, and how many that are ready; the others are found later.
    pub waiting_files_max: usize,
    /// How many files one claim takes, and how many ready files of one folder are remembered.
    pub claim_files_max: usize,
    /// How many folders deep the inbox is searched.
    pub depth_max: usize,
    /// How many bytes a submission's name, its path under the inbox, may have.
    pub name_bytes_max: usize,
    /// Names of files and folders that are left alone, as patterns: `*` is any run of characters, `?` one
    /// byte.
    pub ignored: Vec<String>,
}

impl Intake {
    /// The index in [`ignored`](Self::ignored) of the first pattern that fits `name`, which is one part of
    /// a path. ASCII letters match in either case.
    pub fn ignored_pattern(&self, name: &[u8]) -> Option<usize> {
        self.ignored.iter().position(|pattern| super::pattern::matches(pattern.as_bytes(), name))
    }
}

impl Default for Intake {
    fn default() -> Self {
        let ignored = [
            // Hidden.
            ".*",
            // Unfinished files, locks and old versions.
            "*~",
            "~$*",
            "#*#",
            "*.part",
            "*.partial",
            "*.filepart",
            "*.crdownload",
            "*.download",
            "*.opdownload",
            "*.tmp",
            "*.temp",
            "*.swp",
            "*.swx",
            "*.!sync",
            "*.sb-????????-??????",
            "(A Document Being Saved*",
            "*___jb_tmp___",
            "*___jb_old___",
            "*.bak",
            "*.wbk",
            "*.xlk",
            // What desktops put beside files, and shortcuts.
            "Thumbs.db",
            "Thumbs.db:*",
            "ehthumbs*.db",
            "desktop.ini",
            "*:Zone.Identifier",
            "Icon\r",
            "Icon\u{F00D}",
            "*.lnk",
            "*.url",
            "*.webloc",
            "*.desktop",
            // Folders of systems, storage devices and archives, among them those with deleted files.
            "$RECYCLE.BIN",
            "RECYCLER",
            "System Volume Information",
            "lost+found",
            "__MACOSX",
            "Network Trash Folder",
            "Temporary Items",
            "@eaDir",
            "#recycle",
            "#snapshot",
            "@Recycle",
            "@Recently-Snapshot",
            "~snapshot",
        ];
        Intake {
            watch: Watch::Auto,
            settle_ms: 200,
            open_settle_ms: 10_000,
            scan_every_ms: 2_000,
            waiting_files_max: 16_384,
            claim_files_max: 512,
            depth_max: 64,
            name_bytes_max: 1_024,
            ignored: ignored.map(String::from).to_vec(),
        }
    }
}

/// Whether watch events are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Watch {
    /// Wherever the system offers them, in addition to scans.
    Auto,
    /// Never: scans alone.
    Off,
}

/// What may wait for grading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    /// How many taken files may wait.
    pub files_max: usize,
    /// How many bytes of work the taken files that wait may have in all; a large file counts for one chunk.
    pub bytes_max: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { files_max: 4_096, bytes_max: 256 * MIB as u64 }
    }
}

/// How submissions are graded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grade {
    /// How many threads grade; 0 is one a core.
    pub threads_max: usize,
    /// Which tier of kernels grades: `auto` for the best that the CPU can run, or one by name.
    pub tier: String,
    /// How many small files share a batch.
    pub batch_files_max: usize,
    /// How many bytes the small files of a batch have in all.
    pub batch_bytes_max: usize,
    /// How many bytes are graded at once; a larger file is graded chunk by chunk.
    pub chunk_bytes_max: usize,
    /// How many cases are graded at once; a file with more is graded in parts.
    pub chunk_cases_max: usize,
    /// How many chunks of a large file may be read ahead of the one that is published next.
    pub chunks_ahead_max: usize,
    /// How many large files are graded at the same time.
    pub streams_max: usize,
    /// How long a large file is graded while others wait for their turn, in milliseconds.
    pub turn_ms_max: u64,
    /// How many bytes one case, or one line, may have.
    pub case_bytes_max: usize,
    /// How many cases are reported, each by its own row, when a file ends before them.
    pub missing_cases_max: u64,
    /// How often grading a submission is tried before it goes to quarantine.
    pub tries_max: u32,
    /// For how many milliseconds a start grades suspects one by one, before it takes new files. A suspect
    /// is a small submission that was being graded when the process died.
    pub alone_ms_max: u64,
}

impl Grade {
    /// How many threads grade.
    pub fn threads(&self) -> usize {
        match self.threads_max {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

impl Default for Grade {
    fn default() -> Self {
        Grade {
            threads_max: 0,
            tier: "auto".into(),
            batch_files_max: 64,
            batch_bytes_max: MIB,
            chunk_bytes_max: MIB,
            chunk_cases_max: 4_096,
            chunks_ahead_max: 8,
            streams_max: 2,
            turn_ms_max: 1_000,
            case_bytes_max: 64 * KIB,
            missing_cases_max: 16,
            tries_max: 3,
            alone_ms_max: 2_000,
        }
    }
}

/// How reports are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Publish {
    /// How long marks may wait for a common commit with others, in milliseconds.
    pub commit_wait_ms_max: u64,
    /// How many bytes of rows may wait for their commit.
    pub pending_bytes_max: usize,
    /// Whether text that a spreadsheet could take for a formula is made harmless.
    pub neutralise_formulas: bool,
    /// Whether new reports begin with a byte-order mark.
    pub csv_bom: bool,
    /// The longest time between two tries to write a report, in milliseconds.
    pub retry_ms_max: u64,
    /// How much space must be free on the disk for files to be taken and marks to be committed, in bytes.
    pub disk_free_bytes_min: u64,
}

impl Default for Publish {
    fn default() -> Self {
        Publish {
            commit_wait_ms_max: 50,
            pending_bytes_max: 16 * MIB,
            neutralise_formulas: true,
            csv_bom: false,
            retry_ms_max: 5_000,
            disk_free_bytes_min: 256 * MIB as u64,
        }
    }
}

/// How those are slowed down who try codes of judges and entrants, or the director's passphrase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Access {
    /// How many wrong codes from one address are looked at in a minute.
    pub source_failures_per_minute_max: u32,
    /// How many wrong codes from all addresses are looked at in a minute.
    pub failures_per_minute_max: u32,
}

impl Default for Access {
    fn default() -> Self {
        Access { source_failures_per_minute_max: 20, failures_per_minute_max: 600 }
    }
}

/// What may be handed in over the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HandIn {
    /// How many bytes a file of staff may have. What entrants hand in is an entry, which is small.
    pub bytes_max: u64,
    /// How many files an entrant may hand in in a minute.
    pub files_per_minute_max: u32,
    /// How many files an entrant may hand in for a puzzle.
    pub files_per_puzzle_max: u32,
}

impl Default for HandIn {
    fn default() -> Self {
        HandIn { bytes_max: 64 * MIB as u64, files_per_minute_max: 30, files_per_puzzle_max: 100 }
    }
}

/// When a part of the service counts as stuck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// How long a part of the service that has work may make no progress, in milliseconds. A file that
    /// cannot be taken for half as long makes the service not ready.
    pub stuck_ms_max: u64,
}

impl Default for Health {
    fn default() -> Self {
        Health { stuck_ms_max: 60_000 }
    }
}

/// The address for metrics and health, and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Where to listen.
    pub listen: SocketAddr,
    /// How many connections are open at a time; others wait.
    pub connections_max: usize,
    /// How long a client may be silent, in milliseconds, when all connections are taken and
    /// another client waits.
    pub silent_ms_max: u64,
    /// How many bytes the head of a request may have.
    pub header_bytes_max: usize,
    /// How long a client may take to send the head of its request, in milliseconds.
    pub header_read_ms_max: u64,
    /// How long a connection may last, answer included, in milliseconds.
    pub connection_ms_max: u64,
}

impl Default for Http {
    fn default() -> Self {
        Http {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 9464)),
            connections_max: 64,
            silent_ms_max: 250,
            header_bytes_max: 16 * KIB,
            header_read_ms_max: 5_000,
            connection_ms_max: 15_000,
        }
    }
}

/// The page for staff and the hall, and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// Where to listen, or nowhere.
    pub listen: PageListen,
    /// The names, beside its address and those of this machine, under which browsers may reach it.
    pub hosts: Vec<String>,
    /// How many connections are open at a time; others wait. A screen that follows what happens holds one.
    pub connections_max: usize,
    /// How long a client that has asked nothing may be silent, in milliseconds, when all connections are taken and
    /// another client waits.
    pub silent_ms_max: u64,
    /// How many bytes the head of a request may have.
    pub header_bytes_max: usize,
    /// How long a client may take to send the head of its request, in milliseconds.
    pub header_read_ms_max: u64,
    /// How many pages are made at a time; others wait.
    pub makers_max: usize,
}

impl Default for Page {
    fn default() -> Self {
        Page {
            listen: PageListen::Off,
            hosts: Vec::new(),
            connections_max: 2_048,
            silent_ms_max: 1_000,
            header_bytes_max: 16 * KIB,
            header_read_ms_max: 5_000,
            makers_max: 2,
        }
    }
}

/// Where the page listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PageListen {
    /// There.
    At(SocketAddr),
    /// Nowhere.
    #[serde(with = "off")]
    Off,
}

/// The word for a page that is off.
mod off {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str("off")
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<(), D::Error> {
        match String::deserialize(from)?.as_str() {
            "off" => Ok(()),
            _ => Err(D::Error::custom("expected an address and a port, or \"off\"")),
        }
    }
}

/// Log lines on standard error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The format of log lines.
    pub format: LogFormat,
    /// The level, and levels for parts of the program (`info,gridmark::intake=debug`).
    pub level: String,
    /// How many bytes of lines may wait to be written.
    pub pending_bytes_max: usize,
}

impl Default for Log {
    fn default() -> Self {
        Log { format: LogFormat::Auto, level: "info".into(), pending_bytes_max: MIB }
    }
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people, with colour where a terminal shows it.
    Auto,
    /// For people, without colour.
    Human,
    /// A JSON object a line.
    Json,
}
