//! The structure of the package is kept by reading its source.

mod rules;
mod source;

use rules::{MODULES, Violation, check};
use source::{tokens, without_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The packages that gridmark depends on, as they are named in source.
fn packages() -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest = manifest.parse::<toml::Table>().unwrap();
    manifest["dependencies"].as_table().unwrap().keys().map(|name| name.replace('-', "_")).collect()
}

/// All source files, by their path from the root of the package.
fn sources() -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                sources.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    sources
}

/// Files, or folders ending in `/`, that hold the test modules of this file.
fn test_files(file: &str, text: &str) -> Vec<String> {
    let folder = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .find_map(|end| file.strip_suffix(end).filter(|folder| folder.ends_with('/')));
    let folder = match folder {
        Some(folder) => folder.to_owned(),
        None => file.trim_end_matches(".rs").to_owned() + "/",
    };
    let modules = without_tests(&tokens(text)).test_modules;
    modules
        .iter()
        .flat_map(|name| [format!("{folder}{name}.rs"), format!("{folder}{name}/")])
        .collect()
}

fn all_violations(sources: &BTreeMap<String, String>, packages: &[String]) -> Vec<Violation> {
    let tests = sources.iter().flat_map(|(file, text)| test_files(file, text));
    let tests = tests.collect::<BTreeSet<_>>();
    let is_test = |file: &str| {
        tests.iter().any(|test| test == file || test.ends_with('/') && file.starts_with(test))
    };
    let proper = sources.iter().filter(|(file, _)| !is_test(file));
    proper.flat_map(|(file, text)| check(file, text, packages)).collect()
}

#[test]
fn every_file_keeps_the_rules() {
    let sources = sources();
    assert!(sources.contains_key("src/lib.rs") && sources.contains_key("src/board/mod.rs"));
    let violations = all_violations(&sources, &packages());
    let lines = violations.iter().map(|violation| format!("{violation}\n")).collect::<String>();
    assert!(violations.is_empty(), "the structure is broken:\n{lines}");
}

#[test]
fn every_module_has_a_rule_and_stands_in_the_list_of_modules() {
    let sources = sources();
    let library = tokens(&sources["src/lib.rs"]);
    let declared =
        library.windows(3).filter(|three| three[0].text == "mod" && three[2].text == ";");
    let declared = declared.map(|three| three[1].text.as_str()).collect::<BTreeSet<_>>();
    let docs = sources["src/lib.rs"].lines().filter_map(|line| line.strip_prefix("//! - [`"));
    let listed = docs
        .filter_map(|line| line.trim_start_matches("mod@").split('`').next())
        .collect::<BTreeSet<_>>();
    assert_eq!(listed, declared, "the docs of src/lib.rs list (left) what it declares (right)");
    for module in declared {
        let has_rule = MODULES.iter().any(|(name, _)| *name == module);
        assert!(has_rule, "{module} stands in no line of MODULES in tests/it/structure/rules.rs");
    }
}

/// The rules that this text breaks as that file, as `line: rule`.
fn broken(file: &str, text: &str) -> Vec<String> {
    let packages = ["rusqlite", "serde", "tracing", "memchr", "rayon"].map(String::from);
    let violations = check(file, text, &packages);
    violations.into_iter().map(|v| format!("{}: {}", v.line, v.rule)).collect()
}

#[test]
fn the_checks_find_modules_that_may_not_be_named() {
    let cases = [
        ("src/board/mod.rs", "use crate::format::Case;"),
        ("src/board/mod.rs", "use crate::{board::Cell, format::Case};"),
        ("src/board/mod.rs", "use crate::{board::Cell, format};"),
        ("src/board/mod.rs", "use {crate::{format}};"),
        ("src/board/mod.rs", "pub(crate) use crate::format as words;"),
        ("src/board/mod.rs", "fn f() { crate::format::kind() }"),
        ("src/board/mod.rs", "fn f() -> Vec<crate::format::Case> {}"),
        ("src/board/mod.rs", "fn f() { let x = 1; use crate::judge::Judge; }"),
        ("src/board/mod.rs", "use super::format::Case;"),
        ("src/board/place.rs", "use super::super::format::Case;"),
        ("src/board/place.rs", "fn f() { super::super::format::kind() }"),
        ("src/board/mod.rs", "mod inner { use super::super::format::Case; }"),
        ("src/board/mod.rs", "use crate as all;"),
        ("src/board/mod.rs", "use crate::*;"),
        ("src/board/mod.rs", "use crate::{self as all};"),
        ("src/board/mod.rs", "use super::*;"),
        ("src/board/mod.rs", "macro_rules! m { () => { $crate::format::kind() } }"),
        ("src/board/mod.rs", "use gridmark::format::Case;"),
        ("src/format/killer/cages.rs", "use crate::judge::Judge;"),
        ("src/format/killer/cages.rs", "use super::super::super::judge::Judge;"),
        ("src/intake/mod.rs", "use crate::grading::Grading;"),
        ("src/intake/scan.rs", "use crate::publish::Publisher;"),
        ("src/publish/mod.rs", "fn f() { crate::grading::grade() }"),
        ("src/ledger.rs", "use crate::config::Settings;"),
        ("src/http.rs", "use crate::event;"),
        ("src/main.rs", "fn main() { gridmark::service::run() }"),
        ("src/main.rs", "use gridmark::{cli, config};"),
        ("src/nowhere.rs", "use crate::board::Cell;"),
    ];
    for (file, text) in cases {
        let broken = broken(file, &format!("\n{text}\n"));
        assert_eq!(broken.len(), 1, "{file}: {text}: {broken:?}");
        assert!(broken[0].starts_with("2: ") && broken[0].contains(" may name "), "{broken:?}");
    }
}

#[test]
fn the_checks_find_what_the_core_and_others_may_not_use() {
    let cases = [
        ("src/judge/mod.rs", "use std::fs;", "the core does without std::fs"),
        ("src/judge/mod.rs", "use std::{fmt, io::Read};", "the core does without std::io"),
        ("src/judge/mod.rs", "use ::std::time::Instant;", "the core does without std::time"),
        ("src/judge/mod.rs", "use std as s;", "the core does without std::*"),
        ("src/judge/mod.rs", "use std::*;", "the core does without std::*"),
        ("src/judge/mod.rs", "fn f() { std::thread::yield_now() }", "does without std::thread"),
        ("src/generate/mod.rs", "use rayon::prelude::*;", "the core does without rayon"),
        ("src/board/x.rs", "#[derive(serde::Serialize)] struct X;", "the core does without serde"),
        ("src/intake/mod.rs", "tracing::info!(1);", "tracing is known to event and log alone"),
        ("src/publish/mod.rs", "use rusqlite as r;", "rusqlite is known to ledger alone"),
        ("src/publish/mod.rs", "x.unwrap();", "`unwrap()` says nothing"),
        ("src/publish/mod.rs", "x\n.unwrap ( );", "`unwrap()` says nothing"),
        ("src/publish/mod.rs", "todo!()", "`todo!` is a stub"),
        ("src/publish/mod.rs", "std::dbg!(x)", "`dbg!` is for debugging"),
        ("src/cli/mod.rs", "println!(\"x\")", "`println!` panics on a closed pipe"),
        ("src/cli/mod.rs", "#[cfg(not(test))] fn f() { todo!() }", "`todo!` is a stub"),
        ("src/judge/mod.rs", "unsafe { f() }", "`unsafe` may stand in src/judge/kernel/ and"),
        ("src/judge/kernels.rs", "unsafe fn f() {}", "`unsafe` may stand in src/judge/kernel/"),
    ];
    for (file, text, rule) in cases {
        let broken = broken(file, text);
        assert!(broken.len() == 1 && broken[0].contains(rule), "{file}: {text}: {broken:?}");
    }
    let long = "// a line\n".repeat(401);
    assert_eq!(broken("src/cli/mod.rs", &long).len(), 1);
}

#[test]
fn the_checks_let_pass_what_is_allowed() {
    let tests = "#[cfg(test)]\nmod tests {\n use super::*;\n fn f() { x.unwrap(); todo!() }\n}\n";
    let many_tests = tests.repeat(200);
    let cases = [
        ("src/board/mod.rs", "mod place; use place::Cell; use self::place::House;"),
        ("src/board/place.rs", "use super::fault::Fault; use crate::board::Cell; use super::*;"),
        ("src/board/mod.rs", "mod inner { use super::Cell; mod deeper { use super::super::X; } }"),
        ("src/judge/mod.rs", "use crate::{board::{Cell, House}, format::{self, Case}};"),
        ("src/judge/mod.rs", "use std::{borrow::Cow, fmt}; use memchr::memchr;"),
        ("src/judge/kernel/avx2.rs", "unsafe { f() }"),
        ("src/judge/mod.rs", "// use std::fs;\n/* unsafe /* todo!() */ x.unwrap() */ fn f() {}"),
        ("src/judge/mod.rs", "/// ```\n/// std::fs::read(x).unwrap();\n/// ```\nfn f() {}"),
        (
            "src/judge/mod.rs",
            r##"const A: &str = "unsafe \" todo!()"; const B: &str = r#"" unsafe"#;"##,
        ),
        (
            "src/judge/mod.rs",
            r"const A: [char; 2] = ['\'', '\u{22}']; const B: u8 = b'\''; fn f<'a>() {}",
        ),
        ("src/judge/mod.rs", "fn f() -> impl Iterator<Item = u8> + use<'_> {}"),
        ("src/judge/mod.rs", "pub(in crate::judge) fn f(fs: u8) { fs.io(std) }"),
        ("src/intake/mod.rs", "use crate::{config::Intake, event}; use std::fs; x.unwrap_or(1);"),
        ("src/cli/mod.rs", "use crate::{intake, ledger}; writeln!(x)"),
        ("src/main.rs", "use gridmark::cli; fn main() { gridmark::cli::run() }"),
        ("src/lib.rs", "pub mod board; pub use crate::board::Cell;"),
        ("src/cli/mod.rs", tests),
        ("src/cli/mod.rs", &many_tests),
        (
            "src/cli/mod.rs",
            "#[test]\nfn f() { todo!() }\n#[cfg(all(test, unix))] mod t { todo!() }",
        ),
    ];
    for (file, text) in cases {
        assert_eq!(broken(file, text), [""; 0], "{file}: {text}");
    }
}

#[test]
fn the_checks_go_on_behind_what_they_leave_out() {
    for before in [
        "#[cfg(test)]\nmod tests { fn f() { g(\"}\", '}') } }",
        "#[cfg(test)]\nuse std::fs;",
        "#[cfg(test)]\nmod tests;",
        "#[test]\nfn f<'a>(x: &'a [u8; 2]) -> bool { '{' == b'\\'' }",
        "/* \" */ // \"\n",
        "const A: &str = r##\"\"# \"##;",
        "const B: &[u8] = b\"\\\\\";",
        "fn f<'a>(x: &'a str) -> &'a str { x }",
    ] {
        let text = format!("{before}\nuse crate::cli::Cli;");
        let line = text.lines().count();
        let broken = broken("src/judge/mod.rs", &text);
        assert!(
            broken.len() == 1 && broken[0].starts_with(&format!("{line}: `crate::cli")),
            "{text}"
        );
    }
}

#[test]
fn files_of_tests_are_found_beside_the_file_that_declares_them() {
    let text = "#[cfg(test)]\nmod tests;\nmod proper;";
    for (file, tests) in [
        ("src/ledger/mod.rs", ["src/ledger/tests.rs", "src/ledger/tests/"]),
        ("src/ledger.rs", ["src/ledger/tests.rs", "src/ledger/tests/"]),
        ("src/lib.rs", ["src/tests.rs", "src/tests/"]),
    ] {
        assert_eq!(test_files(file, text), tests);
    }
    let source = |file: &str, text: &str| (file.to_owned(), text.to_owned());
    let sources = BTreeMap::from([
        source("src/http.rs", text),
        source("src/http/tests.rs", "x.unwrap()"),
        source("src/http/tests/more.rs", "x.unwrap()"),
        source("src/http/proper.rs", "x.unwrap()"),
    ]);
    let files = all_violations(&sources, &[]).into_iter().map(|violation| violation.file);
    assert_eq!(files.collect::<Vec<_>>(), ["src/http/proper.rs"]);
}
