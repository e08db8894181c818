//! `gridmark reload`: makes the running service read its settings again and prints the result.

use super::target::ServiceArgs;
use super::{Error, print_error};
use crate::config::{Change, Changes, Paths};
use crate::model::escape;
use crate::service::http::{self, ReloadsAnswer};
use crate::store::lock::{Holder, is_held};
use crate::store::owner::Denied;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long the service may take to read its settings, and to prove the puzzles of an event.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);
/// The pause between two requests for its answer.
const PAUSE: Duration = Duration::from_millis(20);
/// The HTTP path where it answers.
const PATH: &str = "/reloads";

/// The arguments of `gridmark reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The service reads its settings file and the event folder again. Flags and environment variables stay those with which it
was started, and so does the path of the file: --config has to name the same one. If the file is
wrong, nothing changes. The settings file that comes with gridmark says which settings need a
restart. SIGHUP does the same, with the result in the log.

Exit code: 0 if the settings and the event folder are in force, except settings that need a restart
and a folder that is staged since it changes judgements; 1 if they were refused or no service answered;
2 for a usage error.")]
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
    match ask(&settings.paths, args.service.file()) {
        Ok((changes, event)) => {
            let mut text = text_of(&changes);
            if let Some(Ok(event)) = &event {
                let _ = writeln!(text, "event: {event}");
            }
            io::stdout().write_all(text.as_bytes()).map_err(Error::Output)?;
            match event {
                Some(Err(why)) => {
                    print_error("the event folder is refused, and what was in force stays so:");
                    why.lines().for_each(print_error);
                    Ok(ExitCode::FAILURE)
                }
                _ => Ok(ExitCode::SUCCESS),
            }
        }
        Err(why) => {
            print_error(&why);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// One line for each change.
fn text_of(changes: &Changes) -> String {
    let mut text = String::new();
    // Writing to memory cannot fail.
    for Change { key, before, after } in &changes.applied {
        let _ = writeln!(text, "{key} = {after} (was {before})");
    }
    for Change { key, before, after } in &changes.held {
        let _ = writeln!(text, "{key} = {after} needs a restart (is {before})");
    }
    if text.is_empty() { "no setting has changed\n".to_owned() } else { text }
}

/// What became of the event folder, if there is one.
type Event = Option<Result<String, String>>;

/// Makes the service of this root read its settings, and waits for the result. If `file` is given, the
/// service has to read its settings from there.
fn ask(paths: &Paths, file: Option<&Path>) -> Result<(Changes, Event), String> {
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
    let before = reloads(address, process)?;
    if let Some(file) = file {
        check_file(process, file, before.file.as_deref())?;
    }
    signal(process).map_err(|error| {
        format!("cannot send a signal to process {process}: {error}; be its user, or root")
    })?;
    let start = Instant::now();
    loop {
        let now = reloads(address, process)?;
        if now.reloads > before.reloads {
            let changes = now.last.unwrap_or_else(|| Ok(Changes::default()))?;
            return Ok((changes, now.event));
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
fn check_file(process: u32, file: &Path, theirs: Option<&Path>) -> Result<(), String> {
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

/// The answer of this process about its reloads.
fn reloads(address: SocketAddr, process: u32) -> Result<ReloadsAnswer, String> {
    match http::ask_json::<ReloadsAnswer>(address, PATH) {
        Ok(answer) if answer.process == process => Ok(answer),
        Ok(other) => {
            Err(format!("process {} answers at {address}, not process {process}", other.process))
        }
        Err(error) => Err(format!("process {process} does not answer at {address}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_a_line_and_no_change_is_said() {
        let change = |key: &str, before: &str, after: &str| Change {
            key: key.into(),
            before: before.into(),
            after: after.into(),
        };
        let changes = Changes {
            applied: vec![change("intake.settle_ms", "200", "500")],
            held: vec![change("log.format", "\"auto\"", "\"json\"")],
        };
        let wanted = "intake.settle_ms = 500 (was 200)\n\
                      log.format = \"json\" needs a restart (is \"auto\")\n";
        assert_eq!(text_of(&changes), wanted);
        assert_eq!(text_of(&Changes::default()), "no setting has changed\n");
    }
}
