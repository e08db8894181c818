//! Checks a machine before the event: whatever the service needs there is tried out for real, in
//! hidden scratch folders that are removed again, and nothing else is changed.
//!
//! Each check is a function that returns what it has found. It works beside a service that runs on
//! the same root.

mod address;
mod clock;
mod contents;
mod disks;
mod file_system;
mod finding;
mod folders;
mod machine;
mod mounts;
mod scratch;
mod trial;
mod watching;
mod work;

pub use finding::{Finding, Level};
pub use trial::TRIAL_OF_PROCESS;

use crate::config::{Loaded, Origin};
use clock::Clock;
use folders::Folders;
use scratch::Mess;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// Makes all checks with the settings in force, whose root is a whole path, and tells each finding
/// as soon as it is made.
///
/// # Errors
///
/// If it cannot be told, or the process cannot watch for signals.
pub fn examine(
    loaded: &Loaded,
    trial_time_max: Duration,
    tell: &mut dyn FnMut(Finding) -> io::Result<()>,
) -> io::Result<()> {
    let settings = &loaded.settings;
    let mess = Mess::new()?;
    let clock = Clock::start();
    tell(in_force(loaded))?;
    let (service, ours) = address::service(settings);
    tell(service)?;
    let (folders, found) = Folders::look(&settings.paths, &mess);
    let mut tell_all = |findings: Vec<Finding>| findings.into_iter().try_for_each(&mut *tell);
    tell_all(vec![machine::user(&folders)])?;
    tell_all(found)?;
    let inbox = contents::Inbox::look(&folders);
    tell_all(inbox.findings(&folders))?;
    tell_all(contents::written(&folders))?;
    tell_all(disks::kinds(&folders, settings))?;
    tell_all(disks::room(&folders, settings))?;
    tell_all(file_system::moves(&folders).into_iter().collect())?;
    tell_all(file_system::names(&folders, settings))?;
    tell_all(file_system::syncs(&folders))?;
    tell_all(file_system::locks(&folders).into_iter().collect())?;
    tell_all(file_system::new_ledger(&folders).into_iter().collect())?;
    let (ledger, latest_ms) = file_system::old_ledger(&folders);
    tell_all(ledger.into_iter().collect())?;
    tell_all(watching::watching(&folders, settings, &inbox))?;
    tell_all(machine::limits(settings))?;
    tell_all(vec![machine::memory(settings), machine::processor(settings)])?;
    tell_all(address::address(settings, ours, &folders))?;
    let tried = trial::trial(&folders, loaded, &mess, trial_time_max);
    tell_all(tried.into_iter().collect())?;
    tell_all(clock.findings(latest_ms))
}

/// Where the settings come from.
fn in_force(loaded: &Loaded) -> Finding {
    let mut from: BTreeMap<String, usize> = BTreeMap::new();
    for origin in loaded.origins.values() {
        let place = match origin {
            Origin::Default => continue,
            Origin::File(place) => format!("in {}", crate::model::escape::path(&place.path)),
            Origin::Environment(_) => "by variables".to_owned(),
            Origin::Flag(_) => "by flags".to_owned(),
        };
        *from.entry(place).or_default() += 1;
    }
    if from.is_empty() {
        return Finding::ok("settings", "all are the defaults");
    }
    let told = from.iter().map(|(place, count)| format!("{count} {place}")).collect::<Vec<_>>();
    Finding::ok("settings", format!("good; set are {}", told.join(", ")))
}
