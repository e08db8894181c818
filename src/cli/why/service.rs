//! The answer of the running service about a submission.

use crate::config::Paths;
use crate::service::http::{self, Question, WhyAnswer};
use crate::store::lock::{Holder, is_held};

/// Whether the service runs, and its answer.
#[derive(Debug)]
pub(super) enum Service {
    /// It answered.
    Answers(WhyAnswer),
    /// It runs, but does not answer, for this reason.
    Silent(String),
    /// It does not run.
    Stopped,
    /// It does not answer, for this reason, and the system does not say whether it runs.
    Unknown(String),
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
        let path = format!("/why?{}", question.to_query());
        let why = match holder.address {
            Some(address) => match http::ask_json::<WhyAnswer>(address, &path) {
                Ok(answer) if answer.process == holder.process => return Service::Answers(answer),
                Ok(other) => format!("process {} answers at {address}", other.process),
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
