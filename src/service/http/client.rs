//! HTTP requests of the commands to a running service.

use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// How long the service may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// How long an answer may be, in bytes.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// A response.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status: 200 is good.
    pub status: u16,
    /// The text below the head.
    pub body: String,
}

/// Requests `path` from the HTTP server at `address`.
///
/// # Errors
///
/// There is no answer in time, or it is not HTTP.
pub fn ask(mut address: SocketAddr, path: &str) -> io::Result<Answer> {
    // A service that listens on all addresses is asked on this machine.
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIME_MAX)?;
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut text = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut text)?;
    answer(&String::from_utf8_lossy(&text)).ok_or_else(not_gridmark)
}

/// Requests `path` from the gridmark at `address` and reads the answer from JSON.
///
/// # Errors
///
/// There is no answer in time, or it is not one that gridmark gives there.
pub fn ask_json<T: DeserializeOwned>(address: SocketAddr, path: &str) -> io::Result<T> {
    match ask(address, path)? {
        Answer { status: 200, body } => serde_json::from_str(&body).map_err(|_| not_gridmark()),
        _ => Err(not_gridmark()),
    }
}

fn not_gridmark() -> io::Error {
    io::Error::other("it does not answer as gridmark does")
}

fn answer(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_status_and_a_body_or_is_none_of_ours() {
        let ill = answer("HTTP/1.1 503 Service Unavailable\r\na: b\r\n\r\none\ntwo\n");
        assert_eq!(ill, Some(Answer { status: 503, body: "one\ntwo\n".into() }));
        for text in
            ["", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 2\r\n\r\n", "200\r\n\r\n"]
        {
            assert_eq!(answer(text), None, "{text:?}");
        }
    }
}
