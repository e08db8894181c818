//! `gridmark reload`: makes the running service read its settings again and prints the result.

use super::target::ServiceArgs;
use super::{Error, print_error};
use crate::config::Paths;
use crate::model::escape;
use crate::service::http::{self, Answer};
use crate::store::lock::{Holder, is_held};
use crate::store::owner::Denied;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long the service may take to read its settings.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);
/// The pause between two requests for its answer.
const PAUSE: Duration = Duration::from_millis(20);
/// The HTTP path where it answers.
const PATH: &str = "/reloads";

/// The arguments of `gridmark reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The service reads its settings file again. Flags and environment variables stay those with which it
was started, and so does the path of the file: --config has to name the same one. If the file is
wrong, nothing changes. The settings file that comes with gridmark says which settings need a
restart. SIGHUP does the same, with the result in the log.

Exit code: 0 if the settings are in force, except those that need a restart; 1 if they were refused
or no service answered; 2 for a usage error.")]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
}

/// Makes the service read its settings again and prints the result.
///
/// # Errors
///
/// The settings are wrong, so that the service cannot be found, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    // As long as --root says which service is meant, a wrong file is for the service to refuse.
    let settings =
        args.service.settings().or_else(|wrong| args.service.by_root().ok_or(wrong)?)?;
    let answer = ask(&settings.paths, args.service.file());
    let refused = match &answer {
        Ok(lines) => lines.lines().find_map(|line| line.strip_prefix("refused ")),
        Err(why) => Some(why.as_str()),
    };
    if let Some(why) = refused {
        print_error(why);
        return Ok(ExitCode::FAILURE);
    }
    let text = shown(answer.as_deref().unwrap_or_default());
    io::stdout().write_all(text.as_bytes()).map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}

/// The result of a reload in words.
fn shown(lines: &str) -> String {
    let mut text = String::new();
    for line in lines.lines() {
        let (word, change) = line.split_once(' ').unwrap_or((line, ""));
        let told = match (word, change.split('\t').collect::<Vec<_>>().as_slice()) {
            ("applied", [key, before, after]) => format!("{key} = {after} (was {before})\n"),
            ("held", [key, before, after]) => {
                format!("{key} = {after} needs a restart (is {before})\n")
            }
            _ => continue,
        };
        text.push_str(&told);
    }
    if text.is_empty() { "no setting has changed\n".to_owned() } else { text }
}

/// Makes the service of this root read its settings, from `file` if one is named, and waits for the
/// result.
fn ask(paths: &Paths, file: Option<&Path>) -> Result<String, String> {
    let root = escape::path(&paths.root);
    let lock = paths.lock();
    let none = || format!("no service runs at {root}");
    let holder = match Holder::of(&lock) {
        Ok(holder) => holder.ok_or_else(none)?,
        Err(error) => {
            return Err(match Denied::of(&lock) {
                Some(denied) => format!("{denied}; {}", denied.remedy("gridmark reload ...")),
                None => format!("cannot read {}: {error}", escape::path(&lock)),
            });
        }
    };
    let process = holder.process;
    // SIGHUP ends most programs, so it must reach this process and no other.
    match is_held(&lock, process) {
        Some(true) => {}
        Some(false) => return Err(none()),
        None => {
            return Err(format!(
                "the system does not say whether process {process} is the service"
            ));
        }
    }
    let address = holder.address.ok_or_else(|| format!("process {process} serves no address"))?;
    let Told { file: theirs, reloads: before, .. } = reloads(address, process)?;
    if let Some(file) = file {
        is_read(process, file, theirs.as_deref())?;
    }
    signal(process).map_err(|error| {
        format!("cannot send a signal to process {process}: {error}; be its user, or root")
    })?;
    let start = Instant::now();
    loop {
        let told = reloads(address, process)?;
        if told.reloads > before {
            return Ok(told.lines);
        }
        if start.elapsed() > ANSWER_TIME_MAX {
            return Err(format!(
                "process {process} got the signal, but reports no result; see its log"
            ));
        }
        std::thread::sleep(PAUSE);
    }
}

fn signal(process: u32) -> io::Result<()> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(kill_process(pid, Signal::HUP)?)
}

/// Checks that the process reads its settings from `file`; `theirs` is the file that it reads.
fn is_read(process: u32, file: &Path, theirs: Option<&Path>) -> Result<(), String> {
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    if theirs.is_some_and(|theirs| whole(theirs) == whole(file)) {
        return Ok(());
    }
    let file = escape::path(file);
    Err(match theirs {
        Some(theirs) => format!(
            "process {process} reads its settings from {}, not from {file}; nothing was reloaded: \
             change that file, or start the service with --config {file}",
            escape::path(theirs)
        ),
        None => format!(
            "process {process} was started without a settings file, and reads none; nothing was \
             reloaded: start the service with --config {file}"
        ),
    })
}

/// What a service says of how it reads its settings.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// From which file, if there is one.
    file: Option<PathBuf>,
    /// How often it has done so since its start.
    reloads: u64,
    /// What came of the last time.
    lines: String,
}

/// What this process says of how it reads its settings.
fn reloads(address: SocketAddr, process: u32) -> Result<Told, String> {
    let stranger = || format!("something else than process {process} answers at {address}");
    match http::ask(address, PATH) {
        Ok(Answer { status: 200, body }) => told(&body, process).ok_or_else(stranger),
        Ok(_) => Err(stranger()),
        Err(error) => Err(format!("process {process} does not answer at {address}: {error}")),
    }
}

fn told(body: &str, process: u32) -> Option<Told> {
    let (first, rest) = body.split_once('\n')?;
    let (second, rest) = rest.split_once('\n')?;
    let (third, lines) = rest.split_once('\n')?;
    let is_it = first.strip_prefix("process ")?.parse() == Ok(process);
    let file = escape::bytes_of(second.strip_prefix("file ")?)?;
    let file = (!file.is_empty()).then(|| PathBuf::from(OsString::from_vec(file)));
    let reloads = third.strip_prefix("reloads ")?.parse().ok()?;
    is_it.then(|| Told { file, reloads, lines: lines.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_and_shown() {
        let lines = "applied intake.settle_ms\t200\t500\nheld log.format\t\"auto\"\t\"json\"\n";
        let body = format!("process 7\nfile /etc/\\xFF.toml\nreloads 3\n{lines}");
        let file = PathBuf::from(OsString::from_vec(b"/etc/\xff.toml".to_vec()));
        let wanted = Told { file: Some(file), reloads: 3, lines: lines.to_owned() };
        assert_eq!(told(&body, 7), Some(wanted));
        let without = told("process 7\nfile \nreloads 0\n", 7);
        assert_eq!(without, Some(Told { file: None, reloads: 0, lines: String::new() }));
        assert_eq!(told(&body, 8), None);
        assert_eq!(told("gridmark\n", 7), None);
        let wanted = "intake.settle_ms = 500 (was 200)\n\
                      log.format = \"json\" needs a restart (is \"auto\")\n";
        assert_eq!(shown(lines), wanted);
        assert_eq!(shown(""), "no setting has changed\n");
    }
}
