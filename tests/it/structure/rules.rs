//! Who may know whom, and the checks that hold one file to it.

use super::source::{Path, Token, paths, tokens, without_tests};
use std::fmt;

/// The pure core.
pub const CORE: [&str; 4] = ["board", "format", "judge", "generate"];

/// Every module, and the modules that it may name. `*` is all of them.
pub const MODULES: &[(&str, &[&str])] = &[
    // The core.
    ("board", &[]),
    ("format", &["board"]),
    ("judge", &["board", "format"]),
    ("generate", &["board", "format"]),
    // The words and means that stages share.
    ("printable", &[]),
    ("owner", &["printable"]),
    ("submission", &["board", "printable"]),
    ("windows", &["board", "format"]),
    ("fail_point", &[]),
    ("event", &["board", "printable", "submission"]),
    ("rows", &["board", "submission"]),
    ("ledger", &["aside", "board", "fail_point", "owner", "submission"]),
    ("archive", &["fail_point", "owner", "submission"]),
    ("marking", &["board", "format", "judge", "rows", "submission"]),
    ("aside", &["submission", "event"]),
    ("uncommitted", &["submission", "ledger", "rows"]),
    ("disk", &[]),
    ("under_way", &["event"]),
    ("config", &["printable"]),
    ("health", &["event"]),
    // The hand-over between stages.
    ("queue", &["submission"]),
    ("pool", &["event"]),
    // The stages: none of them knows another.
    (
        "intake",
        &[
            "printable",
            "submission",
            "fail_point",
            "event",
            "config",
            "health",
            "ledger",
            "archive",
            "queue",
        ],
    ),
    (
        "grading",
        &[
            "board",
            "format",
            "judge",
            "submission",
            "windows",
            "fail_point",
            "event",
            "config",
            "archive",
            "queue",
            "rows",
            "marking",
            "under_way",
        ],
    ),
    (
        "publish",
        &[
            "aside",
            "uncommitted",
            "disk",
            "printable",
            "board",
            "submission",
            "fail_point",
            "event",
            "config",
            "health",
            "ledger",
            "archive",
            "queue",
            "rows",
        ],
    ),
    (
        "rebuild",
        &[
            "board",
            "format",
            "judge",
            "printable",
            "submission",
            "windows",
            "fail_point",
            "event",
            "config",
            "ledger",
            "archive",
            "rows",
            "marking",
            "aside",
            "uncommitted",
            "owner",
        ],
    ),
    (
        "verify",
        &[
            "board",
            "judge",
            "printable",
            "submission",
            "config",
            "ledger",
            "archive",
            "rows",
            "rebuild",
        ],
    ),
    ("backup", &["printable", "owner", "submission", "config", "ledger", "archive", "recovery"]),
    ("recovery", &["submission", "fail_point", "event", "ledger", "archive", "rows"]),
    ("lock", &["owner", "printable"]),
    ("service", &["*"]),
    // The surface.
    ("http", &[]),
    ("log", &["config"]),
    // It tries out what each part needs, and knows no more of any than that.
    (
        "doctor",
        &[
            "archive",
            "board",
            "config",
            "disk",
            "generate",
            "http",
            "intake",
            "judge",
            "ledger",
            "lock",
            "owner",
            "printable",
            "recovery",
            "service",
        ],
    ),
    ("cli", &["*"]),
    ("main", &["cli"]),
];

/// Parts of `std` that the core does without.
const IMPURE: [&str; 9] = ["fs", "io", "net", "time", "thread", "sync", "process", "env", "os"];
/// All that the core needs from other packages.
const CORE_PACKAGES: [&str; 3] = ["itoa", "memchr", "thiserror"];

/// Packages that are known in few places, so that what they are for is decided there alone.
const HOMES: &[(&str, &[&str])] = &[
    ("anyhow", &["main"]),
    ("axum", &["http"]),
    ("clap", &["cli", "main"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("hyper", &["http"]),
    ("hyper_util", &["http"]),
    ("libc", &["archive"]),
    ("metrics", &["event"]),
    ("notify", &["intake"]),
    ("rusqlite", &["ledger"]),
    ("toml", &["config"]),
    ("tracing", &["event", "log"]),
];

/// The only places where `unsafe` may stand: kernels, and a call of the system that no crate makes.
const UNSAFE_HOMES: [&str; 2] = ["src/judge/kernel/", "src/archive/writers.rs"];
const LINES_MAX: usize = 400;
const BANNED_MACROS: [(&str, &str); 7] = [
    ("dbg", "is for debugging"),
    ("todo", "is a stub"),
    ("unimplemented", "is a stub"),
    ("print", "panics on a closed pipe; use write!"),
    ("println", "panics on a closed pipe; use writeln!"),
    ("eprint", "panics on a closed pipe; use write!"),
    ("eprintln", "panics on a closed pipe; use writeln!"),
];

/// A broken rule.
#[derive(Debug, PartialEq)]
pub struct Violation {
    pub file: String,
    pub line: usize,
    pub rule: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// Holds one file, `src/...`, to all rules. `packages` are those that gridmark depends on.
pub fn check(file: &str, text: &str, packages: &[String]) -> Vec<Violation> {
    let proper = without_tests(&tokens(text));
    let mut broken = Vec::new();
    let lines = text.lines().count() - proper.test_lines;
    if lines > LINES_MAX {
        let rule = format!("has {lines} lines outside tests; split it ({LINES_MAX} at most)");
        broken.push((lines, rule));
    }
    check_words(file, &proper.tokens, &mut broken);
    for path in paths(&proper.tokens) {
        broken.extend(check_path(file, &path, packages).map(|rule| (path.line, rule)));
    }
    let violation = |(line, rule)| Violation { file: file.to_owned(), line, rule };
    broken.into_iter().map(violation).collect()
}

fn check_words(file: &str, tokens: &[Token], broken: &mut Vec<(usize, String)>) {
    for (i, token) in tokens.iter().enumerate() {
        let next = |n: usize| tokens.get(i + n).map_or("", |token| token.text.as_str());
        let word = token.text.as_str();
        if word == "unsafe" && !UNSAFE_HOMES.iter().any(|home| file.starts_with(home)) {
            let homes = UNSAFE_HOMES.join(" and ");
            broken.push((token.line, format!("`unsafe` may stand in {homes} alone")));
        }
        if (word, next(1), next(2), next(3)) == (".", "unwrap", "(", ")") {
            broken.push((token.line, "`unwrap()` says nothing; give an error or a reason".into()));
        }
        let banned = BANNED_MACROS.iter().find(|(name, _)| *name == word && next(1) == "!");
        broken.extend(banned.map(|(name, why)| (token.line, format!("`{name}!` {why}"))));
    }
}

/// The rule that this path breaks, if it breaks one.
fn check_path(file: &str, path: &Path, packages: &[String]) -> Option<String> {
    let within = module_of(file);
    let ours = within.first().map_or(root_name(file), String::as_str);
    let from_root = from_root(&within, path);
    let shown = path.segments.join("::");
    let Some(named) = from_root else {
        return check_package(ours, path, packages).map(|why| format!("`{shown}`: {why}"));
    };
    let may = MODULES.iter().find(|(name, _)| *name == ours).map_or(&[][..], |(_, may)| *may);
    let is_allowed = match named.first().map(String::as_str) {
        _ if may == ["*"] || ours == "lib" => true,
        // The root itself, under another name or with all that is in it.
        None | Some("*" | "self") => !path.is_use,
        Some(module) => module == ours || may.contains(&module),
    };
    let allowed = if may.is_empty() { "no other module".to_owned() } else { may.join(", ") };
    (!is_allowed).then(|| format!("`{shown}`: {ours} may name {allowed}"))
}

/// The path from the root of the package, or `None` if it begins in another one.
fn from_root(within: &[String], path: &Path) -> Option<Vec<String>> {
    let first = path.segments[0].as_str();
    if first == "crate" || first == "gridmark" {
        return Some(path.segments[1..].to_vec());
    }
    // Whatever stands in an inline module is as deep again.
    let ups = path.segments.iter().take_while(|segment| *segment == "super").count();
    if ups <= path.depth {
        // It stays in this file, or begins with a name, which may be a package's.
        return (ups > 0 || first == "self").then(|| within.to_vec());
    }
    let base = within.len().checked_sub(ups - path.depth)?;
    Some([&within[..base], &path.segments[ups..]].concat())
}

fn check_package(ours: &str, path: &Path, packages: &[String]) -> Option<String> {
    let first = path.segments[0].as_str();
    let is_path = path.is_use || path.segments.len() > 1;
    if first == "std" && is_path && CORE.contains(&ours) {
        let part = path.segments.get(1).map_or("*", String::as_str);
        let is_pure = !IMPURE.contains(&part) && !["*", "self"].contains(&part);
        return (!is_pure).then(|| format!("the core does without std::{part}"));
    }
    if !is_path || !packages.iter().any(|package| package == first) {
        return None;
    }
    if CORE.contains(&ours) && !CORE_PACKAGES.contains(&first) {
        return Some(format!("the core does without {first}"));
    }
    let (_, homes) = HOMES.iter().find(|(package, _)| *package == first)?;
    let is_home = homes.contains(&ours);
    (!is_home).then(|| format!("{first} is known to {} alone", homes.join(" and ")))
}

/// The module that a file holds, from the root: `src/intake/scan.rs` is `[intake, scan]`.
fn module_of(file: &str) -> Vec<String> {
    let inner = file.trim_start_matches("src/").trim_end_matches(".rs");
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    let parts = inner.split('/').map(str::to_owned);
    if ["main", "lib"].contains(&inner) { Vec::new() } else { parts.collect() }
}

fn root_name(file: &str) -> &'static str {
    if file == "src/main.rs" { "main" } else { "lib" }
}
