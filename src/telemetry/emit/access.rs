//! Who is let in, and who is not.

use super::labels::{CodeRefusal, Secret};
use super::repeats::is_news;
use crate::model::escape;
use crate::telemetry::metric;
use std::net::IpAddr;
use tracing::{info, warn};

const TARGET: &str = "gridmark::access";

/// A judge has used their code.
pub fn judge_signed_in(judge: &str) {
    info!(target: TARGET, judge = %escape::line(&judge), "a judge has signed in");
}

/// A code or passphrase is refused; nothing of it is logged.
pub fn code_refused(secret: Secret, why: CodeRefusal, from: IpAddr) {
    metric::CODES_REFUSED.add_for([secret.word(), why.word()], 1);
    // Whoever tries many codes may have many addresses.
    if is_news("code_refused", &secret.word(), &why.word()) {
        let secret = secret.word();
        match why {
            CodeRefusal::Wrong => warn!(target: TARGET, secret, %from, "a wrong code was given"),
            CodeRefusal::Slowed => warn!(target: TARGET, secret, %from,
                "too many wrong codes were given: more have to wait, right ones too"),
        }
    }
}
