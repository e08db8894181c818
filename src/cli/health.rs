//! `gridmark health`: whether the service is well, asked from outside.

use super::Error;
use super::asked::Whose;
use super::config::address as typed_address;
use crate::config::Origin;
use crate::model::escape;
use crate::service::http::{self, Answer};
use crate::store::lock::Holder;
use crate::store::owner::Denied;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

/// The arguments of `gridmark health`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first line is the answer, and the lines below it say why. The service is asked at the address
that it has written into its state folder, or, for somebody who may not look there, at http.listen,
if that is set.

Exit code: 0 if it is well, 1 if not or if it does not answer, 2 if the command was typed wrongly.")]
pub struct Args {
    /// Ask whether it is alive (/livez), not whether it takes files (/readyz)
    #[arg(long)]
    live: bool,
    /// Ask whoever listens at this address
    #[arg(long, value_name = "ADDR", value_parser = typed_address,
        conflicts_with_all = ["root", "config"])]
    at: Option<SocketAddr>,
    #[command(flatten)]
    whose: Whose,
}

/// Asks, and tells the answer.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let (path, well, ill) =
        if args.live { ("/livez", "alive", "stuck") } else { ("/readyz", "ready", "not ready") };
    let asked = match args.at {
        Some(address) => ask(address, path),
        None => address(&args.whose)?.and_then(|address| ask(address, path)),
    };
    let (code, first, reasons) = match asked {
        Ok(Answer { status: 200, .. }) => (ExitCode::SUCCESS, well, String::new()),
        Ok(Answer { body, .. }) => (ExitCode::FAILURE, ill, body),
        Err(why) => (ExitCode::FAILURE, "no answer", why),
    };
    let mut text = format!("{first}\n");
    for reason in reasons.lines() {
        text.push_str(&format!("  {}\n", escape::line(&reason)));
    }
    io::stdout().write_all(text.as_bytes()).map_err(Error::Output)?;
    Ok(code)
}

/// Where that service says that it listens, or why that is not known.
fn address(whose: &Whose) -> Result<Result<SocketAddr, String>, Error> {
    let loaded = whose.loaded()?;
    let paths = &loaded.settings.paths;
    let root = escape::path(&paths.root);
    let lock = paths.lock();
    let holder = match Holder::now(&lock) {
        Ok(Some(holder)) => holder,
        Ok(None) => return Ok(Err(format!("no service runs at {root}"))),
        Err(error) => {
            let listen = loaded.settings.http.listen;
            return Ok(match Denied::of(&lock) {
                // Whoever sets it says that it is this service's.
                Some(_) if *loaded.origin("http.listen") != Origin::Default => Ok(listen),
                Some(denied) => Err(format!(
                    "it cannot be told which service is this root's: {denied}\n{}, or ask whoever \
                     listens at an address: `gridmark health --at {listen}`",
                    denied.remedy("gridmark health ...")
                )),
                None => Err(format!("cannot read {}: {error}", escape::path(&lock))),
            });
        }
    };
    let process = holder.process;
    Ok(holder.address.ok_or_else(|| format!("process {process} serves no address yet")))
}

/// What is answered there, if it is what gridmark answers.
fn ask(address: SocketAddr, path: &str) -> Result<Answer, String> {
    match http::ask(address, path) {
        Ok(answer @ Answer { status: 200 | 503, .. }) => Ok(answer),
        Ok(Answer { status, .. }) => {
            Err(format!("{address}: it answers {status}, as gridmark does not"))
        }
        Err(error) => Err(format!("{address}: {error}")),
    }
}
