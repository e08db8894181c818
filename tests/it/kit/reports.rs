//! What the service reports: rows of reports, and metrics.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A row of a report, by column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row(BTreeMap<String, String>);

impl Row {
    /// The value of this column.
    #[track_caller]
    pub fn get(&self, column: &str) -> &str {
        self.0.get(column).unwrap_or_else(|| panic!("no column {column} in {:?}", self.0))
    }

    /// The values of these columns, separated by bars.
    #[track_caller]
    pub fn columns(&self, columns: &[&str]) -> String {
        columns.iter().map(|column| self.get(column)).collect::<Vec<_>>().join("|")
    }

    /// The value of this column, as a number.
    #[track_caller]
    pub fn number(&self, column: &str) -> u64 {
        self.get(column).parse().unwrap()
    }

    /// The row without the columns that hold a time.
    pub fn timeless(mut self) -> Row {
        self.0.retain(|column, _| !column.ends_with("_at"));
        self
    }
}

/// The whole rows of a report; none if it is not there. A row that is just being written is not
/// whole.
pub fn rows(report: &Path) -> Vec<Row> {
    rows_in(&fs::read(report).unwrap_or_default(), report)
}

/// The whole rows in these bytes of a report.
pub fn rows_in(bytes: &[u8], report: &Path) -> Vec<Row> {
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut reader = csv::Reader::from_reader(&bytes[..end]);
    let header = reader.headers().unwrap().clone();
    let rows = reader.records().map(|record| {
        let record = record.unwrap_or_else(|error| panic!("{}: {error}", report.display()));
        let columns = header.iter().map(String::from).zip(record.iter().map(String::from));
        Row(columns.collect())
    });
    rows.collect()
}

/// The rows without times, sorted.
pub fn timeless(rows: Vec<Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.into_iter().map(Row::timeless).collect();
    rows.sort();
    rows
}

/// Metrics by series, as `/metrics` writes them: `name{label="value"}`.
pub struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// Reads the text format of Prometheus.
    pub fn parse(text: &str) -> Metrics {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let series = lines.map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            (series.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
        });
        Metrics(series.collect())
    }

    /// The value of a series, if it exists.
    pub fn find(&self, series: &str) -> Option<f64> {
        self.0.get(series).copied()
    }

    /// The value of a series, which has to exist.
    #[track_caller]
    pub fn of(&self, series: &str) -> f64 {
        self.find(series).unwrap_or_else(|| panic!("no {series} in {:#?}", self.0.keys()))
    }

    /// All series of this name, with any labels.
    pub fn series<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let all = self.0.iter().map(|(series, value)| (series.as_str(), *value));
        all.filter(move |(series, _)| series.split('{').next() == Some(name))
    }

    /// The sum of all series of this name.
    pub fn sum(&self, name: &str) -> f64 {
        self.series(name).map(|(_, value)| value).sum()
    }
}
