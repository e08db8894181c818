//! The page for staff and the hall: by plain HTTP, and in a real browser.

mod browsing;
mod plain;

use crate::kit::Sandbox;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A service with its page on, at a port that is free.
fn start(sandbox: &mut Sandbox) -> SocketAddr {
    sandbox.set("page.listen", "127.0.0.1:0");
    sandbox.start();
    let address = address_of(sandbox);
    // The same one after a restart.
    sandbox.set("page.listen", address);
    address
}

/// Where the page is, as the log says.
fn address_of(sandbox: &Sandbox) -> SocketAddr {
    let log = sandbox.service().log();
    let line = log.lines().find(|line| line.contains("the page is served"));
    let line = line.unwrap_or_else(|| panic!("no page is served:\n{log}"));
    let (_, address) = line.split_once("127.0.0.1:").expect("an address");
    let port: String = address.chars().take_while(char::is_ascii_digit).collect();
    SocketAddr::from(([127, 0, 0, 1], port.parse().expect("a port")))
}

/// The head and the body of an answer.
fn get(address: SocketAddr, path: &str, fields: &str) -> (String, String) {
    let request = format!(
        "GET {path} HTTP/1.1\r\n{}Connection: close\r\n{fields}\r\n",
        if fields.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") }
    );
    let mut stream = TcpStream::connect(address).expect("the page");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// The body of a page that is there.
fn page(address: SocketAddr, path: &str) -> String {
    let (head, body) = get(address, path, "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}\n{body}");
    body
}
