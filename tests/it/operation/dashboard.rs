//! The Grafana dashboard: what it is made of. Whether its queries hold, `queries` tests.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The kinds of panels and units in use; a misspelt one shows nothing.
const KINDS: [&str; 3] = ["stat", "table", "timeseries"];
const UNITS: [&str; 5] = ["Bps", "bytes", "cps", "s", "short"];
/// The width of a dashboard.
const COLUMNS: u64 = 24;

/// The dashboard.
pub(super) fn dashboard() -> Value {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/grafana/dashboards/gridmark.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The panels that show something.
pub(super) fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    let panels = dashboard["panels"].as_array().unwrap();
    panels.iter().filter(|panel| panel["type"] != "row")
}

/// The queries of a panel, each with how its results are named.
pub(super) fn targets(panel: &Value) -> impl Iterator<Item = (&str, &str)> {
    let targets = panel["targets"].as_array().unwrap();
    targets
        .iter()
        .map(|target| (target["expr"].as_str().unwrap(), target["legendFormat"].as_str().unwrap()))
}

#[test]
fn every_panel_says_what_it_shows() {
    let dashboard = dashboard();
    assert_eq!(dashboard["uid"], "gridmark");
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 39);
    let mut titles = BTreeSet::new();
    for panel in panels(&dashboard) {
        let text = |name: &str| panel[name].as_str().unwrap_or_default();
        let title = text("title");
        assert!(titles.insert(title.to_owned()) && !title.is_empty(), "{title}: twice, or none");
        assert!(text("description").ends_with('.'), "{title}: no description");
        assert!(KINDS.contains(&text("type")), "{title}: {}", text("type"));
        let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap_or_default();
        assert!(UNITS.contains(&unit), "{title}: the unit {unit:?}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        assert!(targets(panel).count() > 0, "{title}: no query");
        let ids =
            panel["targets"].as_array().unwrap().iter().map(|target| target["refId"].as_str());
        let distinct = ids.clone().collect::<BTreeSet<_>>();
        assert!(!distinct.contains(&None) && distinct.len() == ids.count(), "{title}: refId");
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let variables = variables.map(|variable| variable["name"].as_str().unwrap());
    assert_eq!(variables.collect::<Vec<_>>(), ["datasource", "instance"]);
}

#[test]
fn panels_do_not_overlap() {
    let dashboard = dashboard();
    let all = dashboard["panels"].as_array().unwrap();
    let ids = all.iter().map(|panel| panel["id"].as_u64().unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(ids.len(), all.len());
    let mut taken = BTreeSet::new();
    for panel in all {
        let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(at("x") + at("w") <= COLUMNS, "{}", panel["title"]);
        for y in at("y")..at("y") + at("h") {
            for x in at("x")..at("x") + at("w") {
                assert!(taken.insert((x, y)), "{} lies on another panel", panel["title"]);
            }
        }
    }
}
