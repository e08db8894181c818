//! Every query of dashboard, rules and runbook, run against a Prometheus that scrapes a service
//! with work.

use super::dashboard::{dashboard, panels, targets};
use super::prometheus::{Prometheus, scraped};
use super::promql::names;
use super::runbook;
use crate::kit::Sandbox;
use crate::kit::cases::some;
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeSet;

/// A query, where it stands, and the labels by which its results are named.
struct Query {
    place: String,
    expr: String,
    labels: Vec<String>,
}

impl Query {
    fn new(place: impl Into<String>, expr: impl Into<String>, template: &str) -> Query {
        let named = template.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
        let labels = named.map(|label| label.trim().to_owned()).collect();
        Query { place: place.into(), expr: expr.into(), labels }
    }

    /// What is wrong with what it names: metrics, matchers or labels of which there are none.
    fn unknown(&self, prometheus: &Prometheus) -> Vec<String> {
        let mut unknown = Vec::new();
        let mut known = BTreeSet::new();
        let names = names(&self.expr);
        for selector in &names.selectors {
            let text = format!("{}{}", selector.metric, selector.matchers);
            let labels =
                prometheus.series(&text).iter().flat_map(label_names).collect::<BTreeSet<_>>();
            if labels.is_empty() {
                unknown.push(format!("no series is {text}"));
            }
            let missing = selector.labels.iter().filter(|label| !labels.contains(*label));
            unknown.extend(missing.map(|label| format!("{text} has no label {label}")));
            known.extend(labels);
        }
        if names.selectors.is_empty() {
            unknown.push("it names nothing".into());
        }
        let missing = names.labels.iter().filter(|label| !known.contains(*label));
        unknown.extend(missing.map(|label| format!("no label is {label}")));
        unknown
    }

    /// What is wrong with what it gives: nothing, no number, or results without the labels by which
    /// they are named.
    fn missing(&self, prometheus: &Prometheus) -> Option<String> {
        let results = match prometheus.try_query(&self.expr) {
            Ok(results) => results,
            Err(error) => return Some(error),
        };
        if results.is_empty() {
            return Some("it gives nothing".into());
        }
        results.iter().find_map(|result| {
            let labels = label_names(&result["metric"]).collect::<BTreeSet<_>>();
            let missing = self.labels.iter().find(|label| !labels.contains(*label));
            let is_number = result["value"][1].as_str().is_some_and(|value| value != "NaN");
            match missing {
                Some(label) => Some(format!("{result} has no label {label}")),
                None if is_number => None,
                None => Some(format!("{result} is no number")),
            }
        })
    }

    fn outcome(&self, wrong: &str) -> String {
        format!("{}: {}: {wrong}\n", self.place, self.expr)
    }
}

fn label_names(metric: &Value) -> impl Iterator<Item = String> {
    let labels = metric.as_object().into_iter().flat_map(|labels| labels.keys());
    labels.cloned().collect::<Vec<_>>().into_iter()
}

/// The queries of the dashboard, as Grafana sends them for this instance.
fn of_dashboard(instance: &str) -> Vec<Query> {
    let dashboard = dashboard();
    let queries = panels(&dashboard).flat_map(|panel| {
        let title = panel["title"].as_str().unwrap();
        targets(panel).map(move |(expr, legend)| {
            let expr = expr.replace("$instance", instance).replace("$__rate_interval", "5m");
            assert!(!expr.contains('$'), "{title}: {expr}");
            Query::new(format!("panel {title}"), expr, legend)
        })
    });
    queries.collect()
}

/// Hands in work of every kind until none of these queries lacks anything.
#[track_caller]
fn work_until_all_give_data(sandbox: &mut Sandbox, prometheus: &Prometheus, queries: &[Query]) {
    let number = Cell::new(0);
    sandbox.wait_until("all queries give data", |sandbox| {
        for i in number.get()..number.get() + 5 {
            sandbox.rename_in(format!("team/{i}"), some(i));
        }
        number.set(number.get() + 5);
        let lacks =
            queries.iter().filter_map(|query| Some(query.outcome(&query.missing(prometheus)?)));
        let lacks = lacks.collect::<String>();
        // Shown if the condition never comes true.
        eprintln!("{lacks}");
        lacks.is_empty()
    });
}

#[test]
fn every_query_names_existing_series_and_gives_data() {
    let Some((mut sandbox, prometheus)) = scraped() else { return };
    let mut queries = of_dashboard(&sandbox.service().address().to_string());
    assert!(queries.len() > 50);
    queries.extend(runbook::queries().into_iter().map(|expr| Query::new("runbook", expr, "")));
    let rules = prometheus.rules();
    let (alerts, records): (Vec<_>, Vec<_>) =
        rules.iter().partition(|rule| rule["type"] == "alerting");
    assert!(alerts.len() > 10 && records.len() > 5);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    queries.extend(
        records.iter().map(|rule| Query::new(text(&rule["name"]), text(&rule["query"]), "")),
    );
    work_until_all_give_data(&mut sandbox, &prometheus, &queries);
    // While all is well alerts give nothing; what they name is there all the same.
    for rule in alerts {
        let query = Query::new(text(&rule["name"]), text(&rule["query"]), "");
        assert_eq!(prometheus.query(&query.expr), Vec::<Value>::new(), "{}", query.place);
        queries.push(query);
    }
    let outcome = queries.iter().flat_map(|query| {
        query.unknown(&prometheus).into_iter().map(|wrong| query.outcome(&wrong))
    });
    assert_eq!(outcome.collect::<String>(), "");
}

#[test]
fn queries_for_missing_series_are_found() {
    let Some((mut sandbox, prometheus)) = scraped() else { return };
    for (expr, wrong) in [
        ("gridmark_redy", "no series is gridmark_redy"),
        (r#"gridmark_submissions_total{status="wrong"}"#, "no series is"),
        (r#"gridmark_submissions_total{statsu!="failed"}"#, "has no label statsu"),
        ("sum by (kinds) (gridmark_cases_total)", "no label is kinds"),
        ("1 + 1", "it names nothing"),
    ] {
        let unknown = Query::new("", expr, "").unknown(&prometheus);
        assert!(unknown.iter().any(|it| it.contains(wrong)), "{expr}: {unknown:?}");
    }
    for (expr, legend, wrong) in [
        ("gridmark_ready == 2", "", "it gives nothing"),
        ("gridmark_ready / 0 - gridmark_ready / 0", "", "is no number"),
        ("gridmark_ready", "{{instance}} {{kind}}", "has no label kind"),
        ("gridmark_ready +", "", "parse error"),
    ] {
        let query = Query::new("", expr, legend);
        sandbox
            .wait_until(wrong, |_| query.missing(&prometheus).is_some_and(|it| it.contains(wrong)));
    }
}

#[test]
fn every_metric_of_the_service_is_in_the_dashboard() {
    let Some((_sandbox, prometheus)) = scraped() else { return };
    let mut shown = BTreeSet::new();
    let mut queries = of_dashboard("x").into_iter().map(|query| query.expr).collect::<Vec<_>>();
    let rules = prometheus.rules();
    while let Some(expr) = queries.pop() {
        for selector in names(&expr).selectors {
            let record = rules.iter().find(|rule| rule["name"] == *selector.metric);
            queries.extend(record.map(|rule| rule["query"].as_str().unwrap().to_owned()));
            shown.insert(base(&selector.metric));
        }
    }
    let all = prometheus.series(r#"{__name__=~"gridmark_.*"}"#);
    let all = all.iter().map(|series| base(series["__name__"].as_str().unwrap()));
    let missing = all.filter(|metric| !shown.contains(metric)).collect::<BTreeSet<_>>();
    assert_eq!(missing, BTreeSet::new());
}

/// The name of a metric without the parts of a histogram.
fn base(name: &str) -> String {
    let parts = ["_bucket", "_sum", "_count"];
    parts.iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name).to_owned()
}
