//! The page of results.

use std::io::Write;

/// The results so far.
#[derive(Default)]
pub struct Page {
    lines: Vec<Line>,
    notes: Vec<String>,
}

struct Line {
    what: String,
    measured: f64,
    goal: Goal,
    unit: &'static str,
}

/// What a result must be.
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Page {
    /// Adds a result with a goal.
    pub fn add(&mut self, what: impl Into<String>, measured: f64, unit: &'static str, goal: Goal) {
        self.lines.push(Line { what: what.into(), measured, goal, unit });
    }

    /// Adds a result without a goal.
    pub fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// Prints all results, those with a goal last.
    pub fn print(&self) {
        let mut out = std::io::stdout().lock();
        let mut print = |line: &str| writeln!(out, "{line}").expect("standard output");
        if !self.notes.is_empty() {
            print("\nOther results");
            self.notes.iter().for_each(|line| print(&format!("  {line}")));
        }
        if self.lines.is_empty() {
            return;
        }
        print(&format!("\n{:<66} {:>9}  {:>12}", "The goals", "measured", "goal"));
        for Line { what, measured, goal, unit } in &self.lines {
            let (word, bound, is_met) = match goal {
                Goal::AtLeast(least) => (">=", least, measured >= least),
                Goal::AtMost(most) => ("<=", most, measured <= most),
            };
            let met = if is_met { "met" } else { "NOT MET" };
            let goal = format!("{word} {bound}{unit}");
            print(&format!("{what:<66} {measured:>9.3}  {goal:>12}  {met}"));
        }
    }
}
