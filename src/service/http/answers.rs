//! The answers of `/why` and `/reloads`: JSON, written by the service and read by the commands that
//! ask it.
//!
//! Each answer names the process that gave it, so that a command can compare it with the process that
//! holds the lock of the root.

use crate::config::Changes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The answer of `/why`: what the service knows about a submission that is not graded yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyAnswer {
    /// The id of the service's process.
    pub process: u32,
    /// Why the service takes no files; empty if it takes them.
    pub not_ready: Vec<String>,
    /// The status of the file in the inbox, if intake knows it and answered in time.
    pub inbox: Option<InboxStatus>,
    /// The state of each claim in question that the queue holds, by its id in the ledger.
    pub claims: BTreeMap<i64, ClaimState>,
}

/// The status of a file that waits in the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxStatus {
    /// What it waits for: the setting with the time, or `open` if a process has it open for writing,
    /// or `retry` after a failure.
    pub waits_for: String,
    /// How much longer it waits at least, in milliseconds; 0 if it is ready.
    pub left_ms: u64,
    /// How often it could not be taken.
    pub failures: u32,
    /// Why it could not be taken the last time, if that is still so.
    pub why: Option<String>,
}

/// The state of a claim that is not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ClaimState {
    /// It waits in the queue.
    Queued,
    /// Grading it failed.
    RetryLater {
        /// The time until the next try, in milliseconds.
        left_ms: u64,
    },
    /// It is being graded, or its results wait for their commit.
    InFlight,
}

/// The answer of `/reloads`: how the service reads its settings, and the result of the last reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadsAnswer {
    /// The id of the service's process.
    pub process: u32,
    /// The absolute path of the settings file, if there is one.
    #[serde(with = "printable")]
    pub file: Option<PathBuf>,
    /// How often the settings were reloaded since the start.
    pub reloads: u64,
    /// What the last reload changed, or why its settings were refused; nothing before the first.
    pub last: Option<Result<Changes, String>>,
    /// What became of the event folder with it, or everything that is wrong with the folder; nothing without an
    /// event.
    pub event: Option<Result<String, String>>,
}

/// Paths that need not be UTF-8, escaped as people read them.
mod printable {
    use crate::model::escape;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::path::PathBuf;

    pub(super) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(|path| escape::path(path).to_string()).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let shown = Option::<String>::deserialize(from)?;
        shown
            .map(|shown| {
                let bytes = escape::bytes_of(&shown);
                let bytes = bytes.ok_or_else(|| D::Error::custom("a path with a wrong escape"))?;
                Ok(PathBuf::from(OsString::from_vec(bytes)))
            })
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Change;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn an_answer_about_a_submission_survives_json() {
        let answer = WhyAnswer {
            process: 7,
            not_ready: vec!["the disk is full".into()],
            inbox: Some(InboxStatus {
                waits_for: "settle_ms".into(),
                left_ms: 150,
                failures: 2,
                why: Some("a reason".into()),
            }),
            claims: BTreeMap::from([
                (3, ClaimState::RetryLater { left_ms: 9 }),
                (4, ClaimState::InFlight),
                (5, ClaimState::Queued),
            ]),
        };
        let json = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<WhyAnswer>(&json).unwrap(), answer, "{json}");
    }

    #[test]
    fn an_answer_about_reloads_survives_json_whatever_bytes_the_path_has() {
        let change = Change { key: "a.b".into(), before: "1".into(), after: "\"2\"".into() };
        let changes = Changes { applied: vec![change.clone()], held: vec![change] };
        let file = PathBuf::from(OsStr::from_bytes(b"/etc/\xff\\.toml"));
        for (file, last) in [
            (None, None),
            (Some(file.clone()), Some(Ok(changes))),
            (Some(file), Some(Err("line 1\nline 2".to_owned()))),
        ] {
            let answer = ReloadsAnswer { process: 7, file, reloads: 3, last, event: None };
            let json = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<ReloadsAnswer>(&json).unwrap(), answer, "{json}");
        }
        let wrong = r#"{"process":7,"file":"/etc/\\q","reloads":0,"last":null}"#;
        assert!(serde_json::from_str::<ReloadsAnswer>(wrong).is_err());
    }
}
