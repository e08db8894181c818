//! What the service that runs says of a submission.

use crate::config::Paths;
use crate::service::http::{self, Answer, Question};
use crate::store::lock::{Holder, is_held};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Whether the service runs, and what it says.
#[derive(Debug)]
pub(super) enum Service {
    /// It has answered.
    Answers(Told),
    /// It runs, but does not answer, for this reason.
    Silent(String),
    /// It does not run.
    Stopped,
    /// It does not answer, and the system does not say whether it runs.
    Unknown(String),
}

/// What it has answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// Why no files are taken, if none are.
    pub(super) unready: Vec<String>,
    /// What is known of the file in the inbox.
    pub(super) inbox: Option<Seen>,
    /// Where what was taken is, by number.
    pub(super) claims: BTreeMap<i64, Claim>,
}

/// What the service knows of a file in the inbox.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// The setting that says how long it has to be left alone, or `retry`, or `open` if somebody has
    /// it open for writing.
    pub(super) setting: String,
    /// How long still.
    pub(super) left: Duration,
    /// How often it could not be taken.
    pub(super) failures: u32,
}

/// Where a submission is that was taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Waits,
    TriedAgainIn(Duration),
    InFlight,
}

impl Service {
    /// Asks the service of this root.
    pub(super) fn ask(paths: &Paths, question: &Question) -> Service {
        let lock = paths.lock();
        let holder = match Holder::of(&lock) {
            Ok(Some(holder)) => holder,
            Ok(None) => return Service::Stopped,
            Err(error) => return Service::Unknown(format!("its lock cannot be read: {error}")),
        };
        let held = is_held(&lock, holder.process);
        let why = match holder.address {
            Some(address) => match answer(address, question) {
                Ok(text) => match told(&text, holder.process) {
                    Some(told) => return Service::Answers(told),
                    None => format!("something else answers at {address}"),
                },
                Err(error) => format!("{address}: {error}"),
            },
            None => "it serves no address".to_owned(),
        };
        match held {
            Some(true) => Service::Silent(why),
            Some(false) => Service::Stopped,
            None => Service::Unknown(why),
        }
    }
}

fn answer(address: SocketAddr, question: &Question) -> io::Result<String> {
    match http::ask(address, &format!("/why?{}", question.to_query()))? {
        Answer { status: 200, body } => Ok(body),
        _ => Err(io::Error::other("it does not answer as gridmark does")),
    }
}

/// What an answer says, if it is from this process.
fn told(text: &str, process: u32) -> Option<Told> {
    let mut lines = text.lines();
    let first = lines.next()?.strip_prefix("process ")?;
    if first.parse() != Ok(process) {
        return None;
    }
    let milliseconds = |word: &str| word.parse().ok().map(Duration::from_millis);
    let mut told = Told::default();
    for line in lines {
        if let Some(reason) = line.strip_prefix("unready ") {
            told.unready.push(reason.to_owned());
            continue;
        }
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["inbox", setting, left, failures] => {
                told.inbox = milliseconds(left).map(|left| Seen {
                    setting: setting.to_owned(),
                    left,
                    failures: failures.parse().unwrap_or(0),
                });
            }
            ["claim", id, "waits"] => told.claims.extend(claim(id, Claim::Waits)),
            ["claim", id, "in-flight"] => told.claims.extend(claim(id, Claim::InFlight)),
            ["claim", id, "later", left] => {
                let later = milliseconds(left).map(Claim::TriedAgainIn);
                told.claims.extend(later.and_then(|later| claim(id, later)));
            }
            _ => {}
        }
    }
    Some(told)
}

fn claim(id: &str, claim: Claim) -> Option<(i64, Claim)> {
    Some((id.parse().ok()?, claim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_word_by_word_and_what_is_not_known_is_passed_over() {
        let text = "process 7\nunready the disk is full\ninbox settle_ms 150 2\nclaim 3 later 9\n\
                    claim 4 in-flight\nclaim 5 waits\nclaim six waits\nsomething new\n";
        let seen =
            Seen { setting: "settle_ms".into(), left: Duration::from_millis(150), failures: 2 };
        let wanted = Told {
            unready: vec!["the disk is full".into()],
            inbox: Some(seen),
            claims: BTreeMap::from([
                (3, Claim::TriedAgainIn(Duration::from_millis(9))),
                (4, Claim::InFlight),
                (5, Claim::Waits),
            ]),
        };
        assert_eq!(told(text, 7), Some(wanted));
        assert_eq!(told(text, 8), None);
        assert_eq!(told("", 7), None);
    }
}
