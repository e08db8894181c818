//! Pictures of pages, and pages on paper.

use super::{Browser, Medium};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// The variable with the folder for pictures. Without it none are made.
pub const SCREENSHOTS: &str = "GRIDMARK_TEST_SCREENSHOTS";

impl Browser {
    /// Nothing is wrong with the page on a light screen, a dark one and paper, and nothing is on the console.
    /// Its pictures are `NAME-light.png` and so on.
    #[track_caller]
    pub fn assert_good(&self, name: &str) {
        for (medium, shown) in
            [(Medium::Paper, "paper"), (Medium::Dark, "dark"), (Medium::Light, "light")]
        {
            self.show(medium);
            self.picture(&format!("{name}-{shown}"));
            let found = self.axe().unwrap_or_default();
            assert_eq!(found, [""; 0], "{name}, {shown}");
        }
        assert_eq!(self.console(), [""; 0], "{name}");
    }

    /// Saves a picture of the whole page as `NAME.png`, if pictures are asked for.
    #[track_caller]
    pub fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os(SCREENSHOTS).map(PathBuf::from) else { return };
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}.png")), self.png()).unwrap();
    }

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
