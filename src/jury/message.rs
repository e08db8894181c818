//! What commands ask of a running service, and its answers: one JSON document each.

use super::{Jury, Preview, Refused, What};
use crate::model::escape::with_causes;
use crate::model::ruling::Draft;
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
    /// It was not done, and why.
    Refused(String),
}

impl Jury {
    /// Answers a request.
    pub fn answer(&self, request: Request, now_ms: i64) -> Answer {
        let answered = match request {
            Request::Rule(drafts) => self
                .rule(drafts, now_ms)
                .map(|rulings| Answer::Ruled(rulings.iter().map(|ruling| ruling.number).collect())),
            Request::Preview(what) => self.preview(&what, now_ms).map(Answer::Preview),
            Request::Regrade(what, draft) => self
                .regrade(&what, *draft, now_ms)
                .map(|(ruling, preview)| Answer::Regraded(ruling.number, preview)),
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
