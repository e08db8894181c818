//! The service that may run here, and the address for metrics and health.

use super::finding::Finding;
use super::folders::Folders;
use crate::config::Settings;
use crate::service::http::{self, ReloadsAnswer};
use crate::store::lock::{Holder, is_held};
use crate::store::owner::Denied;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

/// Whether a service works on this root, and what it says; beside it, where it listens.
pub(super) fn service(settings: &Settings) -> (Finding, Option<SocketAddr>) {
    let lock = settings.paths.lock();
    let holder = match Holder::now(&lock) {
        Ok(Some(holder)) => holder,
        Ok(None) => return (Finding::ok("service", "none runs here"), None),
        Err(error) => {
            let why = match Denied::of(&lock) {
                Some(denied) => denied.to_string(),
                None => format!("its lock: {error}"),
            };
            let what = format!("whether one runs here cannot be told: {why}");
            return (Finding::note("service", what), None);
        }
    };
    let process = holder.process;
    let is_sure = is_held(&lock, process).is_some();
    let Some(address) = holder.address else {
        let what = format!("process {process} works on this root, and serves no address");
        return (Finding::note("service", what), None);
    };
    let finding = match http::ask(address, "/readyz") {
        Ok(answer) if answer.status == 200 => {
            let what = format!("process {process} works on this root, and is ready ({address})");
            Finding::ok("service", what)
        }
        Ok(answer) => {
            let reasons = answer.body.lines().collect::<Vec<_>>().join("; ");
            let what = format!("process {process} works on this root, and is not ready: {reasons}");
            Finding::fail("service", what, "its log says more: journalctl -u gridmark")
        }
        Err(_) if !is_sure => return (Finding::ok("service", "none answers here"), None),
        Err(error) => {
            let what =
                format!("process {process} works on this root, and does not answer: {error}");
            let remedy = "its log says more: journalctl -u gridmark; restarting it is always safe";
            Finding::fail("service", what, remedy)
        }
    };
    (finding, Some(address))
}

/// Whether the address is to be had; `ours` is where the service that runs here listens.
pub(super) fn address(
    settings: &Settings,
    ours: Option<SocketAddr>,
    folders: &Folders,
) -> Vec<Finding> {
    let address = settings.http.listen;
    let port = address.port();
    let mut findings = vec![match TcpListener::bind(address) {
        Ok(_) => Finding::ok("address", format!("{address} is free for metrics and health")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            if ours.is_some_and(|ours| ours.port() == port) {
                Finding::ok("address", format!("{address} is the service's that runs here"))
            } else {
                taken(address, folders)
            }
        }
        Err(error) => {
            let what = format!("{address} is not to be had: {error}");
            let remedy = match error.kind() {
                ErrorKind::PermissionDenied => "set http.listen to a port from 1024 up",
                ErrorKind::AddrNotAvailable => {
                    "set http.listen to an address of this machine: ip -brief address"
                }
                _ => "set http.listen to another address",
            };
            Finding::fail("address", what, remedy)
        }
    }];
    if !address.ip().is_loopback() {
        let what = format!(
            "{address} is more than this machine: whoever reaches it may read metrics and health, \
             which have no password"
        );
        findings.push(Finding::note("address", what));
    }
    findings
}

/// The finding about an address at which somebody listens who is not known to be ours.
fn taken(address: SocketAddr, folders: &Folders) -> Finding {
    let answer = http::ask_json::<ReloadsAnswer>(address, "/reloads");
    let process = answer.ok().map(|answer| answer.process);
    let remedy = format!("ss -ltnp 'sport = :{}' shows it; or set http.listen", address.port());
    match process {
        Some(process) if folders.denied.is_some() => {
            let what = format!(
                "{address} is taken: gridmark, process {process}, listens there; whether that is the \
                 service of this root cannot be told by this user"
            );
            Finding::note("address", what)
        }
        Some(process) => {
            let what = format!(
                "{address} is taken: another gridmark, process {process}, listens there for another \
                 root"
            );
            Finding::fail("address", what, remedy)
        }
        None => Finding::fail("address", format!("{address} is taken by another program"), remedy),
    }
}
