//! The real Prometheus, with the files of `deploy/prometheus`.

use super::runbook::RUNBOOK;
use crate::kit::Sandbox;
use crate::kit::cases::{classic, some};
use crate::kit::needs::{find_program, programs};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How often Prometheus scrapes and evaluates here, so that nobody waits.
const PERIOD: &str = "500ms";

/// Nobody listens here.
const NOBODY: &str = "127.0.0.1:9";

/// A path in `deploy/prometheus`.
pub(super) fn deployed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/prometheus").join(name)
}

/// A Prometheus that runs with the files that are deployed.
pub(super) struct Prometheus {
    child: Child,
    folder: TempDir,
    address: Option<SocketAddr>,
}

impl Prometheus {
    /// One that scrapes the running service of this sandbox and sends alerts to that Alertmanager. Waits until it has scraped for the first time.
    pub(super) fn start(sandbox: &mut Sandbox, alertmanager: &str) -> Prometheus {
        let folder = tempfile::Builder::new().prefix("gridmark-test-").tempdir().unwrap();
        fs::create_dir(folder.path().join("rules")).unwrap();
        for rules in ["rules/gridmark-records.yml", "rules/gridmark-alerts.yml"] {
            fs::copy(deployed(rules), folder.path().join(rules)).unwrap();
        }
        let mut config = fs::read_to_string(deployed("prometheus.yml")).unwrap();
        let target = sandbox.service().address().to_string();
        for (deployed, here) in
            [("127.0.0.1:9464", &*target), ("127.0.0.1:9093", alertmanager), (" 15s\n", " 500ms\n")]
        {
            assert!(config.contains(deployed), "{deployed}");
            config = config.replace(deployed, here);
        }
        assert_eq!(config.matches(PERIOD).count(), 2, "{config}");
        fs::write(folder.path().join("prometheus.yml"), config).unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let child = Command::new(find_program("prometheus").unwrap())
            .current_dir(folder.path())
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .arg("--web.listen-address=127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut prometheus = Prometheus { child, folder, address: None };
        sandbox.wait_until("Prometheus listens", |_| prometheus.find_address());
        sandbox.wait_until("Prometheus has scraped", |_| {
            let found = prometheus.try_query("gridmark_commit_errors_total");
            found.is_ok_and(|found| !found.is_empty())
        });
        prometheus
    }

    /// The first line of what is answered at this path.
    pub(super) fn status(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address.unwrap()).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
    }

    fn find_address(&mut self) -> bool {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "{}", self.log());
        let log = self.log();
        let line = log.lines().find(|line| line.contains("\"Listening on\"")).unwrap_or_default();
        self.address = line.split("address=").nth(1).and_then(|rest| rest.trim().parse().ok());
        self.address.is_some()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// The data of the answer to a question, or what is wrong with it.
    fn ask(&self, path: &str, field: &str, value: &str) -> Result<Value, String> {
        let url = |text: &str| -> String {
            text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>()
        };
        let query =
            if field.is_empty() { String::new() } else { format!("{field}={}", url(value)) };
        let mut stream = TcpStream::connect(self.address.unwrap()).unwrap();
        write!(stream, "GET /api/v1/{path}?{query} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let mut answer: Value =
            serde_json::from_str(body).map_err(|error| format!("{error}: {answer}"))?;
        match answer["status"].as_str() {
            Some("success") => Ok(answer["data"].take()),
            _ => Err(answer["error"].to_string()),
        }
    }

    /// What a query gives now, or what is wrong with it.
    pub(super) fn try_query(&self, expr: &str) -> Result<Vec<Value>, String> {
        let data = self.ask("query", "query", expr)?;
        Ok(data["result"].as_array().cloned().unwrap_or_default())
    }

    /// What a query gives now.
    #[track_caller]
    pub(super) fn query(&self, expr: &str) -> Vec<Value> {
        self.try_query(expr).unwrap_or_else(|error| panic!("{expr}: {error}"))
    }

    /// The labels of each series that this selector finds.
    #[track_caller]
    pub(super) fn series(&self, selector: &str) -> Vec<Value> {
        let found = self.ask("series", "match[]", selector);
        let found = found.unwrap_or_else(|error| panic!("{selector}: {error}"));
        found.as_array().cloned().unwrap_or_default()
    }

    /// All rules, alerts and records.
    pub(super) fn rules(&self) -> Vec<Value> {
        let data = self.ask("rules", "", "").unwrap();
        let groups = data["groups"].as_array().unwrap();
        groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
    }

    /// The names of the alerts that are in this state.
    fn alerts(&self, state: &str) -> Vec<String> {
        let data = self.ask("alerts", "", "").unwrap();
        let alerts = data["alerts"].as_array().unwrap().iter();
        let alerts = alerts.filter(|alert| alert["state"] == state);
        alerts.map(|alert| alert["labels"]["alertname"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stands where an Alertmanager does.
struct Receiver(TcpListener);

impl Receiver {
    fn new() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Receiver(listener)
    }

    /// The alerts that Prometheus wants to hand over now.
    fn receive(&self) -> Vec<Value> {
        let Ok((mut stream, _)) = self.0.accept() else { return Vec::new() };
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut request = Vec::new();
        let body = loop {
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&request);
            let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if read == 0 || length.is_some_and(|length| length.parse() == Ok(body.len())) {
                break body.to_owned();
            }
        };
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        serde_json::from_str::<Value>(&body).unwrap().as_array().unwrap().clone()
    }
}

/// Runs one of the tools on files that are deployed; none if it is missing.
fn run_tool(name: &str, args: &[&str], input: Option<&str>) -> Option<Output> {
    if !programs(&[name]) {
        return None;
    }
    let mut child = Command::new(find_program(name).unwrap())
        .args(args)
        .current_dir(deployed(""))
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some(input) = input {
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    }
    Some(child.wait_with_output().unwrap())
}

#[track_caller]
fn went_well(output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}

#[test]
fn promtool_finds_nothing_wrong_with_the_metrics() {
    if !programs(&["promtool"]) {
        return;
    }
    let mut sandbox = Sandbox::started();
    for i in 0..20 {
        sandbox.rename_in(format!("team/{i}"), some(i));
    }
    sandbox.wait_for(20);
    let answer = sandbox.service().get("/metrics");
    let (_, metrics) = answer.split_once("\r\n\r\n").unwrap();
    let output = run_tool("promtool", &["check", "metrics"], Some(metrics)).unwrap();
    let printed = went_well(&output);
    assert_eq!(printed + &String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn the_configuration_and_the_rules_are_good() {
    let lint = ["--lint=all", "--lint-fatal"];
    let config = [&["check", "config"], &lint[..], &["prometheus.yml"]].concat();
    let Some(output) = run_tool("promtool", &config, None) else { return };
    let printed = went_well(&output);
    assert!(printed.contains("SUCCESS: 2 rule files found"), "{printed}");
    let rules = ["rules/gridmark-records.yml", "rules/gridmark-alerts.yml"];
    let rules = [&["check", "rules"], &lint[..], &rules].concat();
    went_well(&run_tool("promtool", &rules, None).unwrap());
}

#[test]
fn alerts_fire_when_they_should_and_only_then() {
    let args = ["test", "rules", "tests/gridmark-alerts.yml"];
    let Some(output) = run_tool("promtool", &args, None) else { return };
    went_well(&output);
}

#[test]
fn pages_and_tickets_go_to_their_receivers() {
    let Some(output) = run_tool("amtool", &["check-config", "alertmanager.yml"], None) else {
        return;
    };
    went_well(&output);
    for severity in ["page", "ticket"] {
        let labels = format!("severity={severity}");
        let args = ["config", "routes", "test", "--config.file=alertmanager.yml", &labels];
        let output = run_tool("amtool", &args, None).unwrap();
        assert_eq!(went_well(&output).trim(), severity);
    }
}

#[test]
fn every_documented_page_of_prometheus_exists() {
    if !programs(&["prometheus"]) {
        return;
    }
    let mut sandbox = Sandbox::started();
    let prometheus = Prometheus::start(&mut sandbox, NOBODY);
    let mut named = 0;
    for (page, text) in crate::documents::documents() {
        for path in text.split("http://127.0.0.1:9090").skip(1) {
            let path = path.split([' ', '`', '\'', '"', '\n', '#', '|']).next().unwrap();
            if path.starts_with('/') {
                let status = prometheus.status(path);
                assert!(status.ends_with(" 200 OK"), "{page}: {path}: {status}");
                named += 1;
            }
        }
    }
    assert!(named > 5, "{named}");
}

#[test]
fn alerts_reach_the_alertmanager() {
    if !programs(&["prometheus"]) {
        return;
    }
    let mut sandbox = Sandbox::started();
    let receiver = Receiver::new();
    let address = receiver.0.local_addr().unwrap().to_string();
    let prometheus = Prometheus::start(&mut sandbox, &address);
    sandbox.rename_in("team/1", classic(1, "YN"));
    sandbox.wait_for(1);
    // A scrape may come late here, so that for a moment there is no target.
    sandbox.wait_until("all rules were evaluated and are well", |_| {
        prometheus.rules().iter().all(|rule| rule["health"] == "ok")
            && prometheus.alerts("pending").is_empty()
    });
    // What was absent before the first scrape was pending for a moment.
    sandbox.wait_until("no alert is pending", |_| prometheus.alerts("pending").is_empty());
    assert_eq!(prometheus.alerts("firing"), [""; 0]);

    sandbox.write("reports/folders/team.csv", "edited\n");
    let mut printed = Vec::new();
    sandbox.wait_until("the alert arrives", |_| {
        printed.extend(receiver.receive());
        !printed.is_empty()
    });
    assert_eq!(prometheus.alerts("firing"), ["GridmarkReportsChanged"]);
    assert_eq!(printed[0]["labels"]["alertname"], "GridmarkReportsChanged");
    assert_eq!(printed[0]["labels"]["severity"], "ticket");
    assert_eq!(printed[0]["labels"]["instance"], *sandbox.service().address().to_string());
    let entry = format!("{RUNBOOK}#gridmarkreportschanged");
    assert_eq!(printed[0]["annotations"]["runbook"], entry);

    sandbox.stop();
    sandbox.wait_until("it is missed", |_| {
        prometheus.alerts("pending").contains(&"GridmarkDown".to_owned())
    });
}

/// A Prometheus that scrapes the service of a new sandbox; none where Prometheus is missing.
pub(super) fn scraped() -> Option<(Sandbox, Prometheus)> {
    if !programs(&["prometheus"]) {
        return None;
    }
    let mut sandbox = Sandbox::started();
    let prometheus = Prometheus::start(&mut sandbox, NOBODY);
    Some((sandbox, prometheus))
}
