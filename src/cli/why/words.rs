//! The texts of the answers.

use super::fault::first_fault;
use super::service::Service;
use super::{Answer, Name, Record, Settings, Status, escape};
use crate::model::rows::{report_of, rfc_3339};
use crate::model::submission::{Entry, Finished, HandedIn, Judgement, Outcome, Tally};
use crate::model::words::{counted, times};
use crate::service::http::{ClaimState, InboxStatus, WhyAnswer};
use crate::store::ledger::Ledger;
use crate::store::path::is_missing;
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use std::path::Path;
use std::time::Duration;

/// Builds answers under these settings.
pub(super) struct Words<'a> {
    pub(super) settings: &'a Settings,
    pub(super) ledger: Option<&'a Ledger>,
}

impl Words<'_> {
    /// The answer about a file in the inbox.
    pub(super) fn waiting(
        &self,
        name: &Name,
        bytes: u64,
        unchanged_for: Duration,
        service: &Service,
    ) -> Answer {
        let intake = &self.settings.intake;
        let ago = seconds(unchanged_for);
        let mut answer = match service {
            Service::Answers(answer) => Answer::not_graded(self.waiting_by(name, answer)),
            Service::Stopped => Answer::not_graded(format!(
                "{name}: waits in the inbox, because the service does not run"
            )),
            Service::Silent(_) | Service::Unknown(_) => {
                let settle = Duration::from_millis(intake.settle_ms);
                let first = match settle.checked_sub(unchanged_for) {
                    Some(left) if !left.is_zero() => format!(
                        "{name}: not settled yet, for another {}; it changed {ago} ago, and \
                         intake.settle_ms is {}",
                        seconds(left),
                        intake.settle_ms
                    ),
                    _ => format!("{name}: waits in the inbox"),
                };
                Answer::not_graded(first)
            }
        };
        answer.add(format!("in the inbox: {}, changed {ago} ago", counted(bytes, "byte")));
        add_service(&mut answer, service);
        answer
    }

    /// The answer about a file in the inbox, from the answer of the running service.
    fn waiting_by(&self, name: &Name, answer: &WhyAnswer) -> String {
        match &answer.inbox {
            Some(InboxStatus { failures: failures @ 1.., left_ms, why: Some(why), .. }) => format!(
                "{name}: could not be taken, {}: {}; next try in {}",
                times(*failures),
                escape::line(why),
                seconds(Duration::from_millis(*left_ms))
            ),
            Some(InboxStatus { left_ms: left_ms @ 1.., waits_for, .. }) => {
                let intake = &self.settings.intake;
                if waits_for == "open" {
                    return format!(
                        "{name}: a program has it open for writing; it is taken once it is closed, or \
                         unchanged for intake.open_settle_ms, which is {}",
                        intake.open_settle_ms
                    );
                }
                let (ms, since) = if waits_for == "open_settle_ms" {
                    let since = "a program may still be writing to it";
                    (intake.open_settle_ms, since)
                } else {
                    (intake.settle_ms, "it changed a moment ago")
                };
                format!(
                    "{name}: not settled yet, for another {}; {since}, and intake.{waits_for} is {ms}",
                    seconds(Duration::from_millis(*left_ms))
                )
            }
            _ if !answer.not_ready.is_empty() => {
                format!("{name}: waits in the inbox, because the service is not ready")
            }
            Some(_) => format!("{name}: waits in the inbox, until there is room in the queue"),
            None => format!("{name}: waits in the inbox for the next scan"),
        }
    }

    /// The answer about a submission that was taken and is not graded yet.
    pub(super) fn taken(&self, record: &Record, service: &Service) -> Answer {
        let (name, attempt) = (&record.claimed.name, record.claimed.attempt);
        let state = match service {
            Service::Answers(answer) => match answer.claims.get(&record.claimed.id) {
                Some(ClaimState::Queued) => "it waits in the queue".to_owned(),
                Some(ClaimState::RetryLater { left_ms }) => {
                    let left = Duration::from_millis(*left_ms);
                    format!("it could not be graded yet; the next try is in {}", seconds(left))
                }
                Some(ClaimState::InFlight) => {
                    "it is being graded, or its marks are being written".into()
                }
                None => "it is being moved between inbox and archive".to_owned(),
            },
            Service::Stopped => {
                "the service does not run, and will grade it when it starts".to_owned()
            }
            Service::Silent(_) | Service::Unknown(_) => "it is not graded yet".to_owned(),
        };
        let mut answer = Answer::not_graded(format!("{name}: taken as attempt {attempt}; {state}"));
        add_service(&mut answer, service);
        answer
    }

    /// The answer about a submission that is graded or failed.
    pub(super) fn finished(&self, record: &Record, done: &Finished) -> Answer {
        let (name, attempt) = (&record.claimed.name, record.claimed.attempt);
        match done.status {
            Status::Graded | Status::Unreadable => {
                let mut first = format!("{name}: graded as attempt {attempt}: ");
                first.push_str(&match done.status {
                    Status::Unreadable => "nothing could be read".to_owned(),
                    _ => marks(&done.tally),
                });
                let ledger = self.ledger;
                if let Some(fault) =
                    ledger.and_then(|ledger| first_fault(self.settings, ledger, record, done))
                {
                    first.push_str(": ");
                    first.push_str(&fault);
                }
                let mut answer = Answer { code: 0, lines: vec![first] };
                let judged = ledger.map(|it| it.changes().of_submission(record.claimed.id));
                if let Some(Ok(judged)) = judged
                    && let Some(newest) = judged.last()
                {
                    answer.add(entry(&newest.judgement));
                }
                answer
            }
            Status::Failed => {
                let reason = done.reason.as_deref().unwrap_or("the reason is not known");
                let mut answer = Answer::not_graded(format!(
                    "{name}: gridmark failed to grade attempt {attempt}: {}",
                    escape::line(&reason)
                ));
                let place = self.quarantine_of(record);
                answer.add(match place.symlink_metadata() {
                    Ok(_) => format!(
                        "its file is in quarantine, {}; `gridmark retry` returns it to the inbox",
                        escape::path(&place)
                    ),
                    Err(_) => "its file is no longer in quarantine".to_owned(),
                });
                answer
            }
        }
    }

    fn quarantine_of(&self, record: &Record) -> std::path::PathBuf {
        self.settings.paths.quarantine().join(record.claimed.archived_as.as_path())
    }

    /// The line about one attempt.
    pub(super) fn attempt(&self, record: &Record) -> String {
        let claimed = &record.claimed;
        let attempt = claimed.attempt;
        let taken = format!(
            "handed in {}, taken {}",
            handed_in(&claimed.handed_in),
            rfc_3339(claimed.received_at_ms)
        );
        let place = self.settings.paths.archive().join(claimed.archived_as.as_path());
        let archived = escape::path(&place);
        let Some(done) = &record.finished else {
            let crashes = match claimed.crashes {
                0 => String::new(),
                crashes => format!("; the process died while grading it, {}", times(crashes)),
            };
            return format!("attempt {attempt}: {taken}{crashes}; file {archived}");
        };
        let is_gone = place.symlink_metadata().is_err_and(|error| is_missing(&error));
        let gone = if is_gone { ", which is gone" } else { "" };
        let when = rfc_3339(done.graded_at_ms);
        if done.status == Status::Failed {
            let tried = times(done.tries);
            return format!("attempt {attempt}: {taken}, failed {when}, tried {tried}");
        }
        let kind = done.kind.map_or("of no kind", Kind::word);
        let report = self.settings.paths.reports();
        let report = report.join(report_of(&claimed.name).as_path());
        format!(
            "attempt {attempt}: {taken}, {} {when}: {kind}, {}; report {}; file {archived}{gone}",
            done.status.word(),
            marks(&done.tally),
            shown(&report)
        )
    }
}

fn add_service(answer: &mut Answer, service: &Service) {
    match service {
        Service::Answers(WhyAnswer { not_ready, .. }) => {
            for reason in not_ready {
                answer.add(format!("the service is not ready: {}", escape::line(reason)));
            }
        }
        Service::Silent(why) => answer
            .add(format!("the service runs, but did not say how far it is: {}", escape::line(why))),
        Service::Stopped => {}
        Service::Unknown(why) => {
            answer.add(format!("cannot find out whether the service runs: {}", escape::line(why)))
        }
    }
}

/// When a file arrived, and why that is in doubt, if it is.
fn handed_in(HandedIn { at_ms, doubt }: &HandedIn) -> String {
    let doubt = doubt.map(|doubt| format!(" (in doubt: {})", doubt.reason()));
    rfc_3339(*at_ms) + &doubt.unwrap_or_default()
}

/// What it is at the event: whose entry, or why it waits for staff.
fn entry(judgement: &Judgement) -> String {
    let whose = match &judgement.entry {
        Some(Entry { entrant, round, puzzle }) => {
            format!("the entry of {} for {round}/{puzzle}", escape::line(entrant))
        }
        None => "nobody's entry".to_owned(),
    };
    match &judgement.outcome {
        Outcome::Held { why, nearest } => {
            let nearest =
                nearest.as_deref().map_or_else(String::new, |it| format!(" (nearest: {it})"));
            format!("{whose}; held for staff: {}{}", escape::line(why), escape::line(&nearest))
        }
        Outcome::Dismissed => format!("{whose}; staff have dismissed it"),
        Outcome::Marked(marked) => format!("{whose}: {}", marked.verdict()),
    }
}

/// Counts by verdict: `3 correct, 1 wrong`.
fn marks(tally: &Tally) -> String {
    let counts = Verdict::ALL.into_iter().filter(|verdict| tally.of(*verdict) > 0);
    let counts = counts.map(|verdict| format!("{} {}", tally.of(verdict), verdict.word()));
    let counts = counts.collect::<Vec<_>>();
    if counts.is_empty() { "no cases".to_owned() } else { counts.join(", ") }
}

fn shown(path: &Path) -> String {
    escape::path(path).to_string()
}

/// A time in seconds for people.
fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} s", time.as_secs())
    }
}
