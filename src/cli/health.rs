//! `gridmark health`: asks the service over HTTP whether it is ready or alive.

use super::Error;
use super::config::address as typed_address;
use super::target::ServiceArgs;
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
The first line is the answer; the lines below it say why. The address is the one that the service
has written into its state folder or, for users who may not read that, http.listen if it is set.

Exit code: 0 if it is ready (or alive), 1 if not or if it does not answer, 2 for a usage error.")]
pub struct Args {
    /// Ask whether it is alive (/livez) instead of whether it takes files (/readyz)
    #[arg(long)]
    live: bool,
    /// Ask at this address
    #[arg(long, value_name = "ADDR", value_parser = typed_address,
        conflicts_with_all = ["root", "config"])]
    at: Option<SocketAddr>,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Asks and prints the answer.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let (path, good, bad) =
        if args.live { ("/livez", "alive", "stuck") } else { ("/readyz", "ready", "not ready") };
    let response = match args.at {
        Some(address) => ask(address, path),
        None => address(&args.service)?.and_then(|address| ask(address, path)),
    };
    let (code, first, reasons) = match response {
        Ok(Answer { status: 200, .. }) => (ExitCode::SUCCESS, good, String::new()),
        Ok(Answer { body, .. }) => (ExitCode::FAILURE, bad, body),
        Err(why) => (ExitCode::FAILURE, "no answer", why),
    };
    let mut text = format!("{first}\n");
    for reason in reasons.lines() {
        text.push_str(&format!("  {}\n", escape::line(&reason)));
    }
    io::stdout().write_all(text.as_bytes()).map_err(Error::Output)?;
    Ok(code)
}

/// The address that the service has written down, or why it is not known.
fn address(service: &ServiceArgs) -> Result<Result<SocketAddr, String>, Error> {
    let loaded = service.loaded()?;
    let paths = &loaded.settings.paths;
    let root = escape::path(&paths.root);
    let lock = paths.lock();
    let holder = match Holder::now(&lock) {
        Ok(Some(holder)) => holder,
        Ok(None) => return Ok(Err(format!("no service runs at {root}"))),
        Err(error) => {
            let listen = loaded.settings.http.listen;
            return Ok(match Denied::of(&lock) {
                // An explicit setting says that the address is this service's.
                Some(_) if *loaded.origin("http.listen") != Origin::Default => Ok(listen),
                Some(denied) => Err(format!(
                    "the service of this root cannot be identified: {denied}\n{}, or ask at an address: \
                     `gridmark health --at {listen}`",
                    denied.remedy("gridmark health ...")
                )),
                None => Err(format!("cannot read {}: {error}", escape::path(&lock))),
            });
        }
    };
    let process = holder.process;
    Ok(holder.address.ok_or_else(|| format!("process {process} serves no address yet")))
}

/// The answer at this address, if it is one that gridmark gives.
fn ask(address: SocketAddr, path: &str) -> Result<Answer, String> {
    match http::ask(address, path) {
        Ok(answer @ Answer { status: 200 | 503, .. }) => Ok(answer),
        Ok(Answer { status, .. }) => {
            Err(format!("{address}: the answer has status {status}, which gridmark does not give"))
        }
        Err(error) => Err(format!("{address}: {error}")),
    }
}
