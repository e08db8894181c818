//! What axe-core finds wrong with a page for people who cannot see it well, or use no mouse.

use super::Browser;
use crate::kit::needs::axe_core;
use serde_json::Value;

/// The rules up to WCAG 2.2 AA, and those that are only advice. Experimental ones are not among them.
const RULES: &str = "{
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    // Alone among them it is off by default.
    rules: { 'target-size': { enabled: true } },
    resultTypes: ['violations'],
    preload: false,
}";

impl Browser {
    /// What is wrong with the page as it is shown now, a line for each element; none where axe-core is
    /// missing.
    #[track_caller]
    pub fn axe(&self) -> Option<Vec<String>> {
        let axe = axe_core()?;
        let found = self.script(&format!("{axe}\nreturn axe.run(document, {RULES})"));
        let rules_checked = found["passes"].as_array().map_or(0, Vec::len);
        assert!(rules_checked > 0, "axe-core has checked nothing: {found}");
        Some(found["violations"].as_array().unwrap().iter().flat_map(lines).collect())
    }
}

fn lines(violation: &Value) -> impl Iterator<Item = String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().replace('\n', " ");
    let rule = format!("{} ({})", text(&violation["id"]), text(&violation["impact"]));
    violation["nodes"].as_array().unwrap().iter().map(move |node| {
        let place = node["target"].to_string();
        format!("{rule} at {place}: {} {}", text(&node["failureSummary"]), text(&node["html"]))
    })
}
