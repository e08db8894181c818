//! The commands that read and write sudoku, as processes.

mod fill;
mod generate;
mod grade;
mod judge;
mod names;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

/// A command that takes longer has hung.
const HANGS: Duration = Duration::from_secs(120);

/// What a command printed, and how it ended.
#[derive(Debug)]
struct Done {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

/// Runs gridmark in `folder` with `input` on standard input.
fn gridmark<S: AsRef<OsStr>>(folder: &Path, arguments: &[S], input: impl Into<Vec<u8>>) -> Done {
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_gridmark"))
        .current_dir(folder)
        .args(arguments)
        .write_stdin(input)
        .timeout(HANGS)
        .output();
    let Output { stdout, stderr, status } = output.expect("gridmark runs");
    Done {
        stdout: String::from_utf8(stdout).expect("UTF-8 on standard output"),
        stderr: String::from_utf8(stderr).expect("UTF-8 on standard error"),
        code: status.code(),
    }
}

/// A folder that is gone after the test.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A board of `rows`, the others blank.
fn board(rows: &[&str]) -> String {
    let blank = ["----------------"; 16];
    rows.iter().chain(&blank[rows.len()..]).map(|row| format!("{row}\n")).collect()
}

/// A right solution.
const SOLUTION: &str = "\
123456789
456789123
789123456
234567891
567891234
891234567
345678912
678912345
912345678
";

/// A puzzle that [`SOLUTION`] solves.
const PUZZLE: &str = "\
1********
**6******
.........
000000000
****9****
*********
*********
*********
9*******8
";

/// A right diagram with a cage for each row.
fn diagram() -> String {
    let border = "+---+---+---+---+---+---+---+---+---+\n";
    let row = |row: &str| {
        let cells = row.chars().map(|digit| format!(" {digit} ")).collect::<Vec<_>>();
        format!("|{}|\n{border}", cells.join(" "))
    };
    let rows = SOLUTION.lines().map(row).collect::<String>();
    let totals = (1..=9).map(|row| format!("{row} {row} 45\n")).collect::<String>();
    format!("{border}{rows}{totals}")
}
