//! Everything that has to succeed before the first file is taken.
//!
//! The order matters. The locks come before anything else in the folders is touched. What an earlier
//! run left is recovered before new files are taken. The address comes last, so that a client that
//! connects finds a service that has started.

use super::liveness::Liveness;
use super::reload::{self, Reloads, Sections};
use super::{Error, Mode, Shared, descriptors, event};
use crate::config::{PageListen, Paths, Settings};
use crate::jury::Jury;
use crate::model::named::dangling;
use crate::pipeline::queue::Queue;
use crate::store::archive::Archive;
use crate::store::fail_point::Point;
use crate::store::in_flight::InFlightJournal;
use crate::store::ledger::{self, Ledger, check_not_lost};
use crate::store::lock::{Locks, check_apart};
use crate::store::recovery::{Recovered, recover};
use crate::store::reports::files::ReportFiles;
use crate::store::reports::rebuilder::SharedReports;
use crate::store::roots::{missing_above, overlap};
use crate::telemetry::emit;
use gridmark_core::judge::Tier;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A service that is ready to start its stages.
pub(super) struct Prepared {
    pub(super) shared: Shared,
    pub(super) locks: Locks,
    /// What an earlier run took and did not finish.
    pub(super) recovered: Recovered,
    /// Nothing for a run with `--once`, which serves no address.
    pub(super) listener: Option<TcpListener>,
    /// The same for the page, which may be off.
    pub(super) page: Option<TcpListener>,
}

/// Creates the folders, takes their locks, opens the ledger, recovers what an earlier run left, and opens the
/// address.
pub(super) fn prepare(mut settings: Settings, mode: &Mode) -> Result<Prepared, Error> {
    // Watch events name absolute paths, so the paths of the settings must be absolute too.
    let root = &mut settings.paths.root;
    *root = std::path::absolute(&root)
        .map_err(|source| Error::System { what: "in the working directory", source })?;
    let tier = Tier::from_setting(&settings.grade.tier)?;
    let paths = &settings.paths;
    if let Some(overlap) = overlap(paths) {
        return Err(Error::Overlap(overlap));
    }
    // Before anything is created: it might be created in a folder of another service.
    check_apart(paths)?;
    make_folders(paths)?;
    let path = paths.ledger();
    let mut locks = Locks::take(paths)?;
    check_not_lost(&path, &paths.reports())?;
    let ledger = Ledger::open(&path)?;
    if let Some(found) = damage_at_start(&path)? {
        return Err(ledger::Error::Damaged { path, found }.into());
    }
    Point::LedgerOpened.pass();
    let archive = Archive::open(paths.inbox(), paths.archive(), paths.quarantine())
        .map_err(|source| Error::Folder { path: paths.archive(), source })?;
    archive.remove_broken_hand_ins();
    let (ledger, archive) = (Arc::new(ledger), Arc::new(archive));
    let mut reports = ReportFiles::open(
        paths.reports(),
        Arc::clone(&ledger),
        descriptors::open_reports_max(&settings),
        settings.publish.csv_bom,
    )?;
    let path = paths.state().join("grading");
    let (journal, suspects) = InFlightJournal::open(&path, settings.grade.batch_files_max)
        .map_err(|source| Error::State { path, source })?;
    let jury = Arc::new(Jury::new(&settings, &ledger, &archive));
    let recovered = recover(&ledger, &archive, &mut reports, &suspects)?;
    let listener = if mode.once { None } else { Some(listen(settings.http.listen, &mut locks)?) };
    let page = match settings.page.listen {
        PageListen::At(address) if !mode.once => Some(listen_for_page(address)?),
        _ => None,
    };
    let shared = Shared {
        sections: Sections::new(&settings),
        reloads: Reloads::new(mode.reload.as_ref().and_then(|source| source.file.clone())),
        tier,
        jury,
        bell: Arc::default(),
        ledger,
        archive,
        queue: Arc::new(Queue::new(reload::limits(&settings))),
        health: Arc::default(),
        published: Arc::default(),
        // With --once, publishing gives up on a full disk instead of waiting for room.
        stopping: Arc::new(AtomicBool::new(mode.once)),
        journal: Arc::new(journal),
        reports: Arc::new(SharedReports::new(reports)),
        liveness: Liveness::default(),
        settings,
    };
    // Before the first file is taken.
    event::take_over(&shared, "start");
    Ok(Prepared { shared, locks, recovered, listener, page })
}

/// A ledger of up to so many bytes is read whole before the first file is taken; a larger one meanwhile.
pub(super) const READ_AT_START_BYTES_MAX: u64 = 64 << 20;

/// What is wrong with the ledger's file, if something is and that can be found out in a moment.
fn damage_at_start(path: &Path) -> Result<Option<String>, Error> {
    let bytes = path.metadata().map_or(0, |found| found.len());
    if bytes > READ_AT_START_BYTES_MAX { Ok(None) } else { Ok(Ledger::damage(path)?) }
}

/// Creates the folders that are missing, and logs which: a mistyped root is as empty as a new one.
fn make_folders(paths: &Paths) -> Result<(), Error> {
    let folders =
        [paths.state(), paths.reports(), paths.inbox(), paths.archive(), paths.quarantine()];
    let mut made = Vec::new();
    for path in folders.into_iter().filter(|path| !path.is_dir()) {
        if let Some(above) = missing_above(paths, &path) {
            return Err(Error::NoPlace { above: above.to_owned(), path });
        }
        if let Some(target) = dangling(&path) {
            return Err(Error::Dangling { path, target });
        }
        std::fs::create_dir_all(&path)
            .map_err(|source| Error::Folder { path: path.clone(), source })?;
        made.push(path);
    }
    if !made.is_empty() {
        emit::folders_made(&made);
    }
    Ok(())
}

/// Opens the address for metrics and health.
///
/// # Errors
///
/// The system refuses it, or another program listens there.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).map_err(|source| Error::Listen { address, source })
}

/// Opens the address and writes it into the lock, where commands look for it.
fn listen(address: SocketAddr, locks: &mut Locks) -> Result<TcpListener, Error> {
    let listener = bind(address)?;
    listener.set_nonblocking(true).map_err(|source| Error::Listen { address, source })?;
    let address = listener.local_addr().unwrap_or(address);
    locks.set_address(address)?;
    emit::listening(address);
    Ok(listener)
}

/// Opens the address of the page.
fn listen_for_page(address: SocketAddr) -> Result<TcpListener, Error> {
    let listener = bind(address)?;
    listener.set_nonblocking(true).map_err(|source| Error::Listen { address, source })?;
    emit::page_listening(listener.local_addr().unwrap_or(address));
    Ok(listener)
}
