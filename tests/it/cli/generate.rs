use super::{folder, gridmark};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The files below `folder`, by their paths in it.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(of, text)| (format!("{name}/{of}"), text)));
        } else {
            found.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    found
}

#[test]
fn cases_are_spread_over_files_and_files_over_folders() {
    let folder = folder();
    let arguments = [
        "generate",
        "killer",
        "--cases",
        "8",
        "--faulty",
        "0.5",
        "--seed",
        "3",
        "--files",
        "5",
        "--folders",
        "2",
        "--into",
        "inbox",
        "--answers",
        "answers",
    ];
    let done = gridmark(folder.path(), &arguments, "");
    assert_eq!((done.stdout.as_str(), done.stderr.as_str(), done.code), ("", "", Some(0)));
    let work = files(&folder.path().join("inbox"));
    assert_eq!(
        work.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "team-0001/p0001.txt",
            "team-0001/p0002.txt",
            "team-0001/p0003.txt",
            "team-0002/p0001.txt",
            "team-0002/p0002.txt"
        ]
    );
    let answers = files(&folder.path().join("answers"));
    assert_eq!(answers.len(), 5);
    let mut cases = 0;
    for (name, text) in work {
        let right = &answers[&format!("{name}.out")];
        assert_eq!(&gridmark(folder.path(), &["judge", "killer"], text).stdout, right, "{name}");
        cases += right.lines().count();
    }
    assert_eq!(cases, 8);
}

#[test]
fn files_hold_what_the_stream_holds() {
    let folder = folder();
    let make = ["generate", "hexudoku", "--cases", "7", "--seed", "9"];
    let stream = gridmark(folder.path(), &make, "").stdout;
    gridmark(folder.path(), &[&make[..], &["--files", "3", "--into", "."]].concat(), "");
    let work = files(folder.path());
    assert_eq!(work.keys().collect::<Vec<_>>(), ["p0001.txt", "p0002.txt", "p0003.txt"]);
    assert_eq!(work.into_values().collect::<String>(), stream);
}

#[test]
fn no_existing_file_is_overwritten() {
    let folder = folder();
    fs::write(folder.path().join("p0001.txt"), "precious").unwrap();
    for arguments in [&["--files", "1", "--into", "."][..], &["--answers", "p0001.txt"]] {
        let make = ["generate", "classic", "--cases", "1"];
        let done = gridmark(folder.path(), &[&make[..], arguments].concat(), "");
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.contains("p0001.txt: File exists"), "{}", done.stderr);
        assert_eq!(files(folder.path())["p0001.txt"], "precious");
    }
}

#[test]
fn nonsense_options_are_refused() {
    let make = ["generate", "classic", "--cases", "3"];
    for (arguments, said) in [
        (&["--faulty", "1.5"][..], "expected a number from 0 to 1"),
        (&["--faulty", "NaN"], "expected a number from 0 to 1"),
        (&["--files", "2"], "--into <DIR>"),
        (&["--into", "d"], "--files <N>"),
        (&["--files", "4", "--into", "d"], "--files 4 is more than --cases 3"),
        (&["--files", "2", "--folders", "3", "--into", "d"], "--folders 3 is more than --files 2"),
        (&["--files", "0", "--into", "d"], "0 is not in 1.."),
        (&["--files", "1", "--into", "d", "--answers", "d/a"], "must not be among submissions"),
        (&["--solutions-per-block", "0"], "0 is not in 1..=10000"),
        (&["--puzzle", "--faulty", "0.5"], "cannot be used with"),
        (&["--puzzle", "--solutions-per-block", "2"], "cannot be used with"),
        (&["--for", "p.sdm", "--puzzle"], "cannot be used with"),
        (&["--layout", "rows"], "--for <FILE>"),
    ] {
        let folder = folder();
        let done = gridmark(folder.path(), &[&make[..], arguments].concat(), "");
        assert_eq!(done.code, Some(2), "{arguments:?}");
        assert!(done.stderr.contains(said), "{arguments:?}: {}", done.stderr);
        assert!(files(folder.path()).is_empty(), "{arguments:?}");
    }
}

#[test]
fn entries_for_a_puzzle_are_graded_as_their_answers_say() {
    for kind in ["classic", "killer", "hexudoku"] {
        let folder = folder();
        let run = |line: &str, input: &str| {
            gridmark(folder.path(), &line.split(' ').collect::<Vec<_>>(), input)
        };
        let puzzle = run(&format!("generate {kind} --puzzle --cases 1 --seed 5"), "");
        std::fs::write(folder.path().join("p.txt"), puzzle.stdout).unwrap();
        for layout in ["own", "line", "rows", "spaced", "framed"] {
            let make = format!(
                "generate {kind} --for p.txt --cases 24 --files 4 --faulty 0.5 --layout {layout} --seed 2 \
                 --into {layout} --answers answers-{layout}"
            );
            let made = run(&make, "");
            if kind == "hexudoku" && ["spaced", "framed"].contains(&layout) {
                assert_eq!(made.code, Some(2));
                assert!(made.stderr.contains("are for 9x9; use rows or line"), "{}", made.stderr);
                continue;
            }
            assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
            for number in 1..=4 {
                let name = format!("p000{number}.txt");
                let graded = run(
                    &format!("grade --puzzle p.txt {layout}/{name} --csv rows-{layout}-{name}"),
                    "",
                );
                assert_eq!(graded.code, Some(1), "{}", graded.stderr);
                let read =
                    |path: String| std::fs::read_to_string(folder.path().join(path)).unwrap();
                let answers = read(format!("answers-{layout}/{name}.out"));
                let rows = read(format!("rows-{layout}-{name}"));
                let found = rows.lines().skip(1).map(|row| {
                    let cells: Vec<&str> = row.split(',').collect();
                    if cells[8] == "foreign-puzzle" { cells[8] } else { cells[4] }
                });
                assert_eq!(
                    found.collect::<Vec<_>>(),
                    answers.lines().collect::<Vec<_>>(),
                    "{rows}"
                );
            }
        }
        let other = if kind == "killer" { "classic" } else { "killer" };
        let refused = run(&format!("generate {other} --for p.txt --cases 1"), "");
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
        assert_eq!(
            refused.stderr,
            format!("gridmark: p.txt: it is a puzzle of the kind {kind}, not {other}\n")
        );
    }
}

#[test]
fn entries_need_a_puzzle_with_one_solution() {
    let folder = folder();
    std::fs::write(folder.path().join("p.txt"), format!("12{}\n", ".".repeat(79))).unwrap();
    let make = ["generate", "classic", "--for", "p.txt", "--cases", "1"];
    let refused = gridmark(folder.path(), &make, "");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("p.txt: it has no one solution"), "{}", refused.stderr);
}

#[test]
fn only_classic_has_blocks_of_solutions() {
    for kind in ["killer", "hexudoku"] {
        let make = ["generate", kind, "--cases", "3", "--solutions-per-block", "10"];
        let done = gridmark(folder().path(), &make, "");
        assert_eq!((done.stdout.as_str(), done.code), ("", Some(2)));
        let said = format!("gridmark: --solutions-per-block is for classic, not for {kind}\n");
        assert_eq!(done.stderr, said);
    }
    let blocks = |arguments: &[&str]| {
        let make = ["generate", "classic", "--cases", "20"];
        gridmark(folder().path(), &[&make[..], arguments].concat(), "").stdout
    };
    assert!(blocks(&[]).starts_with("10\n"));
    assert_eq!(blocks(&[]), blocks(&["--solutions-per-block", "10"]));
}

/// As under `| head`: the reader has read enough.
#[test]
fn a_closed_pipe_ends_a_stream_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_gridmark"))
        .args(["generate", "killer", "--cases", "1000000000000"])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
