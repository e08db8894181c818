//! What the documents say is so: commands print what is shown, and everything that is named exists.
//!
//! Every document goes through the same checks: [`DOCUMENTS`] and all of `docs/`. Blocks marked
//! `console` are run and their output is compared; blocks marked `sh` only have to name commands and
//! options that exist; blocks marked `text` are not run.

use crate::browser::SCREENSHOTS;
use gridmark::telemetry::metric::METRICS;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The documents outside of `docs/`.
const DOCUMENTS: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benches/README.md",
    "deploy/README.md",
    "deploy/prometheus/RUNBOOK.md",
    "tests/fuzz/README.md",
];

/// How many words the README may have, so that people read it.
const README_WORDS_MAX: usize = 2000;

/// Folders of the repository: what is named below them has to exist.
const FOLDERS: [&str; 7] = ["src/", "tests/", "docs/", "deploy/", "config/", "benches/", ".ci/"];

/// What is named below them and exists only after a command was run.
const MADE_LATER: [&str; 2] = ["deploy/container/scoring", "tests/fuzz/artifacts"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every document: its path from the root of the repository, and its text.
pub fn documents() -> BTreeMap<String, String> {
    let inside = fs::read_dir(root().join("docs")).unwrap().map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        format!("docs/{name}")
    });
    let all = inside.chain(DOCUMENTS.map(str::to_owned));
    all.map(|path| (path.clone(), read(&path))).collect()
}

/// The text between a heading and the next one of the same rank.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n{heading}\n")).expect(heading) + heading.len() + 2;
    let rank = heading.split(' ').next().expect("a rank");
    let end = text[start..].find(&format!("\n{rank} ")).map_or(text.len(), |end| start + end);
    &text[start..end]
}

/// The parts of a document: fenced blocks with their language, and the text between them with none.
fn parts(text: &str) -> impl Iterator<Item = (Option<&str>, &str)> {
    text.split("\n```").enumerate().map(|(i, part)| match i % 2 {
        0 => (None, part),
        _ => part
            .split_once('\n')
            .map_or((Some(part), ""), |(language, rest)| (Some(language), rest)),
    })
}

/// The fenced blocks of this language.
fn blocks<'a>(text: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    parts(text).filter(move |(of, _)| *of == Some(language)).map(|(_, block)| block)
}

/// The first fenced block of this language that contains `word`.
pub fn block<'a>(text: &'a str, language: &str, word: &str) -> &'a str {
    blocks(text, language).find(|block| block.contains(word)).expect(word)
}

/// The text between backticks outside of fenced blocks, on one line each.
fn quoted(text: &str) -> Vec<String> {
    let prose = parts(text).filter(|(language, _)| language.is_none());
    let spans = prose.flat_map(|(_, text)| {
        // Backticks do not reach across paragraphs.
        text.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2))
    });
    spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
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
        .env("HOME", folder)
        .stdin(Stdio::null())
        .output()
        .expect("a shell")
}

/// All `"..."` in a source file.
fn literals(source: &str) -> impl Iterator<Item = &str> {
    source.lines().flat_map(|line| line.split('"').skip(1).step_by(2))
}

/// All Rust source below `src`, and the names of its files and folders.
fn source() -> (String, BTreeSet<String>) {
    let (mut text, mut names) = (String::new(), BTreeSet::new());
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            names.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    (text, names)
}

/// All settings, as `section.name`.
fn settings() -> BTreeSet<String> {
    let mut section = String::new();
    let mut settings = BTreeSet::new();
    for line in read("config/gridmark.toml").lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            settings.insert(format!("{section}.{key}"));
        }
    }
    settings
}

#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= README_WORDS_MAX, "{words} words");
}

#[test]
fn the_first_drop_gives_the_rows_that_are_shown() {
    let readme = read("README.md");
    let drop = section(&readme, "## A first drop");
    let home = tempfile::tempdir().unwrap();
    let [first, second, made, ..] = blocks(drop, "sh").collect::<Vec<_>>()[..] else {
        panic!("a block for each terminal, and one that makes the files");
    };
    assert!(first.ends_with("\ngridmark serve"), "{first}");
    // The service makes the inbox when it starts; here it starts once the files are there.
    let first = first.replace("gridmark serve", "mkdir inbox");
    let serve = "GRIDMARK_PUBLISH_DISK_FREE_BYTES_MIN=0 gridmark serve --once";
    let ran = run(home.path(), &format!("set -e\n{first}\ncd\n{second}\n{made}\n{serve}"));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "4 submissions graded, 6 cases\n", "{ran:?}");
    let folder = home.path().join("scoring");
    assert!(folder.join("inbox/team-07").is_dir(), "the empty folder stays in the inbox");
    assert!(folder.join("archive/team-07/p1.txt").is_file());

    let report = |name: &str| fs::read_to_string(folder.join("reports").join(name)).unwrap();
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
        [("folders/team-07.csv", ",at,", &[][..]), ("submissions.csv", ",blake3,", &[2, 3, 4])]
    {
        let shown = rows(block(drop, "csv", column), times);
        assert_eq!(rows(&report(name), times), shown, "{name}");
    }
}

#[test]
fn commands_print_what_is_shown() {
    let readme = read("README.md");
    let made = block(&readme, "sh", "mkdir team-07").replace("mv team-07 inbox/", "");
    let mut shown = 0;
    for (document, text) in documents() {
        let folder = tempfile::tempdir().unwrap();
        assert!(run(folder.path(), &format!("set -e\n{made}")).status.success());
        for block in blocks(&text, "console") {
            for part in format!("\n{block}").split("\n$ ").skip(1) {
                let (command, wanted) = part.split_once('\n').unwrap_or((part, ""));
                let ran = run(&folder.path().join("team-07"), &format!("{{ {command}\n}} 2>&1"));
                let printed = String::from_utf8(ran.stdout).unwrap();
                assert_eq!(printed.trim_end(), wanted.trim_end(), "{document}: {command}");
                shown += 1;
            }
        }
    }
    assert!(shown >= 11, "{shown}");
}

#[test]
fn commands_and_options_that_are_shown_exist() {
    let help = |command: &str| {
        let help = run(root(), &format!("gridmark {command} --help"));
        help.status.success().then(|| String::from_utf8(help.stdout).unwrap())
    };
    let mut helps = BTreeMap::new();
    let mut options = 0;
    for (document, text) in documents() {
        let shell = parts(&text).filter(|(of, _)| matches!(of, Some("sh" | "console")));
        let lines = shell.flat_map(|(_, block)| block.lines().map(str::to_owned));
        for line in lines.chain(quoted(&text)) {
            for (at, _) in line.match_indices("gridmark ") {
                let before = &line[..at];
                // A path, a user (`sudo -u gridmark sh`), or a group.
                let is_program =
                    before.is_empty() || before.ends_with(' ') && !before.ends_with("-u ");
                let mut words = line[at + "gridmark ".len()..].split(' ');
                let command = words.next().unwrap();
                let is_word =
                    !command.is_empty() && command.bytes().all(|c| c.is_ascii_lowercase());
                if !is_program || !is_word || before.contains('#') {
                    continue;
                }
                let mut command = command.to_owned();
                let own = helps.entry(command.clone()).or_insert_with(|| help(&command));
                let has_commands = own.as_ref().is_some_and(|own| own.contains("\nCommands:\n"));
                if has_commands && let Some(word) = words.next() {
                    command = format!("{command} {}", word.trim_end_matches(['`', ')']));
                }
                let help = helps.entry(command.clone()).or_insert_with(|| help(&command));
                let help = help.as_ref();
                let help = help.unwrap_or_else(|| panic!("{document}: no command: {line}"));
                for option in words.take_while(|word| !["|", "<", ">", "&&"].contains(word)) {
                    let option = option.split(['=', ')', '`']).next().unwrap();
                    if option.starts_with("--") {
                        let ends = [" ", "\n", "=", ","].map(|end| format!("{option}{end}"));
                        let is_known = ends.iter().any(|option| help.contains(option));
                        assert!(is_known, "{document}: no option {option}: {line}");
                        options += 1;
                    }
                }
            }
        }
    }
    assert!(helps.len() >= 14 && options >= 30, "{:?} {options}", helps.keys());
}

#[test]
fn settings_that_are_named_exist() {
    let settings = settings();
    let sections = settings.iter().map(|key| key.split('.').next().unwrap());
    let sections = sections.collect::<BTreeSet<_>>();
    let variable = |key: &String| format!("GRIDMARK_{}", key.to_uppercase().replace('.', "_"));
    let variables = settings.iter().map(variable).collect::<BTreeSet<_>>();
    let mut named = 0;
    for (document, text) in documents() {
        for span in quoted(&text) {
            let key = span.split(' ').next().unwrap();
            let Some((section, name)) = key.split_once('.') else { continue };
            // `log.rs` and `event.toml` are files.
            if sections.contains(section) && !["rs", "toml"].contains(&name) {
                assert!(settings.contains(key), "{document}: no setting: {key}");
                named += 1;
            }
        }
        let is_end = |c: char| !c.is_ascii_uppercase() && c != '_';
        for (at, _) in text.match_indices("GRIDMARK_") {
            let variable = text[at..].split(is_end).next().unwrap();
            let is_named = variable != "GRIDMARK_";
            let is_known = variables.contains(variable) || variable == SCREENSHOTS;
            assert!(!is_named || is_known, "{document}: {variable}");
        }
    }
    assert!(settings.len() > 30 && named > 20, "{} {named}", settings.len());
}

#[test]
fn metrics_that_are_named_exist_and_all_are_in_the_table() {
    let names = METRICS.iter().map(|metric| metric.name).collect::<BTreeSet<_>>();
    let is_end = |c: char| !c.is_ascii_lowercase() && c != '_';
    for (document, text) in documents() {
        for (at, _) in text.match_indices("gridmark_") {
            // A recording rule (`job:gridmark_...`), or the name of a test.
            if text[..at].ends_with([':', '_']) {
                continue;
            }
            let word = text[at..].split(is_end).next().unwrap();
            let ends = ["_bucket", "_sum", "_count"];
            let base = ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
            // A crate, and a file of a package.
            let is_no_metric = ["gridmark_core", "gridmark_"].contains(&word);
            let is_known = names.contains(word) || names.contains(base);
            assert!(is_no_metric || is_known, "{document}: no metric: {word}");
        }
    }
    let table = read("docs/metrics.md");
    let series = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed = series.map(|series| series.split('{').next().unwrap());
    let listed = listed.filter(|name| name.starts_with("gridmark_")).collect::<BTreeSet<_>>();
    assert_eq!(listed, names, "docs/metrics.md (left) and the metrics (right)");
    for metric in METRICS.iter().filter(|metric| !metric.labels.is_empty()) {
        let labels = metric.labels.iter().map(|label| label.name).collect::<Vec<_>>().join(",");
        let series = format!("| `{}{{{labels}}}` |", metric.name);
        assert!(table.contains(&series), "docs/metrics.md: {series}");
    }
}

#[test]
fn every_http_path_is_in_the_table_and_no_other() {
    let source = read("src/service/http/mod.rs");
    let routes = source.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let table = read("docs/metrics.md");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `/"));
    let listed = rows.map(|row| format!("/{}", row.split('`').next().unwrap()));
    let routes = routes.map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(listed.collect::<BTreeSet<_>>(), routes);
    assert!(routes.len() > 3, "{routes:?}");
}

#[test]
fn json_that_is_shown_is_what_the_commands_read() {
    use gridmark::service::http::{ReloadsAnswer, WhyAnswer};
    let text = read("docs/metrics.md");
    let [why, reloads] = blocks(&text, "json").collect::<Vec<_>>()[..] else {
        panic!("an answer of each path");
    };
    // All of an answer is shown, and nothing else.
    let why_shown: serde_json::Value = serde_json::from_str(why).unwrap();
    let why: WhyAnswer = serde_json::from_str(why).unwrap();
    assert_eq!(serde_json::to_value(why).unwrap(), why_shown);
    let reloads_shown: serde_json::Value = serde_json::from_str(reloads).unwrap();
    let reloads: ReloadsAnswer = serde_json::from_str(reloads).unwrap();
    assert_eq!(serde_json::to_value(reloads).unwrap(), reloads_shown);
}

#[test]
fn the_exit_codes_of_serve_are_those_of_its_help() {
    let codes = |text: &str| -> BTreeSet<u8> {
        let words = text.split(|c: char| !c.is_ascii_digit());
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let handbook = read("deploy/README.md");
    let listed = handbook.split("- Exit codes of `serve`").nth(1).unwrap().split("\n- ").next();
    let help = run(root(), "gridmark serve --help");
    let help = String::from_utf8(help.stdout).unwrap();
    let shown = help.split("Exit code").nth(1).map(codes);
    assert_eq!(shown, listed.map(codes));
    assert_eq!(shown, Some(BTreeSet::from([0, 1, 2, 70, 130])));
}

#[test]
fn every_fault_code_is_in_the_tables() {
    let document = read("docs/reports.md");
    let listed = quoted(&document).into_iter().collect::<BTreeSet<_>>();
    let sources = [read("src/core/board/fault.rs"), read("src/core/board/mark.rs")];
    let is_code = |text: &&str| {
        text.contains('-') && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    let codes = sources.iter().flat_map(|source| literals(source)).filter(is_code);
    let codes = codes.map(str::to_owned).collect::<BTreeSet<_>>();
    assert!(codes.contains("cage-sum") && codes.contains("too-large"), "{codes:?}");
    assert_eq!(codes.difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// The tests below `folder` that say in their docs which promise they stand behind: promise, file, test.
fn tests_of_promises(folder: &Path, found: &mut BTreeSet<(String, String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_of_promises(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap();
        for part in text.split("/// Promise P").skip(1) {
            // Here are such words too, but no number follows.
            let Some((number, rest)) = part.split_once(".\n") else { continue };
            let Ok(number) = number.parse::<u8>() else { continue };
            let test = rest.split("fn ").nth(1).unwrap().split('(').next().unwrap();
            found.insert((format!("P{number}"), file.to_owned(), test.to_owned()));
        }
    }
}

#[test]
fn promises_have_the_tests_that_say_so() {
    let mut there = BTreeSet::new();
    tests_of_promises(&root().join("tests/it"), &mut there);
    let promises = read("docs/promises.md");
    let mut listed = BTreeSet::new();
    for promise in (1..=11).map(|number| format!("P{number}")) {
        let rows = section(&promises, &format!("## {promise}"));
        let before = listed.len();
        for row in rows.lines().filter(|line| line.starts_with("| [")) {
            let path = row.split("](../").nth(1).unwrap().split(')').next().unwrap();
            let tests = quoted(row).into_iter();
            listed.extend(tests.map(|test| (promise.clone(), path.to_owned(), test)));
        }
        assert!(listed.len() > before, "{promise} has no test");
    }
    let missing = there.difference(&listed).collect::<Vec<_>>();
    assert!(missing.is_empty(), "not in docs/promises.md: {missing:?}");
    for (promise, path, test) in listed {
        let exists = read(&path).contains(&format!("fn {test}("));
        assert!(exists, "docs/promises.md: {promise}: no {test} in {path}");
    }
}

/// The anchors of a document's headings, as code forges make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = parts(text).filter(|(language, _)| language.is_none());
    let headings = prose.flat_map(|(_, text)| text.lines().filter(|line| line.starts_with('#')));
    let anchor = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let documents = documents();
    let mut links = 0;
    for (document, text) in &documents {
        let folder = root().join(document).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if link.starts_with("https://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { root().join(document) } else { folder.join(file) };
            assert!(target.exists(), "{document}: {link}");
            if !anchor.is_empty() {
                let anchors = anchors(&fs::read_to_string(&target).unwrap());
                assert!(anchors.contains(anchor), "{document}: {link}: {anchors:?}");
            }
            links += 1;
        }
    }
    assert!(links > 60, "{links}");
    let readme = &documents["README.md"];
    for document in documents.keys().filter(|path| path.starts_with("docs/")) {
        assert!(readme.contains(&format!("]({document})")), "README.md does not link {document}");
    }
}

#[test]
fn paths_that_are_named_exist() {
    let mut named = 0;
    // The changelog is history: what it names may be gone.
    for (document, text) in documents().into_iter().filter(|(path, _)| path != "CHANGELOG.md") {
        for span in quoted(&text) {
            let path = span.split([' ', ':']).next().unwrap();
            let is_path = FOLDERS.iter().any(|folder| path.starts_with(folder));
            // A star or a word in capitals or angle brackets stands for something.
            let is_pattern = path.contains(['*', '<', '{', '$']) || path.contains("TARGET");
            let is_made_later = MADE_LATER.iter().any(|made| path.starts_with(made));
            if is_path && !is_pattern && !is_made_later {
                assert!(root().join(path).exists(), "{document}: {path}");
                named += 1;
            }
        }
    }
    assert!(named > 10, "{named}");
}

#[test]
fn types_and_functions_that_the_architecture_names_exist() {
    let (text, files) = source();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect::<Vec<_>>();
    let kinds = ["fn", "struct", "enum", "trait", "mod", "const", "type", "static"];
    let defined = words.windows(2).filter(|two| kinds.contains(&two[0])).map(|two| two[1]);
    let variants = words.iter().filter(|word| word.starts_with(char::is_uppercase));
    let defined = defined.chain(variants.copied()).collect::<BTreeSet<_>>();
    let mut named = 0;
    for span in quoted(&read("ARCHITECTURE.md")) {
        if !span.contains("::") || span.contains([' ', '<', '(']) {
            continue;
        }
        for part in span.split("::").filter(|part| *part != "gridmark_core") {
            let exists = defined.contains(part) || files.contains(part);
            assert!(exists, "ARCHITECTURE.md: {span}: no {part}");
        }
        named += 1;
    }
    assert!(named > 20, "{named}");
}
