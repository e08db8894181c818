//! The page of results.

use std::io::Write;

/// What has been measured.
#[derive(Default)]
pub struct Page {
    lines: Vec<Line>,
    beside: Vec<String>,
}

struct Line {
    what: String,
    measured: f64,
    goal: Goal,
    unit: &'static str,
}

/// What a figure has to be.
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Page {
    /// A line with a goal.
    pub fn add(&mut self, what: impl Into<String>, measured: f64, unit: &'static str, goal: Goal) {
        self.lines.push(Line { what: what.into(), measured, goal, unit });
    }

    /// A line without one.
    pub fn note(&mut self, line: String) {
        self.beside.push(line);
    }

    /// Prints all lines, those with a goal last.
    pub fn print(&self) {
        let mut out = std::io::stdout().lock();
        let mut print = |line: &str| writeln!(out, "{line}").expect("standard output");
        if !self.beside.is_empty() {
            print("\nBeside the goals");
            self.beside.iter().for_each(|line| print(&format!("  {line}")));
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
