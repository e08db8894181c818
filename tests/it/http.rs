//! Metrics and health over real connections, with clients of every kind.

use gridmark::service::http::{self, Options, Question, ReloadsAnswer, Surface, WhyAnswer};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// Long enough for anything that a test waits for; waiting ends when it comes.
const LONG: Duration = Duration::from_secs(30);

struct StubStatus {
    metrics: String,
    live: Result<(), String>,
    ready: Result<(), Vec<String>>,
}

impl Surface for StubStatus {
    fn metrics(&self) -> String {
        self.metrics.clone()
    }

    fn live(&self) -> Result<(), String> {
        self.live.clone()
    }

    fn ready(&self) -> Result<(), Vec<String>> {
        self.ready.clone()
    }

    fn why(&self, question: Question) -> Pin<Box<dyn Future<Output = WhyAnswer> + Send>> {
        Box::pin(async move {
            let not_ready = vec![format!("{question:?}")];
            WhyAnswer { process: 7, not_ready, inbox: None, claims: BTreeMap::new() }
        })
    }

    fn reloads(&self) -> ReloadsAnswer {
        ReloadsAnswer { process: 7, file: None, reloads: 0, last: None, event: None }
    }

    fn accept_failed(&self, error: &std::io::Error) {
        panic!("{error}");
    }
}

fn shown() -> StubStatus {
    StubStatus { metrics: "gridmark_cases_total 0\n".into(), live: Ok(()), ready: Ok(()) }
}

fn options() -> Options {
    Options {
        connections_max: 8,
        silent_time_max: LONG,
        header_bytes_max: 8192,
        header_read_time_max: LONG,
        connection_time_max: Some(LONG),
    }
}

struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    ended: Receiver<()>,
    _runtime: Runtime,
}

impl Server {
    fn start(shown: StubStatus, options: Options) -> Server {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = channel();
        runtime.spawn(async move {
            http::serve(listener, Arc::new(shown), options, stopped).await;
            // The receiver may be gone by then.
            let _ = end.send(());
        });
        Server { address, stop: Some(stop), ended, _runtime: runtime }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream
    }

    /// Sends a request and gives the whole answer.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        rest(&mut stream)
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    }

    fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }
}

/// What the server still sends, up to its end of the connection.
fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        // A server that closes while something of ours is unread cuts the connection.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8(answer).unwrap()
}

/// Header lines (in small letters) and body of an answer.
fn parts(answer: &str) -> (Vec<String>, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    (head.lines().map(str::to_lowercase).collect(), body)
}

#[test]
fn metrics_are_prometheus_text() {
    let server = Server::start(shown(), options());
    let answer = server.get("/metrics");
    let (head, body) = parts(&answer);
    assert_eq!(head[0], "http/1.1 200 ok");
    assert!(head.contains(&"content-type: text/plain; version=0.0.4; charset=utf-8".into()));
    assert!(head.contains(&"connection: close".into()));
    assert_eq!(body, "gridmark_cases_total 0\n");
}

#[test]
fn health_is_a_word_or_the_reasons() {
    let server = Server::start(shown(), options());
    for path in ["/livez", "/readyz"] {
        let answer = server.get(path);
        let (head, body) = parts(&answer);
        assert_eq!((head[0].as_str(), body), ("http/1.1 200 ok", "ok\n"), "{path}");
    }

    let reasons = vec!["the first scan is not done".to_owned(), "the disk is nearly full".into()];
    let ill = StubStatus { live: Err("the pool is gone".into()), ready: Err(reasons), ..shown() };
    let server = Server::start(ill, options());
    for (path, reasons) in [
        ("/livez", "the pool is gone\n"),
        ("/readyz", "the first scan is not done\nthe disk is nearly full\n"),
    ] {
        let answer = server.get(path);
        let (head, body) = parts(&answer);
        assert_eq!((head[0].as_str(), body), ("http/1.1 503 service unavailable", reasons));
    }
}

#[test]
fn the_root_lists_the_paths_and_each_of_them_is_there() {
    let server = Server::start(shown(), options());
    let answer = server.get("/");
    let (head, body) = parts(&answer);
    assert!(head.contains(&"content-type: text/plain; charset=utf-8".into()));
    let paths = body.lines().filter(|line| line.starts_with('/'));
    let paths = paths.filter_map(|line| line.split_whitespace().next()).collect::<Vec<_>>();
    assert_eq!(paths, ["/metrics", "/livez", "/readyz", "/why", "/reloads"]);
    for path in paths {
        assert!(server.get(path).starts_with("HTTP/1.1 200 OK\r\n"), "{path}");
    }
}

#[test]
fn answers_for_commands_are_json() {
    let server = Server::start(shown(), options());
    let answer = server.get("/reloads");
    let (head, body) = parts(&answer);
    assert!(head.contains(&"content-type: application/json".into()), "{head:?}");
    assert_eq!(body, "{\"process\":7,\"file\":null,\"reloads\":0,\"last\":null,\"event\":null}\n");
    let question = Question { name: b"a b\xff".to_vec(), ids: vec![3] };
    let path = format!("/why?{}", question.to_query());
    let answer: WhyAnswer = http::ask_json(server.address, &path).unwrap();
    assert_eq!((answer.process, answer.not_ready), (7, vec![format!("{question:?}")]));
    http::ask_json::<ReloadsAnswer>(server.address, "/livez").expect_err("JSON at /livez");
}

#[test]
fn other_paths_and_methods_are_refused() {
    let server = Server::start(shown(), options());
    for path in ["/metric", "/metrics/", "//metrics", "/livez/x", "/../metrics", "/%6detrics"] {
        assert!(server.get(path).starts_with("HTTP/1.1 404 Not Found\r\n"), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "FROB"] {
        let request = format!("{method} /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        let answer = server.ask(&request);
        let (head, _) = parts(&answer);
        assert_eq!(head[0], "http/1.1 405 method not allowed", "{method}");
        assert!(head.contains(&"allow: get,head".into()), "{head:?}");
    }
    let answer = server.ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let (head, body) = parts(&answer);
    assert_eq!((head[0].as_str(), body), ("http/1.1 200 ok", ""));
}

#[test]
fn nonsense_and_overlong_requests_are_refused_and_cut_off() {
    let server = Server::start(shown(), options());
    assert!(server.ask("\x01\x02 what?\r\n\r\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
    let long = "x".repeat(100_000);
    let many = "X-Field: 1\r\n".repeat(65);
    for header in [format!("X-Field: {long}\r\n"), many] {
        let mut stream = server.connect();
        // It may be cut off before all of it is written.
        let _ = write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\n{header}\r\n");
        let answer = rest(&mut stream);
        let status = "HTTP/1.1 431 Request Header Fields Too Large\r\n";
        assert!(answer.is_empty() || answer.starts_with(status), "{answer}");
    }
    // A body that is promised and never sent delays nobody.
    let answer = server.ask("GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn a_silent_client_is_cut_off() {
    let hasty = Options {
        connections_max: 1,
        header_read_time_max: Duration::from_millis(20),
        ..options()
    };
    let server = Server::start(shown(), hasty);
    let mut silent = server.connect();
    let answer = server.get("/livez");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(!rest(&mut silent).contains("200"));
}

#[test]
fn a_client_that_sends_byte_by_byte_is_cut_off() {
    let hasty = Options { header_read_time_max: Duration::from_millis(50), ..options() };
    let server = Server::start(shown(), hasty);
    let mut slow = server.connect();
    slow.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let start = Instant::now();
    let is_open = |error: &std::io::Error| {
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
    };
    while slow.write_all(b"G").is_ok() {
        match slow.read(&mut [0; 512]) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if is_open(&error) => {}
            Err(_) => break,
        }
        assert!(start.elapsed() < LONG, "it is still connected");
    }
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    // More than the buffers of both ends of a connection hold.
    let metrics = "gridmark_cases_total 0\n".repeat(1 << 20);
    let hasty = Options {
        connections_max: 1,
        connection_time_max: Some(Duration::from_millis(100)),
        ..options()
    };
    let server = Server::start(StubStatus { metrics, ..shown() }, hasty);
    let mut deaf = server.connect();
    deaf.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let answer = server.get("/livez");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(rest(&mut deaf).len() < 23 << 20);
}

#[test]
fn connections_are_bounded_and_those_beyond_wait_their_turn() {
    let server = Server::start(shown(), Options { connections_max: 2, ..options() });
    let first = server.connect();
    let _second = server.connect();
    let mut third = server.connect();
    third.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    third.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let error = third.read(&mut [0; 1]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    first.shutdown(Shutdown::Both).unwrap();
    third.set_read_timeout(Some(LONG)).unwrap();
    assert!(rest(&mut third).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn silent_clients_lose_their_places_to_waiting_ones() {
    let options =
        Options { connections_max: 2, silent_time_max: Duration::from_millis(20), ..options() };
    let server = Server::start(shown(), options);
    // One that says nothing, one that says half of it; each time they are there before.
    for _ in 0..20 {
        let _silent = server.connect();
        let mut halfway = server.connect();
        halfway.write_all(b"GET /livez HT").unwrap();
        let _other = server.connect();
        let start = Instant::now();
        assert!(server.get("/livez").starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(start.elapsed() < LONG / 2, "{:?}", start.elapsed());
    }
    // Nobody has to hurry where nobody waits.
    let mut alone = server.connect();
    std::thread::sleep(Duration::from_millis(50));
    alone.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(rest(&mut alone).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn many_clients_are_all_answered() {
    let server = Server::start(shown(), Options { connections_max: 4, ..options() });
    let mut streams = (0..100).map(|_| server.connect()).collect::<Vec<_>>();
    // The last to connect asks first, though the first ones hold all the places.
    for stream in streams.iter_mut().rev() {
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    }
    for stream in &mut streams {
        assert!(rest(stream).starts_with("HTTP/1.1 200 OK\r\n"));
    }
}

#[test]
fn stopping_waits_for_no_silent_client_and_leaves_the_port() {
    let mut server = Server::start(shown(), options());
    let mut silent = server.connect();
    let mut halfway = server.connect();
    halfway.write_all(b"GET /livez HT").unwrap();
    // Connections are accepted in turn: once this one is answered, those two are.
    assert!(server.get("/livez").starts_with("HTTP/1.1 200 OK\r\n"));
    server.stop();
    server.ended.recv_timeout(LONG).unwrap();
    assert_eq!(rest(&mut silent), "");
    assert_eq!(rest(&mut halfway), "");
    assert_eq!(
        TcpStream::connect(server.address).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
}

#[test]
fn an_answer_that_is_under_way_at_the_end_is_finished() {
    let metrics = "gridmark_cases_total 0\n".repeat(1 << 19);
    let length = metrics.len();
    let mut server = Server::start(StubStatus { metrics, ..shown() }, options());
    let mut client = server.connect();
    client.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut first = [0; 1];
    client.read_exact(&mut first).unwrap();
    server.stop();
    let answer = rest(&mut client);
    assert_eq!(parts(&answer).1.len(), length);
    server.ended.recv_timeout(LONG).unwrap();
}
