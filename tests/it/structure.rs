//! The structure of the source, as far as neither the compiler nor a lint can keep it: which room may
//! use which, which packages are used in one place only, and what a tier of kernels says it needs.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The rooms under `src`, from the ground up: each may use those before it. `src/core` is a crate of
/// its own, so the compiler sees to it.
const ROOMS: [&str; 14] = [
    "http",
    "puzzle",
    "model",
    "config",
    "event",
    "telemetry",
    "store",
    "access",
    "pipeline",
    "jury",
    "page",
    "service",
    "audit",
    "cli",
];

/// The stages under `src/pipeline`: none of them names another.
const STAGES: [&str; 4] = ["intake", "grading", "publish", "standings"];

/// Packages that are used in few places, so that what they are for is decided there alone.
const HOMES: &[(&str, &[&str])] = &[
    ("argon2", &["access"]),
    ("axum", &["http", "page", "service::http"]),
    ("batsat", &["puzzle::certify"]),
    ("clap", &["cli", "main"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("hyper", &["http"]),
    ("hyper_util", &["http"]),
    ("libc", &["store::archive"]),
    ("lz_str", &["puzzle"]),
    ("maud", &["access", "page"]),
    ("metrics", &["telemetry"]),
    ("notify", &["pipeline::intake"]),
    ("regex", &["event"]),
    ("regex_syntax", &["event"]),
    ("rusqlite", &["store::ledger"]),
    ("toml", &["config", "event"]),
    ("tracing", &["telemetry"]),
    ("unicode_normalization", &["access", "event"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files below `folder`, by their path from there.
fn sources(folder: &Path) -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                sources.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    sources
}

/// The module that a file holds, from the root of the crate: `pipeline/intake/scan.rs` is
/// `[pipeline, intake, scan]`.
fn module_of(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// A word or a punctuation character, how many inline modules it stands in, and its line.
#[derive(Clone, Debug)]
struct Token {
    text: String,
    modules: usize,
    line: usize,
}

/// The tokens of source without comments, brackets of groups among them.
fn tokens(text: &str) -> Vec<Token> {
    fn flatten(stream: TokenStream, modules: usize, all: &mut Vec<Token>) {
        for tree in stream {
            let line = tree.span().start().line;
            match tree {
                TokenTree::Group(group) => {
                    let is_module = matches!(
                        &all[..],
                        [.., word, name] if word.text == "mod" && name.text != "mod"
                    );
                    all.push(Token { text: "{".into(), modules, line });
                    flatten(group.stream(), modules + usize::from(is_module), all);
                    all.push(Token { text: "}".into(), modules, line });
                }
                tree => all.push(Token { text: tree.to_string(), modules, line }),
            }
        }
    }
    let mut all = Vec::new();
    flatten(text.parse().unwrap(), 0, &mut all);
    all
}

/// A path from the root of this crate or from another one, and its line.
#[derive(Debug, PartialEq)]
struct Named {
    path: Vec<String>,
    line: usize,
}

/// All paths of at least two parts in a file, those in braces each by itself.
fn paths(file: &str, text: &str) -> Vec<Named> {
    let tokens = tokens(text);
    let mut named = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        at = path_at(&tokens, at, &[], &mut |segments, token| {
            let path = absolute(&module_of(file), segments, token.modules);
            named.extend(path.map(|path| Named { path, line: token.line }));
        });
    }
    named
}

/// Reports the path that begins at `at`, if one does, each branch of its braces behind `prefix`, and
/// gives where it ends.
fn path_at(
    tokens: &[Token],
    mut at: usize,
    prefix: &[String],
    report: &mut dyn FnMut(&[String], &Token),
) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let is_word = |at| text(at).starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*');
    let start = at;
    let mut segments = prefix.to_vec();
    while is_word(at) || (!prefix.is_empty() || at > start) && text(at) == "{" {
        if text(at) == "{" {
            at += 1;
            while text(at) != "}" && at < tokens.len() {
                at = path_at(tokens, at, &segments, report);
            }
            return at + 1;
        }
        segments.push(text(at).trim_start_matches("r#").to_owned());
        at += 1;
        if (text(at), text(at + 1)) != (":", ":") {
            break;
        }
        at += 2;
    }
    if segments.len() > 1 && at > start {
        report(&segments, &tokens[start]);
    }
    at.max(start + 1)
}

/// A path as it is from the root of the crate (`crate` left out), or from another crate; `None` if it
/// stays in its file.
fn absolute(module: &[String], segments: &[String], inline_modules: usize) -> Option<Vec<String>> {
    match segments[0].as_str() {
        "crate" | "gridmark" => Some(segments[1..].to_vec()),
        "super" => {
            let ups = segments.iter().take_while(|segment| *segment == "super").count();
            let base = module.len().checked_sub(ups.checked_sub(inline_modules)?)?;
            Some([&module[..base], &segments[ups..]].concat())
        }
        "self" | "Self" => None,
        _ => Some([&["::".to_owned()][..], segments].concat()),
    }
}

/// The rules that a file breaks.
fn broken(file: &str, text: &str) -> Vec<String> {
    let module = module_of(file);
    let mut broken = Vec::new();
    for Named { path, line } in paths(file, text) {
        let shown = path.join("::");
        let mut breaks = |why: String| broken.push(format!("src/{file}:{line}: `{shown}`: {why}"));
        if path[0] == "::" {
            let home = HOMES.iter().find(|(package, _)| *package == path[1]);
            let own = module.join("::") + "::";
            if let Some((package, homes)) = home
                && !homes.iter().any(|home| own.starts_with(&format!("{home}::")))
            {
                breaks(format!("{package} is for {} alone", homes.join(" and ")));
            }
            continue;
        }
        let Some(own) = ROOMS.iter().position(|room| module.first().is_some_and(|m| m == room))
        else {
            continue; // lib.rs and main.rs hold everything together
        };
        match ROOMS.iter().position(|room| *room == path[0]) {
            None => breaks("no room of this name is in ROOMS of tests/it/structure.rs".into()),
            Some(other) if other > own => {
                breaks(format!("{} may use {} alone", ROOMS[own], ROOMS[..own].join(", ")));
            }
            Some(_) => {}
        }
        let stage = |path: &[String]| {
            let stage = path.get(1).filter(|_| path[0] == "pipeline")?;
            STAGES.iter().find(|name| *name == stage)
        };
        if let (Some(from), Some(to)) = (stage(&module), stage(&path))
            && from != to
        {
            breaks(format!("the stage {from} names the stage {to}"));
        }
    }
    broken
}

#[test]
fn rooms_use_those_below_them_and_stages_do_not_name_each_other() {
    let sources = sources(&root().join("src"));
    let own = sources.iter().filter(|(file, _)| !file.starts_with("core/"));
    let broken = own.flat_map(|(file, text)| broken(file, text)).collect::<Vec<_>>();
    assert!(broken.is_empty(), "the structure is broken:\n{}", broken.join("\n"));
    let rooms = sources.keys().filter_map(|file| file.split_once('/')).map(|(room, _)| room);
    let rooms = rooms.filter(|room| *room != "core").collect::<BTreeSet<_>>();
    assert_eq!(rooms, BTreeSet::from(ROOMS), "the folders of src (left) and ROOMS (right)");
}

#[test]
fn each_tier_of_kernels_asks_for_every_feature_that_it_enables() {
    let core = sources(&root().join("src/core"));
    let words = |text: &str| tokens(text).into_iter().map(|token| token.text).collect::<Vec<_>>();
    let cpu = words(&core["cpu.rs"]);
    let mut enabled_in_all = 0;
    for tier in ["avx2", "avx512"] {
        let check = format!("has_{tier}");
        let start = cpu.windows(2).position(|two| two[0] == "fn" && two[1] == check).unwrap();
        let end = cpu[start + 2..].iter().position(|word| word == "fn");
        let mut asked = cpu[start..end.map_or(cpu.len(), |end| start + 2 + end)].concat();
        if asked.contains("has_avx2{}") && tier != "avx2" {
            let start = cpu.iter().position(|word| word == "has_avx2").unwrap();
            asked += &cpu[start..].concat();
        }
        let folder = format!("judge/kernel/{tier}/");
        for (file, text) in core.iter().filter(|(file, _)| file.starts_with(&folder)) {
            for five in words(text).windows(5).filter(|five| five[0] == "target_feature") {
                assert_eq!(five[2..4], ["enable", "="], "{file}");
                for feature in five[4].trim_matches('"').split(',') {
                    enabled_in_all += 1;
                    assert!(
                        asked.contains(&format!("\"{feature}\"")),
                        "src/core/{file} enables {feature}, and {check} in src/core/cpu.rs does not ask for it"
                    );
                }
            }
        }
    }
    assert!(enabled_in_all > 0, "no function of a kernel enables a feature");
}

#[test]
fn the_check_finds_what_breaks_a_rule() {
    let cases = [
        ("model/rows.rs", "use crate::store::ledger::Ledger;", "model may use"),
        ("model/rows.rs", "use crate::{config::Settings, model};", "model may use"),
        ("model/rows.rs", "use {crate::{config::Settings}};", "model may use"),
        ("model/rows.rs", "pub(crate) use crate::store as words;", "model may use"),
        ("model/rows.rs", "fn f() -> Vec<crate::cli::Cli> {}", "model may use"),
        ("model/rows.rs", "fn f() { g!(1, crate::cli::run()) }", "model may use"),
        ("model/rows.rs", "use super::super::config::Settings;", "model may use"),
        ("model/mod.rs", "use super::config::Settings;", "model may use"),
        ("model/rows.rs", "mod t { use super::super::super::config::X; }", "model may use"),
        ("model/rows.rs", "macro_rules! m { () => { $crate::cli::f() } }", "model may use"),
        ("model/rows.rs", "use gridmark::cli::Cli;", "model may use"),
        ("model/rows.rs", "use crate::*;", "no room of this name"),
        ("model/rows.rs", "use crate::lounge::Sofa;", "no room of this name"),
        ("pipeline/intake/scan.rs", "use crate::pipeline::publish::X;", "names the stage publish"),
        ("pipeline/intake/scan.rs", "use super::super::grading::X;", "names the stage grading"),
        ("pipeline/grading/mod.rs", "use super::{intake::X, queue::Q};", "names the stage intake"),
        ("pipeline/queue/mod.rs", "use rusqlite::Connection;", "rusqlite is for store::ledger"),
        ("store/archive/mod.rs", "fn f() { tracing::info!(1) }", "tracing is for telemetry alone"),
    ];
    for (file, text, rule) in cases {
        let broken = broken(file, &format!("\n{text}\n"));
        assert!(broken.len() == 1 && broken[0].contains(rule), "{file}: {text}: {broken:?}");
        assert!(broken[0].starts_with(&format!("src/{file}:2: ")), "{broken:?}");
    }
}

#[test]
fn the_check_lets_pass_what_is_allowed() {
    let cases = [
        ("model/rows.rs", "use super::submission::Name; use crate::model::escape; use std::fs;"),
        (
            "model/rows.rs",
            "// use crate::cli::Cli;\n/* crate::cli::Cli */ const A: &str = \"crate::cli::Cli\";",
        ),
        ("model/rows.rs", "/// [`crate::cli::Cli`]\nfn f<'a>(x: &'a str) -> char { '\"' }"),
        ("model/rows.rs", "mod t { use super::super::submission::Name; mod u { use super::X; } }"),
        ("model/rows.rs", "use gridmark_core::{board::{Cell, House}, format::{self, Case}};"),
        ("pipeline/intake/scan.rs", "use crate::pipeline::queue::Queue; use notify::Event;"),
        (
            "pipeline/publish/mod.rs",
            "use super::queue::Queue; use crate::store::{ledger, archive};",
        ),
        ("store/ledger/mod.rs", "use rusqlite::{Connection, params};"),
        ("main.rs", "fn main() { gridmark::cli::run(clap::x()) }"),
        ("lib.rs", "pub mod model; pub use crate::cli::Cli;"),
    ];
    for (file, text) in cases {
        assert_eq!(broken(file, text), [""; 0], "{file}: {text}");
    }
}
