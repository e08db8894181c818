//! What the machine gives: descriptors, memory, processors, kernels; and who runs this.

use super::disks::mebibytes;
use super::finding::Finding;
use super::folders::{Folders, as_service};
use crate::config::Settings;
use crate::service::{descriptors_needed, descriptors_wanted};
use gridmark_core::judge::Tier;
use rustix::process::{Resource, geteuid, getrlimit};
use std::os::unix::fs::MetadataExt;

/// What the service takes beside what settings bound.
const BASE_BYTES: u64 = 48 << 20;
/// What a file takes that waits to settle.
const WAITING_FILE_BYTES: u64 = 1 << 10;

/// Who runs this, since another user may do other things.
pub(super) fn user(folders: &Folders) -> Finding {
    let us = geteuid();
    let owner = |folder: &&super::folders::Folder| {
        let found = folder.path.metadata().ok()?;
        (found.uid() != us.as_raw()).then_some((folder.name, found.uid()))
    };
    let other = folders.all().iter().filter_map(owner).next();
    if let Some(denied) = &folders.denied {
        return Finding::fail("user", denied.to_string(), as_service(denied));
    }
    match other {
        Some((name, owner)) if us.is_root() => Finding::warn(
            "user",
            format!("root may do everything, and {name} belongs to user {owner}"),
            format!("if the service runs as that user: sudo -u '#{owner}' gridmark doctor ..."),
        ),
        _ if us.is_root() => Finding::note(
            "user",
            "this is root, who may do everything; if the service runs as another user, run doctor \
             as that one",
        ),
        _ => Finding::ok(
            "user",
            format!("user {}; all of this holds if the service runs as the same", us.as_raw()),
        ),
    }
}

/// How many files and connections may be open, and other limits of processes.
pub(super) fn limits(settings: &Settings) -> Vec<Finding> {
    let (needed, wanted) = (descriptors_needed(settings), descriptors_wanted(settings));
    let (needed, wanted) = (needed as u64, wanted as u64);
    let most = getrlimit(Resource::Nofile).maximum;
    let remedy =
        format!("LimitNOFILE={} in the unit of systemd, or ulimit -Hn", wanted.max(65_536));
    let mut findings = vec![match most {
        Some(most) if most < needed => {
            let what = format!("{most} files may be open, too few to run: {needed} are needed");
            Finding::fail("limits", what, remedy)
        }
        Some(most) if most < wanted => {
            let what = format!(
                "{most} files may be open; with fewer than {wanted} less is kept open than \
                 http.connections_max and reports want"
            );
            Finding::warn("limits", what, remedy)
        }
        most => {
            let most = most.map_or("any number of".to_owned(), |most| most.to_string());
            Finding::ok("limits", format!("{most} files may be open, {wanted} are wanted"))
        }
    }];
    let bounded = [
        (Resource::Fsize, "LimitFSIZE=infinity", "a file may have", "then no more is graded", "f"),
        (Resource::As, "LimitAS=infinity", "the process may address", "that ends the service", "v"),
    ];
    for (resource, unit, what, then, flag) in bounded {
        if let Some(bytes) = getrlimit(resource).current {
            let what = format!("{what} {bytes} bytes at most; once it is reached, {then}");
            let remedy = format!("{unit} in the unit of systemd, or ulimit -{flag} unlimited");
            findings.push(Finding::warn("limits", what, remedy));
        }
    }
    findings
}

/// The memory that there is, and what settings let the service use.
pub(super) fn memory(settings: &Settings) -> Finding {
    let Some(available) = available_memory() else {
        return Finding::note("memory", "how much is available cannot be told");
    };
    let grade = &settings.grade;
    let bytes = |n: usize| n as u64;
    // A batch or chunk is there twice: as it was read, and as rows.
    let batches =
        bytes(settings.grade.threads()) * bytes(grade.batch_bytes_max + grade.chunk_bytes_max);
    let chunks = bytes(grade.streams_max * grade.chunks_ahead_max) * bytes(grade.chunk_bytes_max);
    let rows = bytes(settings.publish.pending_bytes_max) * 2;
    let waiting = bytes(settings.intake.waiting_files_max) * WAITING_FILE_BYTES;
    let most = BASE_BYTES + 2 * (batches + chunks) + rows + waiting;
    let (shown, wanted) = (mebibytes(available), mebibytes(most));
    if available < most {
        let what = format!("{shown} available; with these settings the service may take {wanted}");
        let remedy = "end other programs, or lower publish.pending_bytes_max, grade.chunk_bytes_max \
                      and grade.streams_max";
        return Finding::warn("memory", what, remedy);
    }
    Finding::ok("memory", format!("{shown} available; the service takes {wanted} at the very most"))
}

/// Of the machine, or of the group of processes if that has less.
fn available_memory() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10;
    Some(group_memory().map_or(machine, |group| group.min(machine)))
}

fn group_memory() -> Option<u64> {
    let group = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let read = |file: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/{path}/{file}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

/// The processor, and the kernels that grade on it.
pub(super) fn processor(settings: &Settings) -> Finding {
    let threads = settings.grade.threads();
    let best = Tier::best();
    let tier = match Tier::wanted(&settings.grade.tier) {
        Ok(tier) => tier,
        Err(error) => {
            let what = format!("the setting grade.tier: {error}");
            return Finding::fail("processor", what, "set grade.tier = \"auto\"");
        }
    };
    let what = format!("{threads} threads grade with the kernels of tier {}", tier.name());
    if tier != best {
        let what = format!("{what}, though this processor has {}", best.name());
        return Finding::warn("processor", what, "set grade.tier = \"auto\"");
    }
    match Tier::all().get(1) {
        Some(next) if best == Tier::Portable => Finding::note(
            "processor",
            format!("{what}; it has no {}, which is several times faster", next.name()),
        ),
        _ => Finding::ok("processor", format!("{what}, the fastest that this processor runs")),
    }
}
