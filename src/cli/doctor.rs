//! `gridmark doctor`: checks a machine before the event.

use super::config::{SettingArgs, milliseconds};
use super::{Error, print_error};
use crate::audit::doctor::{self, Finding};
use crate::model::escape;
use crate::model::words::counted;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// The exit code if nothing could be checked.
const NOT_CHECKED: u8 = 2;

/// The arguments of `gridmark doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Run it as the user that runs the service, with the same settings. What the service needs is tried in
scratch folders, which are removed afterwards. Nothing else is changed, and a running service is not
disturbed.

ok    all is well
note  worth knowing, or could not be determined
warn  the service works, but not as well as it could
FAIL  the service does not work, or may lose data that it promises to keep

Exit code: 0 if nothing fails; 1 if something fails, or with --strict if there is a warning; 2 if the
settings or the command line are wrong; 130 after a signal.")]
pub struct Args {
    #[command(flatten)]
    settings: SettingArgs,
    /// Treat warnings as failures
    #[arg(long)]
    strict: bool,
    /// The longest time for the trial of the whole service
    #[arg(long, value_name = "TIME", value_parser = milliseconds, default_value = "60s")]
    trial_time: u64,
    /// How to print findings: as text, or as one JSON object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Runs the checks and prints their findings.
///
/// # Errors
///
/// Standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let loaded = match args.settings.load_absolute() {
        Ok(loaded) => loaded,
        Err(error) => {
            print_error(&error.with_causes());
            return Ok(ExitCode::from(NOT_CHECKED));
        }
    };
    let mut counts = [0; 4];
    let mut print = |finding: Finding| {
        counts[finding.level as usize] += 1;
        let mut out = io::stdout().lock();
        match args.format {
            Format::Text => out.write_all(text(&finding).as_bytes())?,
            Format::Json => writeln!(out, "{}", json(&finding))?,
        }
        out.flush()
    };
    let time_max = Duration::from_millis(args.trial_time);
    doctor::examine(&loaded, time_max, &mut print).map_err(Error::Output)?;
    if args.format == Format::Text {
        writeln!(io::stdout(), "{}", summary(&counts)).map_err(Error::Output)?;
    }
    let [_, _, warnings, failures] = counts;
    let is_ready = failures == 0 && (warnings == 0 || !args.strict);
    Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(finding: &Finding) -> String {
    let Finding { level, check, found, remedy } = finding;
    let mut text = format!("{level:<5} {check:<11} {}\n", escape::line(found));
    if let Some(remedy) = remedy {
        text.push_str(&format!("{:17} to do: {}\n", "", escape::line(remedy)));
    }
    text
}

fn json(finding: &Finding) -> serde_json::Value {
    serde_json::json!({
        "level": finding.level.word(),
        "check": finding.check,
        "found": finding.found,
        "to_do": finding.remedy,
    })
}

fn summary(counts: &[usize; 4]) -> String {
    let [well, notes, warnings, failures] = counts;
    let counts = format!(
        "{well} ok, {}, {}, {}",
        counted(*notes, "note"),
        counted(*warnings, "warning"),
        counted(*failures, "failure")
    );
    let ready = match (failures, warnings) {
        (0, 0) => "this machine is ready",
        (0, _) => "this machine is ready, but see the warnings",
        _ => "this machine is not ready",
    };
    format!("{counts}: {ready}")
}
