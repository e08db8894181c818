//! A tiny site for the tests of the browser itself.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Serves one page, with a policy that allows nothing from elsewhere and nothing inline.
pub(super) struct Site {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

/// The paths: `/` is the page, `/script.js` and `/style.css` what it may use.
struct Texts {
    page: String,
    script: String,
    style: String,
}

impl Site {
    pub(super) fn new(page: &str, script: &str, style: &str) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let [page, script, style] = [page, script, style].map(str::to_owned);
        let texts = Arc::new(Texts { page, script, style });
        let server = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Acquire) {
                    break;
                }
                // Browsers connect in advance and then ask nothing.
                let texts = Arc::clone(&texts);
                std::thread::spawn(move || answer(stream, &texts));
            }
        });
        Site { address, is_over, server: Some(server) }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
        let _ = self.server.take().map(JoinHandle::join);
    }
}

fn answer(mut stream: TcpStream, texts: &Texts) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let request = lines.next()?.ok()?;
    lines.map_while(Result::ok).find(|line| line.is_empty())?;
    let (status, kind, body) = match request.split(' ').nth(1)? {
        "/" => ("200 OK", "text/html; charset=utf-8", &*texts.page),
        "/script.js" => ("200 OK", "text/javascript", &*texts.script),
        "/style.css" => ("200 OK", "text/css", &*texts.style),
        // Every browser asks for it once, and complains if there is none.
        "/favicon.ico" => ("204 No Content", "image/x-icon", ""),
        _ => ("404 Not Found", "text/plain", ""),
    };
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'";
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Content-Security-Policy: {policy}\r\n\r\n{body}",
        body.len()
    )
    .ok()
}
