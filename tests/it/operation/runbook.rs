//! The runbook: an entry for each alert, and an alert for each entry.

use super::prometheus::deployed;
use std::collections::BTreeSet;
use std::fs;

/// Where the package has it.
pub(super) const RUNBOOK: &str = "/usr/share/gridmark/prometheus/RUNBOOK.md";

fn read(name: &str) -> String {
    fs::read_to_string(deployed(name)).unwrap()
}

/// The alerts that the rules define.
fn alerts() -> BTreeSet<String> {
    let rules = read("rules/gridmark-alerts.yml");
    let names = rules.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: "));
    names.map(str::to_owned).collect()
}

/// The entries, by the names of alerts.
fn entries(runbook: &str) -> impl Iterator<Item = (&str, &str)> {
    runbook.split("\n## ").skip(1).map(|entry| entry.split_once('\n').unwrap())
}

/// The queries that the runbook shows.
pub(super) fn queries() -> Vec<String> {
    let runbook = read("RUNBOOK.md");
    let blocks = runbook.split("```promql\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    blocks
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_alert_has_an_entry_and_every_entry_an_alert() {
    let runbook = read("RUNBOOK.md");
    let outcome = entries(&runbook).map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(outcome, alerts());
    let rules = read("rules/gridmark-alerts.yml");
    for (name, entry) in entries(&runbook) {
        let parts = ["Means: ", "\nLook at:", "\nDo: "].map(|part| entry.find(part));
        assert!(parts.iter().all(Option::is_some) && parts.is_sorted(), "{name}: {parts:?}");
        let rule = rules.split("- alert: ").find(|rule| rule.lines().next() == Some(name)).unwrap();
        let severity = if rule.contains("severity: page") { "Page." } else { "Ticket." };
        assert!(entry.trim_start().starts_with(severity), "{name} is no {severity}");
        let link = format!("runbook: \"{RUNBOOK}#{}\"", name.to_lowercase());
        assert!(rule.contains(&link), "{name} has no {link}");
    }
    assert!(queries().len() > 10);
}

#[test]
fn links_within_the_runbook_lead_to_entries() {
    let runbook = read("RUNBOOK.md");
    let links = runbook.split("](#").skip(1).map(|rest| rest.split(')').next().unwrap());
    let entries = alerts().iter().map(|name| name.to_lowercase()).collect::<BTreeSet<_>>();
    for link in links {
        assert!(entries.contains(link), "{link}");
    }
}

#[test]
fn every_alert_has_a_test_in_which_it_fires() {
    let tests = read("tests/gridmark-alerts.yml");
    let fires = tests.split("alertname: ").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once('\n')?;
        rest.trim_start().starts_with("exp_alerts:\n").then(|| name.to_owned())
    });
    assert_eq!(fires.collect::<BTreeSet<_>>(), alerts());
}
