//! Checks the service that may run on this root, and the address for metrics and health.

use super::finding::Finding;
use crate::config::Settings;
use crate::model::escape::{self, with_causes};
use crate::service::{bind, http};
use crate::store::lock::{Holder, is_held};
use crate::store::owner::Denied;
use std::net::SocketAddr;

/// Asks the service that works on this root, if one does. Also returns where it listens.
pub(super) fn service(settings: &Settings) -> (Finding, Option<SocketAddr>) {
    let lock = settings.paths.lock();
    let holder = match Holder::now(&lock) {
        Ok(Some(holder)) => holder,
        Ok(None) => return (Finding::ok("service", "no service runs on this root"), None),
        Err(error) => {
            let why = match Denied::of(&lock) {
                Some(denied) => denied.to_string(),
                None => format!("{} cannot be read: {error}", escape::path(&lock)),
            };
            let what = format!("cannot determine whether a service runs on this root: {why}");
            return (Finding::note("service", what), None);
        }
    };
    let process = holder.process;
    let is_sure = is_held(&lock, process).is_some();
    let Some(address) = holder.address else {
        let what = format!(
            "process {process} works on this root; it has published no address at which to ask it"
        );
        return (Finding::note("service", what), None);
    };
    let finding = match http::ask(address, "/readyz") {
        Ok(answer) if answer.status == 200 => {
            let what = format!("process {process} works on this root and is ready ({address})");
            Finding::ok("service", what)
        }
        Ok(answer) => {
            let reasons = answer.body.lines().collect::<Vec<_>>().join("; ");
            let what = format!("process {process} works on this root and is not ready: {reasons}");
            Finding::fail("service", what, "read its log: journalctl -u gridmark")
        }
        Err(_) if !is_sure => {
            let what = format!("no service runs on this root: none answers at {address}");
            return (Finding::ok("service", what), None);
        }
        Err(error) => {
            let what = format!(
                "process {process} works on this root and does not answer at {address}: {error}"
            );
            let remedy = "read its log: journalctl -u gridmark; a restart is always safe";
            Finding::fail("service", what, remedy)
        }
    };
    (finding, Some(address))
}

/// Checks that the service can listen on its address; `ours` is where the service of this root does.
pub(super) fn address(settings: &Settings, ours: Option<SocketAddr>) -> Vec<Finding> {
    let address = settings.http.listen;
    let mut findings = vec![match bind(address) {
        Ok(_) => Finding::ok("address", format!("{address} is free for metrics and health")),
        Err(_) if ours.is_some_and(|ours| ours.port() == address.port()) => {
            Finding::ok("address", format!("{address} is used by the service of this root"))
        }
        Err(error) => {
            let remedy = "set http.listen to a free port (ss -ltnp shows what listens where) of an \
                          address of this machine (ip -brief address lists them)";
            Finding::fail("address", with_causes(&error), remedy)
        }
    }];
    if !address.ip().is_loopback() {
        let what = format!(
            "other machines can reach {address}: there anybody can read metrics and health, without \
             a password"
        );
        findings.push(Finding::note("address", what));
    }
    findings
}
