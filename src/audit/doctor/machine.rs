//! Checks what the machine offers: open files, memory, processors, kernels; and who runs doctor.

use super::finding::{Finding, mebibytes};
use super::folders::{Folder, Folders, as_service};
use crate::config::Settings;
use crate::model::words::counted;
use crate::service::descriptors_wanted;
use gridmark_core::judge::Tier;
use rustix::process::{Resource, geteuid, getrlimit};
use std::os::unix::fs::MetadataExt;

/// What the service uses besides what settings limit.
const BASE_BYTES: u64 = 48 << 20;
/// What a file takes while it waits to settle.
const WAITING_FILE_BYTES: u64 = 1 << 10;

/// Who runs doctor: another user has other permissions.
pub(super) fn user(folders: &Folders) -> Finding {
    let us = geteuid();
    let owner = |folder: &&Folder| {
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
            format!("this is root, who may do everything, but {name} belongs to user {owner}"),
            format!("if the service runs as that user, run sudo -u '#{owner}' gridmark doctor ..."),
        ),
        _ if us.is_root() => Finding::note(
            "user",
            "this is root, who may do everything; if the service runs as another user, run doctor \
             as that user",
        ),
        _ => Finding::ok(
            "user",
            format!("user {}; the findings hold if the service runs as the same user", us.as_raw()),
        ),
    }
}

/// Checks the limits of the process. With too few open files for a start, the trial fails and says so.
pub(super) fn limits(settings: &Settings) -> Vec<Finding> {
    let wanted = descriptors_wanted(settings) as u64;
    let mut findings = vec![match getrlimit(Resource::Nofile).maximum {
        Some(most) if most < wanted => {
            let what = format!(
                "{most} files may be open; with fewer than {wanted}, the service serves fewer \
                 connections than http.connections_max and keeps fewer reports open"
            );
            let remedy = format!(
                "set LimitNOFILE={0} in the systemd unit, or ulimit -Hn {0}",
                wanted.max(65_536)
            );
            Finding::warn("limits", what, remedy)
        }
        most => {
            let most = most.map_or("any number of".to_owned(), |most| most.to_string());
            Finding::ok(
                "limits",
                format!("{most} files may be open; the service uses up to {wanted}"),
            )
        }
    }];
    let bounded = [
        (Resource::Fsize, "LimitFSIZE", "a file can have", "grading stops", "f"),
        (Resource::As, "LimitAS", "the process can address", "the service ends", "v"),
    ];
    for (resource, unit, what, then, flag) in bounded {
        if let Some(bytes) = getrlimit(resource).current {
            let what = format!("{what} at most {bytes} bytes; when it needs more, {then}");
            let remedy =
                format!("set {unit}=infinity in the systemd unit, or ulimit -{flag} unlimited");
            findings.push(Finding::warn("limits", what, remedy));
        }
    }
    findings
}

/// Compares the available memory with what the settings let the service use.
pub(super) fn memory(settings: &Settings) -> Finding {
    let Some(available) = available_memory() else {
        return Finding::note("memory", "cannot determine how much is available");
    };
    let grade = &settings.grade;
    let bytes = |n: usize| n as u64;
    // A batch or chunk takes its size twice: as it was read, and as rows.
    let batches =
        bytes(settings.grade.threads()) * bytes(grade.batch_bytes_max + grade.chunk_bytes_max);
    let chunks = bytes(grade.streams_max * grade.chunks_ahead_max) * bytes(grade.chunk_bytes_max);
    let rows = bytes(settings.publish.pending_bytes_max) * 2;
    let waiting = bytes(settings.intake.waiting_files_max) * WAITING_FILE_BYTES;
    let most = BASE_BYTES + 2 * (batches + chunks) + rows + waiting;
    let (available_text, most_text) = (mebibytes(available), mebibytes(most));
    if available < most {
        let what = format!(
            "{available_text} available, but with these settings the service may use {most_text}"
        );
        let remedy = "end other programs, or lower publish.pending_bytes_max, grade.chunk_bytes_max \
                      and grade.streams_max";
        return Finding::warn("memory", what, remedy);
    }
    let what = format!("{available_text} available; the service uses at most {most_text}");
    Finding::ok("memory", what)
}

/// The memory available on the machine, or in the control group if that has less; in bytes.
fn available_memory() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10;
    Some(group_memory().map_or(machine, |group| group.min(machine)))
}

fn group_memory() -> Option<u64> {
    let group = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let read = |file: &str| number_in(&format!("/sys/fs/cgroup/{path}/{file}"));
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

/// The number in a file of the system; `None` if there is no such file, or no number in it.
pub(super) fn number_in(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Checks the kernels against the processor.
pub(super) fn processor(settings: &Settings) -> Finding {
    let threads = settings.grade.threads();
    let best = Tier::best();
    let tier = match Tier::from_setting(&settings.grade.tier) {
        Ok(tier) => tier,
        Err(error) => {
            let what = format!("grade.tier cannot be used: {error}");
            return Finding::fail("processor", what, "set grade.tier = \"auto\"");
        }
    };
    let what = format!(
        "grading has {} and the kernels of tier {}",
        counted(threads, "thread"),
        tier.name()
    );
    if tier != best {
        let what = format!("{what}, but this processor supports {}", best.name());
        return Finding::warn("processor", what, "set grade.tier = \"auto\"");
    }
    match Tier::all().get(1) {
        Some(next) if best == Tier::Portable => Finding::note(
            "processor",
            format!("{what}; this processor lacks {}, which is several times faster", next.name()),
        ),
        _ => Finding::ok("processor", format!("{what}, the fastest that this processor supports")),
    }
}
