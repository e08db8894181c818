//! Who is let in, and who is not.

use super::labels::{CodeRefusal, HandInResult, Secret};
use super::repeats::is_news;
use crate::model::escape;
use crate::model::submission::Name;
use crate::telemetry::metric;
use std::fmt::Display;
use std::net::IpAddr;
use tracing::{debug, info, warn};

const TARGET: &str = "gridmark::access";

/// A judge has used their code.
pub fn judge_signed_in(judge: &str) {
    info!(target: TARGET, judge = %escape::line(&judge), "a judge has signed in");
}

/// A code or passphrase is refused; nothing of it is logged.
pub fn code_refused(secret: Secret, why: CodeRefusal, from: IpAddr) {
    metric::CODES_REFUSED.add_for([secret.word(), why.word()], 1);
    // Somebody who tries many codes may have many addresses.
    if is_news("code_refused", &secret.word(), &why.word()) {
        let secret = secret.word();
        match why {
            CodeRefusal::Wrong => warn!(target: TARGET, secret, %from, "a wrong code was given"),
            CodeRefusal::Slowed => warn!(target: TARGET, secret, %from,
                "too many wrong codes were given: more have to wait, right ones too"),
        }
    }
}

/// A file that was handed in on the page is in the inbox.
pub fn hand_in_received(name: &Name, bytes: u64) {
    metric::HAND_INS.add_for([HandInResult::Received.word()], 1);
    debug!(target: TARGET, %name, bytes, "a file was handed in");
}

/// A file was not handed in; the one who did it is answered so.
pub fn hand_in_refused(name: &Name, result: HandInResult, why: &dyn Display) {
    metric::HAND_INS.add_for([result.word()], 1);
    if is_news("hand_in", &result.word(), why) {
        warn!(target: TARGET, %name, why = %escape::line(why), "a file was not handed in");
    }
}

/// Files that were being handed in when the service ended were removed by a start.
pub fn hand_ins_removed(files: u64) {
    metric::HAND_INS.add_for([HandInResult::BrokenOff.word()], files);
    warn!(target: TARGET, files,
        "files were being handed in when the service ended: what there was of them is removed");
}

/// What there was of files that were being handed in cannot be removed. They are hidden, and never graded.
pub fn hand_ins_left(why: &dyn Display) {
    metric::HAND_INS.add_for([HandInResult::Failed.word()], 1);
    warn!(target: TARGET, why = %escape::line(why),
        "hidden files of broken hand-ins stay in the inbox, since it cannot be changed");
}
