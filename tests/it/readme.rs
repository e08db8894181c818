//! What README.md says is so.

use gridmark::telemetry::metric::METRICS;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text between a heading and the next one of the same rank.
fn section<'a>(readme: &'a str, heading: &str) -> &'a str {
    let start = readme.find(&format!("\n{heading}\n")).expect(heading) + heading.len() + 2;
    let rank = heading.split(' ').next().expect("a rank");
    let end = readme[start..].find(&format!("\n{rank} ")).map_or(readme.len(), |end| start + end);
    &readme[start..end]
}

/// The fenced blocks of this language.
fn blocks<'a>(text: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    text.split("\n```").filter_map(move |part| part.strip_prefix(language)?.strip_prefix('\n'))
}

/// The text of the first fenced block of this language in which `word` stands.
pub fn block<'a>(text: &'a str, language: &str, word: &str) -> &'a str {
    blocks(text, language).find(|block| block.contains(word)).expect(word)
}

/// Runs `commands` in `folder`, where `gridmark` is the program as it is built now.
fn run(folder: &Path, commands: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_gridmark")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(program.to_owned()).chain(std::env::split_paths(&path));
    Command::new("sh")
        .args(["-c", commands])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(path).expect("a PATH"))
        .stdin(Stdio::null())
        .output()
        .expect("a shell")
}

/// What stands between backticks, outside of fenced blocks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// All `"..."` in a source file.
fn literals(source: &str) -> impl Iterator<Item = &str> {
    source.lines().flat_map(|line| line.split('"').skip(1).step_by(2))
}

#[test]
fn the_first_drop_gives_the_rows_that_are_shown() {
    let readme = read("README.md");
    let drop = section(&readme, "## The first drop");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("inbox")).unwrap();
    let made = block(drop, "sh", "mkdir team-07");
    let serve = "GRIDMARK_PUBLISH_DISK_FREE_BYTES_MIN=0 gridmark serve --once";
    let ran = run(folder.path(), &format!("set -e\n{made}\n{serve}"));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "4 submissions graded, 6 cases\n", "{ran:?}");

    let report = |name: &str| fs::read_to_string(folder.path().join("reports").join(name)).unwrap();
    // Submissions come in any order, and times differ from run to run.
    let rows = |text: &str, times: &[usize]| {
        let mut rows = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let row = |row: csv::StringRecord| {
            let fields = row.iter().enumerate().filter(|(i, _)| !times.contains(i));
            fields.map(|(_, field)| field.to_owned()).collect::<Vec<_>>()
        };
        let mut rows: Vec<_> = rows.records().map(|read| row(read.unwrap())).collect();
        rows.sort();
        rows
    };
    for (name, column, times) in
        [("folders/team-07.csv", ",at,", &[][..]), ("submissions.csv", ",blake3,", &[2, 3])]
    {
        let shown = rows(block(drop, "csv", column), times);
        assert_eq!(rows(&report(name), times), shown, "{name}");
    }
}

#[test]
fn the_other_commands_print_what_is_shown() {
    let readme = read("README.md");
    let folder = tempfile::tempdir().unwrap();
    let made = block(section(&readme, "## The first drop"), "sh", "mkdir team-07");
    let made = made.lines().filter(|line| !line.starts_with("mv ")).collect::<Vec<_>>().join("\n");
    assert!(run(folder.path(), &format!("set -e\n{made}")).status.success());

    let folder = folder.path().join("team-07");
    let mut shown = 0;
    for block in blocks(section(&readme, "## Other commands"), "console") {
        for part in format!("\n{block}").split("\n$ ").skip(1) {
            let (command, wanted) = part.split_once('\n').unwrap_or((part, ""));
            let ran = run(&folder, &format!("{{ {command}\n}} 2>&1"));
            let printed = String::from_utf8(ran.stdout).unwrap();
            assert_eq!(printed.trim_end(), wanted.trim_end(), "{command}");
            shown += 1;
        }
    }
    assert!(shown >= 8, "{shown}");
}

#[test]
fn serve_tells_the_exit_codes_that_are_listed() {
    let codes = |text: &str| -> BTreeSet<u8> {
        let words = text.split(|c: char| !c.is_ascii_digit());
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let readme = read("README.md");
    let listed = readme.split("- Exit codes of `serve`").nth(1).unwrap().split("\n- ").next();
    let help = run(root(), "gridmark serve --help");
    let help = String::from_utf8(help.stdout).unwrap();
    let told = help.split("Exit code").nth(1).map(codes);
    assert_eq!(told, listed.map(codes));
    assert_eq!(told, Some(BTreeSet::from([0, 1, 2, 70, 130])));
}

#[test]
fn every_metric_is_in_the_table_and_no_other() {
    let readme = read("README.md");
    let name = |text: &str| text.split('{').next().unwrap_or_default().to_owned();
    let ours = |name: &String| name.starts_with("gridmark_");
    let told = quoted(section(&readme, "## Metrics and health")).map(name).filter(ours);
    let there = METRICS.iter().map(|metric| metric.name.to_owned());
    assert_eq!(told.collect::<BTreeSet<_>>(), there.collect::<BTreeSet<_>>());
}

#[test]
fn every_fault_code_is_told() {
    let readme = read("README.md");
    let told = quoted(section(&readme, "## How to read a mark")).collect::<BTreeSet<_>>();
    let sources = [read("src/core/board/fault.rs"), read("src/core/board/mark.rs")];
    let is_code = |text: &&str| {
        text.contains('-') && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    let codes = sources.iter().flat_map(|source| literals(source)).filter(is_code);
    let codes = codes.collect::<BTreeSet<_>>();
    assert!(codes.contains("cage-sum") && codes.contains("too-large"), "{codes:?}");
    assert_eq!(codes.difference(&told).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn every_test_that_stands_behind_a_promise_is_there() {
    let readme = read("README.md");
    let promises = section(&readme, "## Promises");
    for promise in 1..=8 {
        let row = promises.lines().find(|line| line.starts_with(&format!("| P{promise} |")));
        let tests = row.expect("a row for each promise").rsplit(" | ").next().unwrap();
        let mut source = String::new();
        let mut named = 0;
        for word in quoted(tests) {
            if word.ends_with(".rs") {
                source = read(&format!("tests/it/{word}"));
            } else {
                assert!(source.contains(&format!("fn {word}(")), "P{promise}: {word}");
                named += 1;
            }
        }
        assert!(named > 0, "P{promise} has no test");
    }
}

#[test]
fn every_file_that_is_linked_is_there() {
    let readme = read("README.md");
    let links = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let is_there = |link: &str| root().join(link.split('#').next().unwrap_or_default()).exists();
    let missing = links.filter(|link| !is_there(link)).collect::<Vec<_>>();
    assert_eq!(missing, Vec::<&str>::new());
}
