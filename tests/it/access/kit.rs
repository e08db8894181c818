//! What the ledger of a sandbox says about who may what.

use crate::kit::{Outcome, Sandbox};
use gridmark::access::{Access, Asking, Denied};
use gridmark::config;
use gridmark::store::ledger::Ledger;
use jiff::Timestamp;
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// Who may what by the ledger of a sandbox in which no service runs.
pub fn access(sandbox: &Sandbox) -> Access {
    let ledger = Ledger::open(&sandbox.path("state/ledger.db")).unwrap();
    Access::new(&config::Settings::default(), Arc::new(ledger))
}

/// Somebody on this machine asks now.
pub fn asking() -> Asking {
    Asking {
        from: Ipv4Addr::LOCALHOST.into(),
        wall_ms: Timestamp::now().as_millisecond(),
        steady: Instant::now(),
    }
}

/// The name of the judge who has this code, which is used up.
pub fn exchanged(sandbox: &Sandbox, code: &str) -> Result<String, Denied> {
    let access = access(sandbox);
    let (token, judge) = access.exchange(code, &asking())?;
    let by_token = access.judge(&token.to_string(), asking().wall_ms)?;
    assert_eq!(by_token.as_ref(), Some(&judge));
    Ok(judge.name)
}

/// Runs a command on the root of a sandbox, with this on its standard input.
pub fn run_with_input(sandbox: &Sandbox, args: &[&str], input: &str) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    command.args(args).arg("--root").arg(sandbox.path(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { code: ended.status.code(), stdout: text(ended.stdout), stderr: text(ended.stderr) }
}

/// The actions of all rulings, with who decided them and the value.
pub fn rulings(sandbox: &Sandbox) -> Vec<String> {
    let ledger = sandbox.ledger();
    let rulings = "SELECT action || '|' || decided_by || '|' || role || '|' || via || '|' ||
         coalesce(value, '') || '|' || reason FROM rulings ORDER BY number";
    let mut query = ledger.prepare(rulings).unwrap();
    let rows = query.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

/// Makes sure that none of these texts is in a file of the state folder.
#[track_caller]
pub fn assert_nowhere(sandbox: &Sandbox, secrets: &[&str]) {
    let mut files = 0;
    for entry in std::fs::read_dir(sandbox.path("state")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        files += 1;
        for secret in secrets {
            let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!is_there, "{} holds {secret}", path.display());
        }
    }
    assert!(files > 0);
}
