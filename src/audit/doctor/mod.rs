//! Checks a machine before the event.
//!
//! What the service needs is tried, not looked up: a file system that reports a feature may still refuse
//! it. What makes a start fail shows in a trial of the whole service; the other checks find what a start does
//! not notice, and say more where its message would not say what to do. They work in hidden scratch folders on the file systems of the real folders (`scratch`) and
//! change nothing else, so doctor can run while a service works on the same root.
//!
//! Each module checks one thing and returns its [`Finding`]s; [`examine`] runs them in the order in which
//! they explain each other, from the folders to a trial of the whole service.

mod clock;
mod contents;
mod disks;
mod event;
mod file_system;
mod finding;
mod folders;
mod ledger;
mod machine;
mod scratch;
mod service;
mod trial;
mod watch;

pub use finding::{Finding, Level};
pub use trial::TRIAL_OF_PROCESS;

use crate::config::{Loaded, Origin};
use crate::model::escape;
use clock::Clock;
use folders::Folders;
use scratch::ScratchGuard;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// Runs all checks with the settings in force, whose root must be absolute. Calls `on_finding` for each
/// finding as soon as it is known. The trial of the service takes at most `trial_time_max`.
///
/// # Errors
///
/// `on_finding` failed, or the process cannot watch for signals.
pub fn examine(
    loaded: &Loaded,
    trial_time_max: Duration,
    on_finding: &mut dyn FnMut(Finding) -> io::Result<()>,
) -> io::Result<()> {
    let settings = &loaded.settings;
    let guard = ScratchGuard::new()?;
    let clock = Clock::start();
    on_finding(settings_in_force(loaded))?;
    let (service, ours) = service::service(settings);
    on_finding(service)?;
    let (folders, found) = Folders::examine(&settings.paths, &guard);
    let mut report = |findings: Vec<Finding>| findings.into_iter().try_for_each(&mut *on_finding);
    report(vec![machine::user(&folders)])?;
    report(found)?;
    let inbox = contents::Inbox::examine(&folders);
    report(inbox.findings(&folders))?;
    report(contents::written(&folders))?;
    report(disks::kinds(&folders, settings))?;
    report(disks::room(&folders, settings))?;
    report(file_system::moves(&folders).into_iter().collect())?;
    report(disks::inside(&folders))?;
    report(file_system::names(&folders, settings))?;
    report(file_system::syncs(&folders))?;
    report(file_system::locks(&folders, settings))?;
    let (existing, latest_ms) = ledger::examine(&settings.paths);
    report(existing.into_iter().collect())?;
    report(event::examine(settings))?;
    report(watch::findings(&folders, settings, &inbox))?;
    report(machine::limits(settings))?;
    report(vec![machine::memory(settings), machine::processor(settings)])?;
    report(service::address(settings, ours))?;
    let tried = trial::trial(&folders, loaded, &guard, trial_time_max);
    report(tried.into_iter().collect())?;
    report(clock.findings(latest_ms))
}

/// Where the settings come from.
fn settings_in_force(loaded: &Loaded) -> Finding {
    let mut from: BTreeMap<String, usize> = BTreeMap::new();
    for origin in loaded.origins.values() {
        let place = match origin {
            Origin::Default => continue,
            Origin::File(place) => format!("in {}", escape::path(&place.path)),
            Origin::Environment(_) => "by the environment".to_owned(),
            Origin::Flag(_) => "on the command line".to_owned(),
        };
        *from.entry(place).or_default() += 1;
    }
    if from.is_empty() {
        return Finding::ok("settings", "all have their defaults");
    }
    let places = from.iter().map(|(place, count)| format!("{count} {place}")).collect::<Vec<_>>();
    Finding::ok("settings", format!("valid; not defaults: {}", places.join(", ")))
}
