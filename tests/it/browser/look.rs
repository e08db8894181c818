//! Pictures of pages, and pages on paper.

use super::Browser;
use serde_json::{Value, json};

impl Browser {
    /// A picture of the whole page as it is shown now.
    #[track_caller]
    pub fn png(&self) -> Vec<u8> {
        let whole = json!({ "format": "png", "captureBeyondViewport": true });
        bytes(&self.devtools("Page.captureScreenshot", whole)["data"])
    }

    /// The page as it is printed on A4, without the backgrounds that printers leave out.
    #[track_caller]
    pub fn pdf(&self) -> Pdf {
        let (width, height) = (210.0 / 25.4, 297.0 / 25.4);
        let paper =
            json!({ "paperWidth": width, "paperHeight": height, "preferCSSPageSize": true });
        Pdf(bytes(&self.devtools("Page.printToPDF", paper)["data"]))
    }
}

/// A document that was printed.
pub struct Pdf(pub Vec<u8>);

impl Pdf {
    /// How many pages it has.
    pub fn pages(&self) -> usize {
        let text = String::from_utf8_lossy(&self.0);
        text.matches("/Type /Page\n").count()
    }
}

/// The bytes that a text in base64 stands for.
fn bytes(base64: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for symbol in base64.as_str().unwrap().bytes().filter(|symbol| *symbol != b'=') {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => panic!("not base64: {other}"),
        };
        (bits, held) = (bits << 6 | u32::from(value), held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
