//! WebDriver: JSON over HTTP/1.1, a connection for each command.

use super::COMMAND_MAX;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A session with a driver.
pub(super) struct Client {
    address: SocketAddr,
    /// The path of the session, under which its commands are.
    session: String,
}

impl Client {
    /// A session of this driver, with the browser as it says.
    pub(super) fn new(address: SocketAddr, capabilities: &Value) -> Result<Client, String> {
        let answer = ask(address, "POST", "/session", &capabilities.to_string())?;
        let id = answer["sessionId"].as_str().ok_or_else(|| format!("no session: {answer}"))?;
        Ok(Client { address, session: format!("/session/{id}") })
    }

    /// The value that a command of the session gives, or its error: the code, and what it says.
    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let path = format!("{}{path}", self.session);
        ask(self.address, "POST", &path, &body.to_string())
    }
}

impl Drop for Client {
    /// Ends the session, and with it the browser.
    fn drop(&mut self) {
        let _ = ask(self.address, "DELETE", &self.session, "");
    }
}

fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<Value, String> {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(address, &request).map_err(|error| error.to_string())?;
    let mut answer: Value = serde_json::from_slice(&answer)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&answer)))?;
    match answer["value"]["error"].as_str() {
        Some(code) => Err(format!("{code}: {}", answer["value"]["message"])),
        None => Ok(answer["value"].take()),
    }
}

/// The body of the answer to a request.
fn exchange(address: SocketAddr, request: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(COMMAND_MAX))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = BufReader::new(stream);
    let mut length = None;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok();
            }
            Some(_) => {}
            None if line.starts_with("HTTP/") => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    answer.take(length.unwrap_or(u64::MAX)).read_to_end(&mut body)?;
    Ok(body)
}
