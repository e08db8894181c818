//! A question to the address of a service, for the commands that ask one.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// How long the service may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// How long an answer may be, in bytes.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status: 200 if all is well.
    pub status: u16,
    /// The text below the head.
    pub body: String,
}

/// Asks the service at this address for a page.
///
/// # Errors
///
/// Nobody answers there in time, or not in HTTP.
pub fn get(mut address: SocketAddr, page: &str) -> io::Result<Answer> {
    // Whoever listens everywhere is asked here.
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIME_MAX)?;
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
    write!(stream, "GET {page} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut text)?;
    parse(&text).ok_or_else(|| io::Error::other("it does not answer as gridmark does"))
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_status_and_a_body() {
        let text = "HTTP/1.1 503 Service Unavailable\r\nx: y\r\n\r\nwhy\n";
        assert_eq!(parse(text), Some(Answer { status: 503, body: "why\n".into() }));
        assert_eq!(parse("SSH-2.0-OpenSSH\r\n\r\n"), None);
        assert_eq!(parse(""), None);
    }
}
