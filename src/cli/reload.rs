//! `gridmark reload`: the service that runs reads its settings anew, and says what came of it.

use super::asked::Whose;
use super::{Error, complain};
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
/// The pause between two looks for its answer.
const PAUSE: Duration = Duration::from_millis(20);
/// Where it answers.
const PATH: &str = "/reloads";

/// The arguments of `gridmark reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The service reads its settings file once more. Its flags, and the variables of its environment, are
those with which it was started, and so is the file: one that is named with --config has to be the
same. If the file is wrong, all stays as it is. The settings file that
comes with gridmark says which settings need a restart. SIGHUP does the same, and what comes of it
is told in the log.

Exit code: 0 if the settings are in force, but for those that need a restart; 1 if they were
refused, or no service could be asked; 2 if the command was typed wrongly.")]
pub struct Args {
    #[command(flatten)]
    whose: Whose,
}

/// Has the service read its settings anew, and says what came of it.
///
/// # Errors
///
/// The settings are wrong, so that it cannot be told where the service works; or standard output
/// cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    // A file that is wrong is the service's to refuse, as long as it is known which service.
    let settings = args.whose.settings().or_else(|wrong| args.whose.by_root().ok_or(wrong)?)?;
    let answer = ask(&settings.paths, args.whose.file());
    let refused = match &answer {
        Ok(lines) => lines.lines().find_map(|line| line.strip_prefix("refused ")),
        Err(why) => Some(why.as_str()),
    };
    if let Some(why) = refused {
        complain(why);
        return Ok(ExitCode::FAILURE);
    }
    let text = shown(answer.as_deref().unwrap_or_default());
    io::stdout().write_all(text.as_bytes()).map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}

/// What came of a reload, for people.
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

/// Asks the service that works there to read its settings, from this file if one is named, and waits
/// for what it says; or why it cannot be asked.
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
    // Nobody else is to get the signal: it would end most programs.
    match is_held(&lock, process) {
        Some(true) => {}
        Some(false) => return Err(none()),
        None => return Err(format!("the system does not say whether process {process} is it")),
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
            return Err(format!("process {process} was asked, and does not say what came of it"));
        }
        std::thread::sleep(PAUSE);
    }
}

fn signal(process: u32) -> io::Result<()> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(kill_process(pid, Signal::HUP)?)
}

/// Makes sure that the process reads its settings from `file`; `theirs` is the file that it reads.
fn is_read(process: u32, file: &Path, theirs: Option<&Path>) -> Result<(), String> {
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    if theirs.is_some_and(|theirs| whole(theirs) == whole(file)) {
        return Ok(());
    }
    let file = escape::path(file);
    Err(match theirs {
        Some(theirs) => format!(
            "process {process} reads its settings from {}, not from {file}; nothing is read anew: \
             change that file, or start the service with --config {file}",
            escape::path(theirs)
        ),
        None => format!(
            "process {process} was started without a settings file, and reads none; nothing is read \
             anew: start the service with --config {file}"
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
