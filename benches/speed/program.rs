//! The program, as a process with folders of its own.

use crate::work::Answers;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The folders that the program works in.
pub struct Root(TempDir);

/// What a run of `serve --once` cost.
pub struct Run {
    pub took: Duration,
    /// The bytes of all reports.
    pub report_bytes: u64,
    /// The most resident memory, in bytes, where the system reports it.
    pub peak_bytes: Option<u64>,
}

impl Root {
    /// New folders, with an empty inbox.
    pub fn new() -> Root {
        let root = Root(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder"));
        fs::create_dir(root.folder("inbox")).expect("an inbox");
        root
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file into the inbox: `text`, `times` times.
    pub fn drop_file(&self, name: &str, text: &[u8], times: usize) {
        let path = self.folder("inbox").join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        let mut file = File::create_new(path).expect("a new file");
        (0..times).for_each(|_| file.write_all(text).expect("written"));
    }

    /// Makes everything durable, so that no write is left for later.
    pub fn sync(&self) {
        rustix::fs::syncfs(File::open(self.0.path()).expect("the root")).expect("a sync");
    }

    /// Moves the archived files back into the inbox, and removes everything else.
    pub fn restore(&self) {
        for folder in ["inbox", "quarantine", "reports", "state"] {
            fs::remove_dir_all(self.folder(folder)).or_else(unless_missing).expect("removed");
        }
        fs::rename(self.folder("archive"), self.folder("inbox")).expect("moved back");
        File::open(self.0.path()).and_then(|root| root.sync_all()).expect("a sync");
    }

    /// Grades the inbox, and asserts that the answers are correct.
    pub fn grade(&self, submissions: u64, expected: Answers) -> Run {
        let start = Instant::now();
        let mut program = self.serve(&["--once"]).spawn().expect("the program starts");
        let (process, ended) = (program.id(), AtomicBool::new(false));
        let (status, peak_bytes) = std::thread::scope(|scope| {
            let peak = scope.spawn(|| peak_of(process, &ended));
            let status = program.wait().expect("it ends");
            ended.store(true, Ordering::Release);
            (status, peak.join().expect("a number"))
        });
        let took = start.elapsed();
        let mut said = String::new();
        let _ = program.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
        assert!(status.success(), "{said}");
        assert_eq!(self.reported(), (submissions, expected), "{said}");
        Run { took, report_bytes: bytes_in(&self.folder("reports")), peak_bytes }
    }

    fn serve(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
        command.arg("serve").arg("--root").arg(self.0.path()).args(flags);
        // No file is being written to any more.
        command.args(["--settle", "0", "--listen", "127.0.0.1:0"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// How many submissions the report of submissions lists, and their answers in total.
    pub fn reported(&self) -> (u64, Answers) {
        let path = self.folder("reports/submissions.csv");
        let Ok(mut reader) = csv::Reader::from_path(path) else {
            return (0, Answers::default());
        };
        let headers = reader.headers().expect("a header").clone();
        let column =
            |name: &str| headers.iter().position(|column| column == name).expect("a column");
        let [cases, correct, filled] = ["cases", "correct", "filled"].map(column);
        let (mut submissions, mut answers) = (0, Answers::default());
        for row in reader.records() {
            let row = row.expect("a row");
            let number = |column: usize| row[column].parse::<u64>().expect("a number");
            submissions += 1;
            answers.cases += number(cases);
            answers.correct += number(correct);
            answers.filled += number(filled);
        }
        (submissions, answers)
    }
}

fn unless_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The most resident memory of a process until it ended, in bytes.
fn peak_of(process: u32, ended: &AtomicBool) -> Option<u64> {
    let mut peak = None;
    while !ended.load(Ordering::Acquire) {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = kib.map(|kib| kib << 10).or(peak);
        std::thread::sleep(Duration::from_millis(10));
    }
    peak
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| match entry.metadata().expect("metadata") {
            found if found.is_dir() => bytes_in(&entry.path()),
            found => found.len(),
        })
        .sum()
}

/// A service that runs until it is dropped.
pub struct Service {
    program: Child,
    address: String,
    stderr: BufReader<ChildStderr>,
}

impl Service {
    /// Starts the service over these folders.
    pub fn start(root: &Root) -> Service {
        let mut program = root.serve(&[]).spawn().expect("the program starts");
        let mut stderr = BufReader::new(program.stderr.take().expect("a pipe"));
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("a line") > 0, "it says where it listens");
            if let Some((_, address)) = line.split_once("address=") {
                break address.trim().to_owned();
            }
        };
        let service = Service { program, address, stderr };
        while !service.get("/readyz").starts_with("HTTP/1.1 200 ") {
            std::thread::sleep(Duration::from_millis(5));
        }
        service
    }

    /// The whole answer to a GET request.
    pub fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    }

    /// The value of a metric, by name and labels.
    pub fn metric(&self, series: &str) -> f64 {
        let answer = self.get("/metrics");
        let value = answer.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {series}"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Its output is read, so that it does not block on a full pipe.
        let _ = self.program.kill();
        let _ = io::copy(&mut self.stderr, &mut io::sink());
        let _ = self.program.wait();
    }
}
