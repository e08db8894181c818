//! How fast gridmark is, beside what reading, writing and adding up alone cost.
//!
//! `cargo bench` measures all of it and prints a page of ratios last, each with its goal. A word such
//! as `killer` picks the parts with that word in their names. `cargo test --benches` runs every part
//! once, with little work, and prints no page. Every run asserts the right answers.
//!
//! `README.md` beside this folder says what is compared with what, and holds results.

mod growth;
mod judges;
mod latency;
mod page;
mod program;
mod service;
mod work;

use page::Page;

/// What is to be run.
pub struct Plan {
    measuring: bool,
    words: Vec<String>,
}

impl Plan {
    /// What the command line asks for.
    fn from_args() -> Plan {
        let arguments = std::env::args().skip(1).collect::<Vec<_>>();
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        Plan {
            measuring: has("--bench") && !has("--test"),
            words: arguments.into_iter().filter(|argument| !argument.starts_with('-')).collect(),
        }
    }

    /// Whether times are wanted: `cargo bench` says so, unless it is told to test.
    pub fn is_measuring(&self) -> bool {
        self.measuring
    }

    /// Whether the part with this name is to be run.
    pub fn wants(&self, part: &str) -> bool {
        let is_meant = |word: &String| part.contains(word.as_str()) || word.contains(part);
        self.words.is_empty() || self.words.iter().any(is_meant)
    }

    /// Whether a part of this sort, the first word of their names, is asked for.
    pub fn asks_for(&self, sort: &str) -> bool {
        self.words.iter().any(|word| word.starts_with(sort))
    }

    /// The first of the two where times are wanted, the second where only answers are.
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
    service::run(&plan, &mut page);
    growth::run(&plan);
    if plan.is_measuring() {
        page.print();
    }
}
