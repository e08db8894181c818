//! How fast gridmark is, compared with only reading, writing and adding up the same bytes.
//!
//! `cargo bench` measures everything and ends with a page of ratios, each with its goal. A word
//! such as `killer` selects the parts with that word in their names. `cargo test --benches` runs
//! every part once, with little work, and prints no page. Every run asserts the correct answers.
//!
//! `benches/README.md` says what is compared with what, and lists results.

mod certify;
mod growth;
mod judges;
mod latency;
mod page;
mod program;
mod service;
mod standings;
mod start;
mod work;

use page::Page;

/// Which parts run, and how.
pub struct Plan {
    measuring: bool,
    words: Vec<String>,
}

impl Plan {
    /// The plan that the command line asks for.
    fn from_args() -> Plan {
        let arguments = std::env::args().skip(1).collect::<Vec<_>>();
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        Plan {
            measuring: has("--bench") && !has("--test"),
            words: arguments.into_iter().filter(|argument| !argument.starts_with('-')).collect(),
        }
    }

    /// Whether times are measured: by `cargo bench`, unless with `--test`.
    pub fn is_measuring(&self) -> bool {
        self.measuring
    }

    /// Whether the part with this name runs.
    pub fn wants(&self, part: &str) -> bool {
        let is_meant = |word: &String| part.contains(word.as_str()) || word.contains(part);
        self.words.is_empty() || self.words.iter().any(is_meant)
    }

    /// Whether a part whose name starts with `start` is asked for explicitly.
    pub fn asks_for(&self, start: &str) -> bool {
        self.words.iter().any(|word| word.starts_with(start))
    }

    /// The first value when times are measured, the second when only answers are checked.
    pub fn either<T>(&self, to_measure: T, to_test: T) -> T {
        if self.measuring { to_measure } else { to_test }
    }
}

fn main() {
    let plan = Plan::from_args();
    let mut page = Page::default();
    // First, while the disk has nothing to do for anybody.
    latency::run(&plan, &mut page);
    judges::run(&plan, &mut page);
    certify::run(&plan, &mut page);
    service::run(&plan, &mut page);
    start::run(&plan, &mut page);
    standings::run(&plan, &mut page);
    growth::run(&plan);
    if plan.is_measuring() {
        page.print();
    }
}
