//! The browser itself, on pages of which is known what is wrong with them.

use super::process::{clear, is_used};
use super::site::Site;
use super::{Browser, Medium};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A page with nothing wrong.
const GOOD: &str = "<!doctype html><html lang=en><head><title>Page</title>
    <meta name=viewport content='width=device-width'>
    <link rel=stylesheet href=/style.css><script src=/script.js defer></script></head>
    <body><main><h1>Page</h1>
    <noscript><p>It works without script.</p></noscript>
    <p id=word>before</p>
    <form><label>Name <input id=name></label><button id=button>Press</button></form>
    <p id=pressed></p><div id=drop>Drop files here</div>
    </main></body></html>";

const STYLE: &str = "#drop { height: 3em }
    @media screen { #drop { margin-top: 150vh } }
    @media screen and (prefers-color-scheme: dark) { body { background: #000; color: #fff } }
    @media print { #word::after { content: ' on paper' } #drop { break-before: page } }";

const SCRIPT: &str = "
    const by = (id) => document.getElementById(id);
    by('word').textContent = 'after';
    by('button').addEventListener('click', (event) => {
        event.preventDefault();
        by('pressed').textContent = 'pressed by ' + by('name').value;
    });
    document.addEventListener('keydown', (event) => by('word').textContent = event.key);
    by('drop').addEventListener('dragover', (event) => event.preventDefault());
    by('drop').addEventListener('drop', async (event) => {
        event.preventDefault();
        const entry = event.dataTransfer.items[0].webkitGetAsEntry();
        if (entry.isDirectory) {
            entry.createReader().readEntries((all) => by('drop').textContent = 'a folder of ' + all.length);
            return;
        }
        const texts = [...event.dataTransfer.files].map(async (file) =>
            file.name + ' ' + await file.text() + ' trusted ' + event.isTrusted);
        by('drop').textContent = (await Promise.all(texts)).join(', ');
    });";

fn good() -> Site {
    Site::new(GOOD, SCRIPT, STYLE)
}

#[test]
fn a_good_page_has_no_findings_in_any_medium() {
    let Some(browser) = Browser::start() else { return };
    let site = good();
    browser.open(&site.url());
    browser.assert_good("itself");
}

#[test]
fn axe_finds_what_is_wrong_with_a_page_in_the_medium_that_is_shown() {
    let Some(browser) = Browser::start() else { return };
    let page = "<!doctype html><html><head><title>Page</title><link rel=stylesheet href=/style.css>
        </head><body><main><h1>Page</h1><p>text</p><img src=/none.png></main></body></html>";
    let style = "p { color: #111; background: #fff }
        @media (prefers-color-scheme: dark) { p { color: #ddd } }";
    let site = Site::new(page, "", style);
    browser.open(&site.url());
    browser.show(Medium::Light);
    let Some(light) = browser.axe() else { return };
    let has = |found: &[String], rule: &str| found.iter().any(|line| line.starts_with(rule));
    assert!(has(&light, "html-has-lang (serious) at [\"html\"]: "), "{light:#?}");
    assert!(has(&light, "image-alt (critical) at [\"img\"]: "), "{light:#?}");
    assert!(!has(&light, "color-contrast"), "{light:#?}");
    browser.show(Medium::Dark);
    let dark = browser.axe().unwrap();
    assert!(has(&dark, "color-contrast (serious) at [\"p\"]: "), "{dark:#?}");
    assert_eq!(dark.len(), light.len() + 1, "{dark:#?}");
}

#[test]
fn errors_and_violations_of_the_policy_are_on_the_console() {
    let Some(browser) = Browser::start() else { return };
    let script = "console.log('only a note'); console.warn('a warning'); fetch('/missing');
        document.body.setAttribute('style', 'color: red');
        fetch('http://elsewhere.example/').catch(() => {});
        window.addEventListener('load', () => { throw new Error('thrown on purpose') });";
    let page = GOOD.replace("<h1>", "<h1 onclick='alert()'><script>let inline</script>");
    let site = Site::new(&page, script, "");
    browser.open(&site.url());
    let mut console = Vec::new();
    let wanted = [
        "a warning",
        "404",
        "inline script violates",
        "inline event handler violates",
        "inline style violates",
        "'http://elsewhere.example/' violates",
        "thrown on purpose",
    ];
    browser.wait_until("everything is on the console", || {
        console.extend(browser.console());
        wanted.iter().all(|wanted| console.iter().any(|line| line.contains(wanted)))
    });
    assert!(!console.iter().any(|line| line.contains("only a note")), "{console:#?}");
    assert_eq!(browser.console(), [""; 0], "what was read is not read again");
}

#[test]
fn clicks_text_and_keys_arrive() {
    let Some(browser) = Browser::start() else { return };
    let site = good();
    browser.open(&site.url());
    assert_eq!(browser.text_of("#word"), "after");
    browser.type_into("#name", "Zoë 数独");
    browser.click("#button");
    browser.wait_for_text("pressed by Zoë 数独");
    for key in ["ArrowLeft", "Tab", "Escape", "j"] {
        browser.press(key);
        assert_eq!(browser.text_of("#word"), key);
    }
    assert_eq!((browser.count("button"), browser.count("table")), (1, 0));
    browser.reload();
    assert_eq!(browser.text_of("#word"), "after");
    assert_eq!(browser.url(), site.url());
}

#[test]
fn files_and_folders_that_are_dropped_arrive() {
    let Some(browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = ["first.txt", "second é.txt"].map(|name| folder.path().join(name));
    for file in &files {
        fs::write(file, format!("bytes of {}", file.file_name().unwrap().display())).unwrap();
    }
    let site = good();
    browser.open(&site.url());
    browser.drop_files("#drop", &files.each_ref().map(|file| file.as_path()));
    browser.wait_for_text("first.txt bytes of first.txt trusted true, second é.txt bytes");
    browser.drop_files("#drop", &[folder.path()]);
    browser.wait_for_text("a folder of 2");
}

#[test]
fn without_scripts_there_are_none() {
    let Some(browser) = Browser::start() else { return };
    let site = good();
    browser.allow_scripts(false);
    browser.open(&site.url());
    assert_eq!(browser.text_of("#word"), "before");
    assert!(browser.text().contains("It works without script."), "{}", browser.text());
    browser.allow_scripts(true);
    browser.reload();
    assert_eq!(browser.text_of("#word"), "after");
    assert!(!browser.text().contains("It works without script."), "{}", browser.text());
}

#[test]
fn without_a_network_nothing_is_reached_until_it_is_back() {
    let Some(browser) = Browser::start() else { return };
    let site = good();
    browser.open(&site.url());
    browser.requests();
    let fetch = "return fetch('/style.css').then((answer) => answer.status, () => 'nothing')";
    browser.set_offline(true);
    assert_eq!(browser.script(fetch), "nothing");
    browser.set_offline(false);
    assert_eq!(browser.script(fetch), 200);
    let style = format!("{}style.css", site.url());
    assert_eq!(browser.requests(), [&*style, &*style]);
}

#[test]
fn only_what_the_test_serves_is_reached() {
    let Some(browser) = Browser::start() else { return };
    let first = browser.requests();
    assert!(first.iter().all(|url| !url.starts_with("http")), "{first:?}");
    let site = good();
    browser.open(&site.url());
    let requests = browser.requests();
    assert!(requests.len() >= 3, "{requests:?}");
    let foreign = requests.iter().filter(|url| !url.starts_with(&site.url()));
    assert_eq!(foreign.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn pictures_and_paper_show_the_page() {
    let Some(browser) = Browser::start() else { return };
    let site = good();
    browser.open(&site.url());
    browser.resize(640, 480);
    let png = browser.png();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!(side(16), 640);
    assert!(side(20) > 480, "the whole page, not only what fits the window: {}", side(20));
    let paper = browser.pdf();
    assert_eq!(&paper.0[..5], b"%PDF-");
    assert_eq!(paper.pages(), 2);
    browser.show(Medium::Paper);
    let printed = "return getComputedStyle(document.getElementById('word'), '::after').content";
    assert_eq!(browser.script(printed), "\" on paper\"");
}

#[test]
fn it_ends_with_a_test_that_fails_and_leaves_nothing_behind() {
    let mut folder = None;
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let Some(browser) = Browser::start() else { return };
        browser.open(&good().url());
        folder = Some(browser.process.folder().to_owned());
        assert!(is_used(folder.as_ref().unwrap()));
        browser.devtools("No.such", serde_json::json!({}));
    }));
    let Some(folder) = folder else { return };
    let message = failed.unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(message.contains("'No.such' wasn't found"), "{message}");
    assert!(!is_used(&folder) && !folder.exists(), "{folder:?}");
}

#[test]
fn it_ends_with_a_test_run_that_is_killed() {
    // What is killed has no time for anything: its thread just ends.
    let killed = std::thread::spawn(|| {
        let Browser { client, process, _place } = Browser::start()?;
        let folder = process.folder().to_owned();
        assert!(is_used(&folder));
        std::mem::forget((client, process));
        Some((folder, _place))
    });
    let Some((folder, _place)) = killed.join().unwrap() else { return };
    assert!(clear(&folder), "it still runs");
}
