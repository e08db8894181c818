//! A limit on the size of files (`ulimit -f`): a write beyond it fails with a message.

use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use std::fs;

/// A mebibyte, in the blocks in which a shell counts.
const BLOCKS_MAX: u64 = 2_048;

/// So many unreadable cases have more rows than that.
const CASES: usize = 12_000;

fn large_report() -> String {
    "x\n\n".repeat(CASES)
}

/// Promise P1.
#[test]
fn a_report_at_the_file_size_limit_is_reported_and_continues_once_it_may_grow() {
    let mut sandbox = Sandbox::new();
    sandbox.bound_files(BLOCKS_MAX).set("publish.retry_ms_max", 1).start();
    sandbox.write("inbox/team/p.hexudoku", large_report());
    sandbox.wait_until("it is unwell", |sandbox| {
        let ready = sandbox.service().get("/readyz");
        ready.starts_with("HTTP/1.1 503") && ready.contains("(File too large)")
    });
    // However often it is tried.
    sandbox.wait_until("it is tried often", |sandbox| {
        sandbox.service().metrics().of("gridmark_commit_errors_total") > 100.0
    });
    let ended = sandbox.terminate();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    sandbox.lift_bounds().start();
    sandbox.wait_for(1);
    assert_eq!(sandbox.rows("folders/team.csv").len(), CASES);
}

#[test]
fn once_ends_with_a_message_where_a_report_may_not_grow() {
    let mut sandbox = Sandbox::new();
    sandbox.write("inbox/team/p.hexudoku", large_report());
    let output = sandbox.bound_files(BLOCKS_MAX).set("publish.retry_ms_max", 1).once();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("(File too large)"), "{errors}");
}

#[test]
fn commands_that_write_files_report_the_file_size_limit() {
    let mut sandbox = Sandbox::new();
    sandbox.write("inbox/team/p.hexudoku", large_report());
    sandbox.write("inbox/team/q", hexudoku(1));
    assert_eq!(sandbox.once().status.code(), Some(0));
    let report = sandbox.path("reports/folders/team.csv");
    let whole = fs::read(&report).unwrap();
    fs::write(&report, "").unwrap();
    sandbox.bound_files(BLOCKS_MAX);
    let outcome = sandbox.run("verify", &["--repair"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("File too large"), "{outcome:?}");
    let outcome = sandbox.lift_bounds().run("verify", &["--repair"]);
    assert_eq!(fs::read(&report).unwrap(), whole, "{outcome:?}");
    let outcome = sandbox.bound_files(BLOCKS_MAX).run("backup", &["copy"]);
    assert!(outcome.code == Some(2) && outcome.stderr.contains("File too large"), "{outcome:?}");

    // These know no root.
    let limit = format!("ulimit -f {BLOCKS_MAX} && exec \"$0\" \"$@\"");
    let file = sandbox.path("archive/team/p.hexudoku");
    let folder = sandbox.path("");
    for (code, args) in [
        (2, vec!["grade", "--csv", "rows.csv", file.to_str().unwrap()]),
        (1, vec!["generate", "killer", "--cases", "3000", "--files", "1", "--into", "work"]),
    ] {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &limit, env!("CARGO_BIN_EXE_gridmark")]).args(&args);
        let output = shell.current_dir(&folder).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
        assert!(errors.contains("File too large"), "{args:?}: {errors}");
    }
}
