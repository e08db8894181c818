//! Pages in a real browser: Debian's Chromium, driven by its chromedriver over WebDriver.
//!
//! The client is our own: WebDriver is JSON over HTTP/1.1, and what tests need of it fits into one file. The
//! packages for it bring eighty more, and helpers that download browsers. What WebDriver cannot do
//! (files that are dropped, dark mode, paper, no network, no script) goes through chromedriver's gate to
//! the browser's own protocol.
//!
//! A [`Browser`] belongs to one test. It has a driver, a profile and a home of its own, and reaches loopback
//! alone. It ends with the test, however that ends, and leaves nothing behind. At most two run at a time,
//! and other tests wait for a place.

mod axe;
mod client;
mod itself;
mod look;
mod process;
mod site;

pub use look::SCREENSHOTS;

use crate::kit::Wait;
use client::Client;
use process::{Place, Process};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// What WebDriver calls the field that identifies an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Why an element cannot be clicked or typed into yet: it is not there, the page has just replaced it,
/// something covers it, or it is not shown.
const NOT_YET: [&str; 4] = [
    "no such element",
    "stale element reference",
    "element click intercepted",
    "element not interactable",
];

/// A command that takes longer has failed.
const COMMAND_MAX: Duration = Duration::from_secs(120);

/// A Chromium without a screen, with one page. Its methods fail the test if the browser refuses.
pub struct Browser {
    client: Client,
    // Behind the client, so that the session has ended before the processes are killed.
    process: Process,
    _place: Place,
}

impl Browser {
    /// A new one, with an empty page; none where Chromium is missing. Waits until there is a place for it.
    pub fn start() -> Option<Browser> {
        let place = Place::wait();
        let mut process = Process::start()?;
        let client = process.session();
        let browser = Browser { client, process, _place: place };
        browser.resize(1280, 800);
        Some(browser)
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.client.post(path, body).unwrap_or_else(|error| panic!("{path} {body}: {error}"))
    }

    /// A command of the browser's own protocol.
    #[track_caller]
    fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Opens an address and waits until the page is loaded.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        self.post("/refresh", &json!({}));
    }

    /// What a piece of JavaScript returns; a promise is waited for.
    #[track_caller]
    pub fn script(&self, script: &str) -> Value {
        self.script_with(script, &json!([]))
    }

    /// The same with `arguments`.
    #[track_caller]
    fn script_with(&self, script: &str, arguments: &Value) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": arguments }))
    }

    /// The address of the page.
    #[track_caller]
    pub fn url(&self) -> String {
        self.script("return location.href").as_str().unwrap().to_owned()
    }

    /// What a person reads on the page.
    #[track_caller]
    pub fn text(&self) -> String {
        self.text_of("body")
    }

    /// What a person reads in the first element that fits a CSS selector; waits until there is one.
    #[track_caller]
    pub fn text_of(&self, selector: &str) -> String {
        let text = self.of_first(selector, "it.innerText");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// What a JavaScript expression gives for the first element that fits, `it`; waits until there is one. A
    /// live page may replace it at any time, so both is one step.
    #[track_caller]
    fn of_first(&self, selector: &str, expression: &str) -> Value {
        let script =
            format!("const it = document.querySelector(arguments[0]); return it && [{expression}]");
        let mut found = Value::Null;
        self.wait_until(&format!("{selector} is there"), || {
            found = self.script_with(&script, &json!([selector]));
            !found.is_null()
        });
        found[0].take()
    }

    /// How many elements fit a CSS selector now.
    #[track_caller]
    pub fn count(&self, selector: &str) -> u64 {
        let count = "return document.querySelectorAll(arguments[0]).length";
        self.script_with(count, &json!([selector])).as_u64().unwrap()
    }

    /// Does something to the first element that fits, once that is possible.
    #[track_caller]
    fn act(&self, selector: &str, action: &str, body: &Value) {
        let query = json!({ "using": "css selector", "value": selector });
        self.wait_until(&format!("{action} on {selector}"), || {
            let done = self.client.post("/element", &query).and_then(|element| {
                let element = element[ELEMENT].as_str().unwrap_or_default().to_owned();
                self.client.post(&format!("/element/{element}/{action}"), body)
            });
            match done {
                Ok(_) => true,
                Err(error) if NOT_YET.iter().any(|code| error.starts_with(code)) => false,
                Err(error) => panic!("{action} on {selector}: {error}"),
            }
        });
    }

    /// Clicks the first element that fits a CSS selector, once it can be clicked.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.act(selector, "click", &json!({}));
    }

    /// Types into the first element that fits a CSS selector. For a field of files: their paths, a line each.
    #[track_caller]
    pub fn type_into(&self, selector: &str, text: &str) {
        self.act(selector, "value", &json!({ "text": text }));
    }

    /// Presses and releases a key by its name in the browser (`Tab`, `ArrowLeft`, `a`), wherever the focus is.
    #[track_caller]
    pub fn press(&self, key: &str) {
        let code = match key {
            "Tab" => "\u{e004}",
            "Enter" => "\u{e007}",
            "Escape" => "\u{e00c}",
            "PageUp" => "\u{e00e}",
            "PageDown" => "\u{e00f}",
            "End" => "\u{e010}",
            "Home" => "\u{e011}",
            "ArrowLeft" => "\u{e012}",
            "ArrowUp" => "\u{e013}",
            "ArrowRight" => "\u{e014}",
            "ArrowDown" => "\u{e015}",
            other => {
                assert_eq!(other.chars().count(), 1, "no such key: {other}");
                other
            }
        };
        let press = |what: &str| json!({ "type": what, "value": code });
        let keys =
            json!({ "type": "key", "id": "keys", "actions": [press("keyDown"), press("keyUp")] });
        self.post("/actions", &json!({ "actions": [keys] }));
    }

    /// Waits for a condition. A test that waits in vain shows the page and its console.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let mut wait = Wait::begin();
        while !holds() {
            if wait.is_over() {
                let page = self.client.post("/execute/sync", &json!({
                    "script": "return location.href + '\\n' + document.body.innerText", "args": []
                }));
                let page = page.map(|page| page.as_str().unwrap_or_default().to_owned());
                panic!("not in time: {what}\n{page:?}\n{:#?}", self.console());
            }
        }
    }

    /// Waits until a person reads this on the page.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        self.wait_until(&format!("{text:?} is on the page"), || self.text().contains(text));
    }

    /// Drops files or folders of the system onto the first element that fits a CSS selector, as a hand would.
    #[track_caller]
    pub fn drop_files(&self, selector: &str, files: &[&Path]) {
        self.of_first(selector, "it.scrollIntoView({ block: 'center', behavior: 'instant' })");
        let middle = self.of_first(
            selector,
            "((box) => [box.x + box.width / 2, box.y + box.height / 2])(it.getBoundingClientRect())",
        );
        const COPY: u32 = 1;
        let data = json!({ "items": [], "files": files, "dragOperationsMask": COPY });
        for step in ["dragEnter", "dragOver", "drop"] {
            self.devtools(
                "Input.dispatchDragEvent",
                json!({ "type": step, "x": middle[0], "y": middle[1], "data": data }),
            );
        }
    }

    /// Makes the page so many CSS pixels wide and high.
    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size);
    }

    /// Shows pages from now on as this reader has them: on a light or dark screen, or on paper.
    #[track_caller]
    pub fn show(&self, medium: Medium) {
        let scheme = if medium == Medium::Dark { "dark" } else { "light" };
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        let media = if medium == Medium::Paper { "print" } else { "screen" };
        self.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "media": media, "features": features }),
        );
    }

    /// Cuts the browser off from the network, or connects it again.
    #[track_caller]
    pub fn set_offline(&self, is_offline: bool) {
        let conditions = json!({
            "offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1
        });
        self.devtools("Network.emulateNetworkConditions", conditions);
    }

    /// Whether pages that are opened from now on may run scripts of their own. Those of tests run all the same.
    #[track_caller]
    pub fn allow_scripts(&self, allowed: bool) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": !allowed }));
    }

    #[track_caller]
    fn log(&self, kind: &str) -> Vec<Value> {
        self.post("/se/log", &json!({ "type": kind })).as_array().unwrap().clone()
    }

    /// What was written to the console since the last call: warnings and errors, those of the browser
    /// itself too. A violation of the page's content security policy is one of these.
    #[track_caller]
    pub fn console(&self) -> Vec<String> {
        let entries = self.log("browser").into_iter();
        let entries = entries.filter(|it| it["level"] == "SEVERE" || it["level"] == "WARNING");
        entries.map(|it| it["message"].as_str().unwrap().to_owned()).collect()
    }

    /// The addresses that were requested since the last call, in this order.
    #[track_caller]
    pub fn requests(&self) -> Vec<String> {
        let events = self.log("performance").into_iter().map(|entry| {
            serde_json::from_str::<Value>(entry["message"].as_str().unwrap()).unwrap()
        });
        let sent = events.filter(|it| it["message"]["method"] == "Network.requestWillBeSent");
        let url =
            |event: Value| event["message"]["params"]["request"]["url"].as_str().map(str::to_owned);
        sent.filter_map(url).collect()
    }
}

/// How a page is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Medium {
    Light,
    Dark,
    Paper,
}
