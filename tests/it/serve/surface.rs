//! What operators see: metrics, health and log.

use crate::kit::Sandbox;
use crate::kit::cases::{hexudoku, some};
use crate::kit::reports::Row;

#[test]
fn every_series_is_there_at_zero_from_the_start() {
    let mut sandbox = Sandbox::new();
    // Not ready: nothing may have been counted yet that could make a series appear.
    sandbox.set("publish.disk_free_bytes_min", i64::MAX).start_unready();
    let metrics = sandbox.service().metrics();
    let mut zeros = Vec::new();
    for status in ["graded", "unreadable", "failed"] {
        zeros.push(format!(r#"gridmark_submissions_total{{status="{status}"}}"#));
    }
    for kind in ["killer", "classic", "hexudoku"] {
        for verdict in ["correct", "wrong", "unreadable", "counted"] {
            zeros.push(format!(r#"gridmark_cases_total{{kind="{kind}",verdict="{verdict}"}}"#));
        }
        zeros.push(format!(r#"gridmark_grade_seconds_count{{kind="{kind}"}}"#));
        zeros.push(format!(r#"gridmark_grade_seconds_bucket{{kind="{kind}",le="+Inf"}}"#));
    }
    for via in ["event", "scan"] {
        zeros.push(format!(r#"gridmark_found_total{{via="{via}"}}"#));
    }
    for reason in ["timer", "overflow", "folder", "watch-error"] {
        assert!(metrics.find(&format!(r#"gridmark_scans_total{{reason="{reason}"}}"#)).is_some());
    }
    for name in ["batch_cases", "latency_seconds", "commit_seconds"] {
        zeros.push(format!("gridmark_{name}_count"));
        zeros.push(format!(r#"gridmark_{name}_bucket{{le="+Inf"}}"#));
    }
    for name in [
        "read_bytes_total",
        "report_bytes_total",
        "queue_files",
        "queue_bytes",
        "in_flight_files",
        "oldest_waiting_seconds",
        "watch_overflows_total",
        "ignored_files",
        "inbox_files",
        "quarantined_files",
        "ready",
        "watch_degraded",
    ] {
        zeros.push(format!("gridmark_{name}"));
    }
    for series in zeros {
        assert_eq!(metrics.of(&series), 0.0, "{series}");
    }
    let modes = metrics.sum("gridmark_watch_mode");
    assert!(modes == 0.0 || modes == 1.0, "{modes}");
    assert!(metrics.find("gridmark_scan_seconds_count").is_some());
    assert!(metrics.of("gridmark_disk_free_bytes") > 0.0);
    assert_eq!(metrics.of("gridmark_disk_free_min_bytes"), i64::MAX as f64);
    assert_eq!(metrics.of("gridmark_live"), 1.0);
    assert_eq!(metrics.sum("gridmark_build_info"), 1.0);
    let (info, _) = metrics.series("gridmark_build_info").next().unwrap();
    let version = format!(r#"version="{}""#, env!("CARGO_PKG_VERSION"));
    assert!(info.contains(&version) && info.contains("kernel="), "{info}");
    for name in ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"] {
        assert!(metrics.of(name) >= 0.0, "{name}");
    }
}

#[test]
fn metrics_agree_with_the_reports() {
    let mut sandbox = Sandbox::started();
    for i in 0..120 {
        sandbox.rename_in(format!("team {}/p{i}", i % 4), some(i));
    }
    let rows = sandbox.wait_for(120);
    sandbox.wait_until("gauges are back at zero", |sandbox| {
        let metrics = sandbox.service().metrics();
        let gauges = ["queue_files", "queue_bytes", "in_flight_files", "oldest_waiting_seconds"];
        gauges.iter().all(|gauge| metrics.of(&format!("gridmark_{gauge}")) == 0.0)
            && metrics.of("gridmark_latency_seconds_count") == 120.0
    });
    let metrics = sandbox.service().metrics();
    for status in ["graded", "unreadable", "failed"] {
        let series = format!(r#"gridmark_submissions_total{{status="{status}"}}"#);
        let counted = rows.iter().filter(|row| row.get("status") == status).count();
        assert_eq!(metrics.of(&series), counted as f64, "{series}");
    }
    let cases: Vec<Row> =
        (0..4).flat_map(|i| sandbox.rows(format!("folders/team {i}.csv"))).collect();
    for (series, value) in metrics.series("gridmark_cases_total") {
        let counted = cases.iter().filter(|row| {
            let kind = if row.get("kind").is_empty() { "unknown" } else { row.get("kind") };
            let verdict = row.get("verdict");
            series.contains(&format!(r#"kind="{kind}""#))
                && series.contains(&format!(r#"verdict="{verdict}""#))
        });
        assert_eq!(value, counted.count() as f64, "{series}");
    }
    assert_eq!(metrics.sum("gridmark_cases_total"), cases.len() as f64);
    let bytes: u64 = rows.iter().map(|row| row.number("bytes")).sum();
    assert_eq!(metrics.of("gridmark_read_bytes_total"), bytes as f64);
    let reports = ["submissions.csv".to_owned()]
        .into_iter()
        .chain((0..4).map(|i| format!("folders/team {i}.csv")));
    let written: u64 =
        reports.map(|report| sandbox.text(format!("reports/{report}")).len() as u64).sum();
    assert_eq!(metrics.of("gridmark_report_bytes_total"), written as f64);
    assert_eq!(metrics.sum("gridmark_found_total"), 120.0);
    assert_eq!(metrics.of("gridmark_claimed_total"), 120.0);
    assert_eq!(metrics.of("gridmark_batch_cases_sum"), cases.len() as f64);
    for errors in ["claim", "grade", "commit", "scan", "watch"] {
        assert_eq!(metrics.of(&format!("gridmark_{errors}_errors_total")), 0.0);
    }
}

#[test]
fn the_service_is_alive_and_ready_while_it_works() {
    let sandbox = Sandbox::started();
    for path in ["/livez", "/readyz"] {
        assert!(sandbox.service().get(path).starts_with("HTTP/1.1 200 OK\r\n"), "{path}");
    }
    let metrics = sandbox.service().metrics();
    for series in [r#"gridmark_watch_mode{mode="events"}"#, "gridmark_ready", "gridmark_live"] {
        assert_eq!(metrics.of(series), 1.0, "{series}");
    }
}

#[test]
fn the_log_is_plain_lines_on_standard_error_and_nothing_is_on_standard_output() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
    let ended = sandbox.terminate();
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), ""), "{}", ended.log);
    assert!(!ended.log.contains('\x1b'), "{}", ended.log);
    for outcome in ["gridmark grades", "are served", " ready", "SIGTERM", "stopped: all"] {
        assert!(ended.log.contains(outcome), "{outcome} in {}", ended.log);
    }
}

#[test]
fn the_log_is_one_json_object_per_line_if_set_so() {
    let mut sandbox = Sandbox::new();
    sandbox.set("log.format", "json").set("log.level", "debug").start();
    sandbox.rename_in("a \"b\"\n", hexudoku(1));
    sandbox.wait_for(1);
    let ended = sandbox.terminate();
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), ""), "{}", ended.log);
    for line in ended.log.lines() {
        assert!(line.starts_with(r#"{"timestamp":"2"#) && line.ends_with('}'), "{line}");
        assert!(line.contains(r#""level":"#) && line.contains(r#""message":""#), "{line}");
    }
    let name = r#""name":"a \"b\"\\x0A""#;
    assert!(ended.log.contains(name), "{}", ended.log);
}
