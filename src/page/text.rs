//! All texts of the pages, so that other languages can follow.

pub(super) const TITLE: &str = "gridmark";
pub(super) const OTHER_HOST: &str =
    "this page is not known by that name: put it into page.hosts of the settings\n";
pub(super) const MISSING: &str = "There is no such page.";
pub(super) const FOR_STAFF: &str = "This page is for staff, on the machine in the scoring room.";
pub(super) const SKIP: &str = "to the content";
pub(super) const LIVE: &str = "live";
pub(super) const NO_CONTACT: &str = "no contact since ";
pub(super) const NAVIGATION: [(&str, &str); 4] = [
    ("/", "Overview"),
    ("/submissions", "Submissions"),
    ("/standings", "Standings"),
    ("/hall", "Hall"),
];
pub(super) const NO_EVENT: &str = "There is no event. Submissions are marked all the same.";
pub(super) const ROUNDS: &str = "Rounds";
pub(super) const ROUND: &str = "Round";
pub(super) const STATE: &str = "State";
pub(super) const LEFT: &str = "Left";
pub(super) const FROZEN: &str = "frozen for the public";
pub(super) const PUBLIC: &str = "Public";
pub(super) const SHOWN: &str = "shown to the public";
pub(super) const NOT_SHOWN: &str = "not shown to the public";
pub(super) const WAITING: &str = "waiting";
pub(super) const IN_FLIGHT: &str = "being graded";
pub(super) const DONE: &str = "done";
pub(super) const MISSING_ENTRIES: &str = "missing";
pub(super) const NEEDS_A_PERSON: &str = "Needs a person";
pub(super) const NOTHING_NEEDS_A_PERSON: &str = "Nothing.";
pub(super) const PROGRESS: &str = "Progress";
pub(super) const ARRIVALS: &str = "Arrivals, a minute each, in the last hour";
pub(super) const NEWEST: &str = "Newest";
pub(super) const NOT_READY: &str = "The service does not take files:";
pub(super) const SUBMISSIONS: &str = "Submissions";
pub(super) const NO_SUBMISSIONS: &str = "There are none.";
pub(super) const VERDICT: &str = "Verdict";
pub(super) const NAME: &str = "Name";
pub(super) const ATTEMPT: &str = "Attempt";
pub(super) const HANDED_IN: &str = "Handed in";
pub(super) const NAME_HOLDS: &str = "Name holds";
pub(super) const FILTER: &str = "Show";
pub(super) const OLDER: &str = "older";
pub(super) const STANDINGS: &str = "Standings";
pub(super) const EVENT: &str = "Event";
pub(super) const NOTHING_SHOWN: &str = "Nothing of this round is shown yet.";
pub(super) const RANK: &str = "Rank";
pub(super) const TOTAL: &str = "Total";
pub(super) const BONUS: &str = "Bonus";
pub(super) const PENALTY: &str = "Penalty";
pub(super) const LAST_GAIN: &str = "Last gain";
pub(super) const PAUSED: &str = "paused";
pub(super) const RAW: &str = "The file";
pub(super) const CUT_OFF: &str = "… and more, which is not shown here";
pub(super) const JUDGEMENTS: &str = "Judgements";
pub(super) const ATTEMPTS: &str = "All attempts of this name";

/// Why a page could not be made.
pub(super) fn failed(why: &str) -> String {
    format!("This page cannot be made now: {why}")
}

/// The sign and the word of a verdict: the sign is for those who do not see colours.
pub(super) fn sign(verdict: &str) -> &'static str {
    match verdict {
        "correct" => "✔",
        "wrong" => "✘",
        "unreadable" => "?",
        "failed" => "!",
        "counted" => "#",
        "held" => "■",
        _ => "…",
    }
}
