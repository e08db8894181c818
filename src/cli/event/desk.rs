//! Where commands for an event take their requests: to the running service, or, with the service stopped, to the
//! ledger itself, by the same functions.

use super::super::{Error, print_error};
use crate::config::Settings;
use crate::jury::{Answer, Jury, Preview, Request};
use crate::model::escape;
use crate::model::ruling::Draft;
use crate::model::words::counted;
use crate::pipeline::standings::Files;
use crate::store::archive::Archive;
use crate::store::ledger::Ledger;
use crate::store::lock::Locks;
use crate::store::owner;
use crate::store::socket;
use jiff::Timestamp;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long the service may take for an answer: a whole event may be judged again.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(600);

/// The exit code if a request is refused.
const REFUSED: u8 = 1;

/// Who decides, and why.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Signature {
    /// Who decides
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// As what
    #[arg(long, value_name = "ROLE", default_value = "director")]
    pub role: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

impl Signature {
    /// A ruling that says so, and nothing yet of what is decided.
    pub(in crate::cli) fn draft(&self) -> Draft {
        Draft {
            by: self.by.clone().unwrap_or_default(),
            role: self.role.clone(),
            via: "command".into(),
            reason: self.reason.clone().unwrap_or_default(),
            ..Draft::default()
        }
    }

    /// The same; where nothing is said, the user who runs the command decides it, for this reason.
    pub(in crate::cli) fn draft_for(&self, reason: &str) -> Draft {
        let signed = self.draft();
        let or = |said: String, otherwise: String| if said.is_empty() { otherwise } else { said };
        Draft {
            by: or(signed.by, owner::this_user()),
            reason: or(signed.reason, reason.to_owned()),
            ..signed
        }
    }
}

/// Has a request answered, and prints the answer.
///
/// # Errors
///
/// The ledger cannot be used, or standard output cannot be written.
pub(in crate::cli) fn ask(settings: &Settings, request: Request) -> Result<ExitCode, Error> {
    ask_for(settings, request, |answer| {
        print(&mut io::stdout().lock(), answer).map_err(Error::Output)
    })
}

/// Has a request answered, and calls `print` with the answer.
///
/// # Errors
///
/// The ledger cannot be used, or `print` fails.
pub(in crate::cli) fn ask_for(
    settings: &Settings,
    request: Request,
    print: impl FnOnce(&Answer) -> Result<(), Error>,
) -> Result<ExitCode, Error> {
    let answer = answer(settings, request)?.unwrap_or_else(Answer::Refused);
    if let Answer::Refused(why) = &answer {
        why.lines().for_each(print_error);
        return Ok(ExitCode::from(REFUSED));
    }
    print(&answer)?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    match answer {
        Answer::Ruled(numbers) => numbers.iter().try_for_each(|number| recorded(out, *number)),
        Answer::Preview(preview) => changes(out, preview),
        Answer::Regraded(number, preview) => {
            changes(out, preview)?;
            recorded(out, *number)
        }
        Answer::Invited(invited) => {
            let name = escape::line(&invited.name);
            writeln!(out, "{}", invited.code)?;
            writeln!(
                out,
                "{name} may use this code once, until {}, and may then judge until {}",
                invited.code_until, invited.until
            )?;
            recorded(out, invited.ruling)
        }
        Answer::Cards(cards) => recorded(out, cards.ruling),
        Answer::Refused(_) => Ok(()),
    }
}

fn recorded(out: &mut impl Write, number: i64) -> io::Result<()> {
    writeln!(out, "ruling {number} is recorded")
}

fn changes(out: &mut impl Write, preview: &Preview) -> io::Result<()> {
    for line in preview.judgements.iter().chain(&preview.standings) {
        writeln!(out, "{}", escape::line(line))?;
    }
    let folder = if preview.staged { "the staged event folder" } else { "judging again" };
    writeln!(
        out,
        "{folder} changes {} and {} of the standings",
        counted(preview.judgements.len(), "judgement"),
        counted(preview.standings.len(), "line")
    )
}

/// The answer to a request. The inner error is a message.
fn answer(settings: &Settings, request: Request) -> Result<Result<Answer, String>, Error> {
    let state = settings.paths.state();
    if !state.is_dir() {
        return Ok(Err(format!("no service has run in {}", escape::path(&settings.paths.root))));
    }
    match socket::connect(&state).map_err(Error::io("connect to the service of", &state))? {
        Some(stream) => Ok(over(&stream, &request).map_err(|error| {
            format!("the service did not answer: {error}; `gridmark event audit` shows what it has recorded")
        })),
        None => offline(settings, request),
    }
}

fn over(mut stream: &UnixStream, request: &Request) -> io::Result<Answer> {
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
    stream.write_all(&serde_json::to_vec(request)?)?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}

/// Answers a request without the service, which the locks keep from being started meanwhile.
fn offline(settings: &Settings, request: Request) -> Result<Result<Answer, String>, Error> {
    let paths = &settings.paths;
    let _locks = match Locks::take(paths) {
        Ok(locks) => locks,
        Err(error) => return Ok(Err(escape::with_causes(&error))),
    };
    let ledger = Ledger::open(&paths.ledger()).map_err(crate::service::Error::from)?;
    let ledger = Arc::new(ledger);
    let archive = Archive::of(paths.inbox(), paths.archive(), paths.quarantine());
    let jury = Jury::new(settings, &ledger, &Arc::new(archive));
    let now_ms = Timestamp::now().as_millisecond();
    let answer = jury.answer(request, now_ms);
    if !matches!(answer, Answer::Preview(_) | Answer::Refused(_)) {
        let mut files = Files::new(paths.reports(), paths.public());
        let written = jury.live().read(|standings| {
            let rounds = 0..standings.event().rounds.len();
            files.write(standings, &ledger, rounds, now_ms)
        });
        // It is recorded, and the next start writes the files.
        let failed = match written {
            Ok(None | Some(Ok(()))) => None,
            Ok(Some(Err(error))) => Some(escape::with_causes(&error)),
            Err(error) => Some(escape::with_causes(&error)),
        };
        if let Some(why) = failed {
            print_error(&format!("recorded, but the files are not up to date: {why}"));
        }
    }
    Ok(Ok(answer))
}
