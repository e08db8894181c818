//! What commands ask of a running service, and its answers: one JSON document each.

use super::{Cards, Invited, Jury, Preview, Refused, What};
use crate::access::Typed;
use crate::model::escape::with_causes;
use crate::model::ruling::{Draft, Ruling};
use serde::{Deserialize, Serialize};

/// Something to decide.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Record rulings, all or none.
    Rule(Vec<Draft>),
    /// Say what judging again would change.
    Preview(What),
    /// Judge again, as the draft decides it.
    Regrade(What, Box<Draft>),
    /// Let somebody of this name judge until this time.
    AddJudge(String, String, Box<Draft>),
    /// Let nobody of this name judge any more.
    RevokeJudge(String, Box<Draft>),
    /// Replace the director's passphrase.
    SetPassphrase(Typed, Box<Draft>),
    /// Replace the cards of these entrants, or of all if none is named.
    PrintCards(Vec<String>, Box<Draft>),
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Rulings have these numbers.
    Ruled(Vec<i64>),
    /// This would change.
    Preview(Preview),
    /// The ruling with this number has changed this.
    Regraded(i64, Preview),
    /// Somebody may judge.
    Invited(Invited),
    /// These cards are in force.
    Cards(Cards),
    /// It was not done, and why.
    Refused(String),
}

impl Jury {
    /// Answers a request.
    pub fn answer(&self, request: Request, now_ms: i64) -> Answer {
        let one = |ruling: Ruling| Answer::Ruled(vec![ruling.number]);
        let answered = match request {
            Request::Rule(drafts) => self
                .rule(drafts, now_ms)
                .map(|rulings| Answer::Ruled(rulings.iter().map(|ruling| ruling.number).collect())),
            Request::Preview(what) => self.preview(&what, now_ms).map(Answer::Preview),
            Request::Regrade(what, draft) => self
                .regrade(&what, *draft, now_ms)
                .map(|(ruling, preview)| Answer::Regraded(ruling.number, preview)),
            Request::AddJudge(name, until, draft) => {
                self.add_judge(&name, &until, *draft, now_ms).map(Answer::Invited)
            }
            Request::RevokeJudge(name, draft) => self.revoke_judge(&name, *draft, now_ms).map(one),
            Request::SetPassphrase(passphrase, draft) => {
                self.set_passphrase(&passphrase, *draft, now_ms).map(one)
            }
            Request::PrintCards(entrants, draft) => {
                self.print_cards(&entrants, *draft, now_ms).map(Answer::Cards)
            }
        };
        answered.unwrap_or_else(|refused| {
            Answer::Refused(match refused {
                Refused::Folder(problems) => {
                    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                    format!("the event folder is wrong:\n{}", problems.join("\n"))
                }
                other => with_causes(&other),
            })
        })
    }
}
