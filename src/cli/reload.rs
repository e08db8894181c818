//! `gridmark reload`: the service that runs reads its settings anew, and says what came of it.

use super::asked::Whose;
use super::running::{Running, running};
use super::{Error, complain};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long the service may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
/// The pause between two looks for its answer.
const PAUSE: Duration = Duration::from_millis(20);
/// Where it answers.
const PATH: &str = "/reloads";

/// The arguments of `gridmark reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The service reads its settings file once more; its flags, and the variables of its environment, are
those with which it was started. If the file is wrong, all stays as it is. config/gridmark.toml says
which settings need a restart. `kill -HUP` does the same and tells what came of it in the log alone.

Exit code: 0 if the settings are in force, but for those that need a restart; 1 if they were
refused, or the service does not run or does not answer.")]
pub struct Args {
    #[command(flatten)]
    whose: Whose,
}

/// Has the service read its settings anew, and says what came of it.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let answer = args.whose.settings().and_then(|settings| {
        Ok(match running(&settings.paths) {
            Running::Yes(service) => ask(&service),
            Running::No => Err("no service runs here".to_owned()),
            Running::Unknown(why) => Err(why),
        })
    })?;
    let refused = match answer {
        Ok(lines) => tell(&lines)?,
        Err(why) => Some(why),
    };
    Ok(match refused {
        Some(why) => {
            complain(&why);
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    })
}
