//! What an entrant may see of an entry of their own, and when: as far as the event lets them (`[entrant]` of
//! event.toml), and no further. Everything that is for an entrant asks here.

use super::definition::{Event, Round, See, When};
use super::problem::Problem;
use super::standings::State;
use crate::model::submission::{Marked, Outcome};
use gridmark_core::puzzle::Task;
use gridmark_core::scoring::{Credit, Points, TryMark, Which};

/// What an entrant may see of an entry. That it has arrived they see in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// What became of it, in a word: `correct`, `wrong`, `unreadable`, `failed`, `held`, `dismissed`. Nothing as long
    /// as they may not see it, or nobody knows.
    pub verdict: Option<&'static str>,
    /// What is wrong with it, if something is.
    pub faults: Option<Faults>,
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The code of the first fault; empty where there is none.
    pub fault: String,
    /// Its cell; empty where there is none.
    pub at: String,
    /// How many faults there are.
    pub count: u64,
    /// All of it in words.
    pub detail: String,
}

/// How much an entrant may see of an entry in a round that has come so far.
pub fn may_see(event: &Event, state: State) -> See {
    let is_time = match event.entrants_see_when {
        When::AtOnce => true,
        When::RoundEnd => state >= State::Provisional,
        When::Official => state == State::Official,
    };
    if is_time { event.entrants_see } else { See::Receipt }
}

/// What an entrant may see of an entry with this outcome, in a round that has come so far. `ruled` is what a ruling
/// says about whether it is correct, if one does.
pub fn feedback(event: &Event, state: State, outcome: &Outcome, ruled: Option<bool>) -> Feedback {
    let see = may_see(event, state);
    if see == See::Receipt {
        return Feedback::default();
    }
    let verdict = match (outcome, ruled) {
        (Outcome::Held { .. }, _) => "held",
        (Outcome::Dismissed, _) => "dismissed",
        (Outcome::Marked(_), Some(true)) => "correct",
        (Outcome::Marked(_), Some(false)) => "wrong",
        (Outcome::Marked(marked), None) => marked.verdict(),
    };
    let faults = match outcome {
        // Where staff decide otherwise, what was found is not what counts.
        Outcome::Marked(marked) if see == See::Faults && ruled.is_none() => faults_of(marked),
        // Whose name is the nearest is nobody else's business.
        Outcome::Held { why, .. } if see == See::Faults => {
            Some(Faults { fault: String::new(), at: String::new(), count: 0, detail: why.clone() })
        }
        _ => None,
    };
    Feedback { verdict: (!verdict.is_empty()).then_some(verdict), faults }
}

fn faults_of(marked: &Marked) -> Option<Faults> {
    let Marked { mark, fault, at, faults, detail, .. } = marked;
    let detail = match mark {
        // It says which other puzzle of the event it is, whose round may not have started.
        TryMark::Foreign => "this is another puzzle",
        _ => detail,
    };
    (*faults > 0 || !fault.is_empty()).then(|| Faults {
        fault: fault.clone(),
        at: at.clone(),
        count: *faults,
        detail: detail.to_owned(),
    })
}

/// What is possible in an event, and most often a mistake.
pub fn warnings(event: &Event) -> Vec<Problem> {
    if event.entrants_see_when != When::AtOnce {
        return Vec::new();
    }
    let warning = |round: &Round| {
        let seen = match event.entrants_see {
            _ if costs(round) => return None,
            See::Faults => "what is wrong with an entry",
            See::Verdict if round.puzzles.iter().any(|it| it.puzzle.task() == Task::Larry) => {
                "whether a number is right"
            }
            See::Verdict | See::Receipt => return None,
        };
        let id = &round.id;
        Some(Problem {
            file: "event.toml".into(),
            line: None,
            message: format!(
                "entrants see {seen} at once, and in round {id} a wrong try costs nothing: they can find solutions \
                 by trying; let them see it at the round's end (when = \"round-end\"), or give the round a policy with \
                 a `wrong_penalty`"
            ),
        })
    };
    event.rounds.iter().filter_map(warning).collect()
}

/// Whether an entrant loses something by a wrong try in this round.
fn costs(round: &Round) -> bool {
    let policy = &round.policy;
    let shrinks = match &policy.credit {
        Credit::Ladder(percent) => percent.last() < percent.first(),
        _ => false,
    };
    policy.wrong_penalty > Points::ZERO || policy.which == Which::First || shrinks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Folder, read};
    use gridmark_core::scoring::Judged;

    const LINE: &str =
        "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\n";

    /// An event with these settings of entrants, and this policy.
    fn event(entrant: &str, policy: &str) -> Event {
        let header = "format = 1\nid = \"open\"\ntime_zone = \"UTC\"\n[[submissions.pattern]]\n\
             path = '(?<round>.)(?<puzzle>.)(?<entrant>.)'\n[entrant]\n";
        let round = "start = 2026-11-30T10:00:00\nduration = \"60m\"\npolicy = \"p\"\n\
             [[puzzle]]\nid = \"1\"\npoints = 10\ngivens = \"p1.sdm\"\n";
        let folder = Folder::of([
            ("event.toml".into(), format!("{header}{entrant}").into_bytes()),
            ("policies.toml".into(), format!("[p]\n{policy}").into_bytes()),
            ("entrants.csv".into(), b"id\n1\n".to_vec()),
            ("rounds/r/round.toml".into(), round.into()),
            ("rounds/r/p1.sdm".into(), LINE.into()),
        ]);
        read(&folder).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    fn marked(mark: TryMark, fault: &str, detail: &str) -> Outcome {
        let (at, faults) = if fault.is_empty() { ("", 0) } else { ("r1c1", 3) };
        Outcome::Marked(Marked {
            case: 1,
            mark,
            fault: fault.into(),
            at: at.into(),
            faults,
            detail: detail.into(),
        })
    }

    fn wrong() -> Outcome {
        marked(TryMark::Judged(Judged::default()), "row-repeat", "row 4 has 5 twice")
    }

    const STATES: [State; 3] = [State::Running, State::Provisional, State::Official];

    #[test]
    fn an_entrant_sees_as_much_and_as_soon_as_the_event_says_and_no_more() {
        // How much they see while it runs, when it is over, and when it is official.
        for (sees, when, expected) in [
            ("receipt", "at-once", [0, 0, 0]),
            ("receipt", "official", [0, 0, 0]),
            ("verdict", "at-once", [1, 1, 1]),
            ("verdict", "round-end", [0, 1, 1]),
            ("verdict", "official", [0, 0, 1]),
            ("faults", "at-once", [2, 2, 2]),
            ("faults", "round-end", [0, 2, 2]),
            ("faults", "official", [0, 0, 2]),
        ] {
            let event = event(&format!("sees = \"{sees}\"\nwhen = \"{when}\"\n"), "");
            let much = STATES.map(|state| {
                let seen = feedback(&event, state, &wrong(), None);
                match (seen.verdict, seen.faults) {
                    (None, None) => 0,
                    (Some("wrong"), None) => 1,
                    (Some("wrong"), Some(faults)) => {
                        assert_eq!((faults.count, faults.at.as_str()), (3, "r1c1"));
                        assert_eq!(faults.detail, "row 4 has 5 twice");
                        2
                    }
                    other => panic!("{other:?}"),
                }
            });
            assert_eq!(much, expected, "{sees} {when}");
        }
        // Unless it says so, they see that it has arrived.
        let silent = event("", "");
        assert!(STATES.iter().all(|state| may_see(&silent, *state) == See::Receipt));
    }

    #[test]
    fn what_is_not_the_entrants_business_is_left_out() {
        let event = event("sees = \"faults\"\nwhen = \"at-once\"\n", "");
        let see = |outcome: &Outcome, ruled| feedback(&event, State::Running, outcome, ruled);
        let held =
            Outcome::Held { why: "it holds 2 grids".into(), nearest: Some("entrant 102".into()) };
        let seen = see(&held, None);
        assert_eq!(seen.verdict, Some("held"));
        assert!(!format!("{seen:?}").contains("102"), "{seen:?}");
        let foreign =
            marked(TryMark::Foreign, "foreign-puzzle", "given is 2; it is puzzle p1 of round r9");
        let seen = see(&foreign, None);
        assert_eq!(seen.verdict, Some("wrong"));
        assert!(!format!("{seen:?}").contains("r9"), "{seen:?}");
        assert_eq!(see(&Outcome::Dismissed, None).verdict, Some("dismissed"));
        // A ruling counts, and not what was found before.
        let ruled = Feedback { verdict: Some("correct"), faults: None };
        assert_eq!(see(&wrong(), Some(true)), ruled);
        let correct = marked(TryMark::Judged(Judged::correct(51, 9)), "", "");
        assert_eq!(see(&correct, None), ruled);
        assert_eq!(see(&correct, Some(false)), Feedback { verdict: Some("wrong"), faults: None });
        assert_eq!(see(&marked(TryMark::Pending, "", ""), None), Feedback::default());
    }

    #[test]
    fn instant_faults_are_warned_about_where_trying_costs_nothing() {
        let warned = |entrant: &str, policy: &str| warnings(&event(entrant, policy)).len();
        let instant = "sees = \"faults\"\nwhen = \"at-once\"\n";
        for (policy, expected) in [
            ("", 1),
            ("which = \"best\"", 1),
            ("which = \"first\"", 0),
            ("wrong_penalty = 5", 0),
            ("credit = \"ladder\"\npercent = [100, 90, 0]", 0),
            ("credit = \"ladder\"\npercent = [100, 100]", 1),
            ("credit = \"ladder\"\npercent = [100]", 1),
        ] {
            assert_eq!(warned(instant, policy), expected, "{policy}");
        }
        for entrant in [
            "",
            "sees = \"verdict\"\nwhen = \"at-once\"\n",
            "sees = \"faults\"\nwhen = \"round-end\"\n",
            "sees = \"faults\"\nwhen = \"official\"\n",
        ] {
            assert_eq!(warned(entrant, ""), 0, "{entrant}");
        }
    }
}
